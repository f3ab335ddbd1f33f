// The last answers, ten to a page, to click and change.

import { get } from "./api.js";
import { bdi, button, byId, h, icon, itemView } from "./dom.js";
import { LONGEST_PAGE, NO, SKIP, YES } from "./words.js";

const SHOWN = 10; // requests; in the group and grid modes each is many answers
let pages = [null]; // before which answer each page begins that was turned to, the shown one last
let shownTo = null;

// The answers of one request belong together: they bear the same time.
export function requests(answers) {
  const groups = [];
  for (const answer of answers) {
    if (groups.at(-1)?.[0].at === answer.at) groups.at(-1).push(answer);
    else groups.push([answer]);
  }
  return groups;
}

// One request in a few words: which sign, and the names, each once, between other words.
export function summary(answers) {
  const named = (word) => {
    const paths = answers.filter(({ answer }) => answer === word).map(({ path }) => path.split(" > ").at(-1));
    return [...new Set(paths)];
  };
  const [yes, no] = [named(YES), named(NO)];
  const items = new Set(answers.map(({ item }) => item.item)).size;
  if (!yes.length && !no.length) return { sign: SKIP, before: "skipped", names: [], after: "" };
  if (items > 1) {
    const count = answers.filter(({ answer }) => answer === YES).length;
    return { sign: YES, before: "", names: [...yes, ...no].slice(0, 1), after: `: ${count} of ${items}` };
  }
  if (yes.length) return { sign: YES, before: "", names: yes, after: "" };
  return { sign: NO, before: "no ", names: no, after: "" };
}

function card(answers, open) {
  const { sign, before, names, after } = summary(answers);
  const undone = answers.every((answer) => answer.undone);
  const asked = answers.toReversed(); // the newest came first; on the screen they stood the other way round
  const items = [...new Map(asked.map(({ item }) => [item.item, item])).values()];
  const label = [
    h("span", { class: "past-media" }, itemView(items[0], "past-size")),
    h(
      "span",
      { class: "past-text" },
      icon(undone ? "undo" : sign),
      h(
        "span",
        null,
        before,
        names.map((name, index) => [index > 0 && ", ", bdi(name)]),
        after,
      ),
      undone && h("small", null, "undone"),
    ),
  ];
  const properties = {
    class: `past ${undone ? "past-undone" : ""}`,
    title: `${before}${names.join(", ")}${after}: click to change`,
  };
  const concepts = asked.map(({ concept }) => concept);
  const yes = new Set(answers.filter(({ answer }) => answer === YES).map(({ item }) => item.item));
  return h(
    "li",
    null,
    button(label, () => open(items, concepts, yes), properties),
  );
}

// So many requests of those that came, and before which answer the next page begins: null where there is none.
export function paged(answers, most, limit) {
  const groups = requests(answers);
  const more = groups.length > most || answers.length === limit;
  const complete = groups.length > most || groups.length < 2 || !more ? groups : groups.slice(0, -1); // the last may go on
  const shown = complete.slice(0, most);
  return { shown, next: more ? (shown.at(-1)?.at(-1)?.seq ?? null) : null };
}

export async function drawHistory(annotator, open) {
  if (annotator !== shownTo) [pages, shownTo] = [[null], annotator];
  const answers = await get("/api/history", { annotator, limit: LONGEST_PAGE, before: pages.at(-1) });
  const { shown, next } = paged(answers, SHOWN, LONGEST_PAGE);
  const turn = (to) => {
    pages = to;
    return drawHistory(annotator, open);
  };
  const place = byId("history");
  const held = [...place.querySelectorAll(".turn button")].indexOf(document.activeElement);
  const turns = h(
    "p",
    { class: "turn" },
    button("Newer", () => turn(pages.slice(0, -1)), { class: "small", disabled: pages.length < 2 }),
    button("Older", () => turn([...pages, next]), { class: "small", disabled: next === null }),
  );
  const title = h(
    "h2",
    { class: "small-title" },
    pages.length > 1 ? `Your answers, page ${pages.length}` : "Your last answers",
    h("span", { class: "soft" }, " click one to change it"),
  );
  const list = h(
    "ol",
    null,
    shown.map((request) => card(request, open)),
  );
  place.replaceChildren(...(shown.length || pages.length > 1 ? [title, list] : []));
  if (next !== null || pages.length > 1) place.append(turns);
  if (held < 0) return;
  const [newer, older] = turns.querySelectorAll("button"); // the focus stays, unless there is nothing more on that side
  const [same, other] = held === 0 ? [newer, older] : [older, newer];
  (same.disabled ? other : same).focus({ preventScroll: true });
}
