// The last ten answers, to click and change.

import { get } from "./api.js";
import { bdi, button, byId, h, icon, itemView } from "./dom.js";
import { LONGEST_PAGE, NO, SKIP, UNDO, YES } from "./words.js";

const SHOWN = 10; // requests; in the group and grid modes each is many answers
let shown = SHOWN;

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

export async function drawHistory(annotator, open) {
  const answers = await get("/api/history", { annotator, limit: LONGEST_PAGE });
  const last = requests(answers.filter(({ answer }) => answer !== UNDO)).slice(0, shown + 1);
  const more = last.length > shown;
  last.splice(shown);
  const showMore = () => {
    shown += SHOWN;
    drawHistory(annotator, open);
  };
  byId("history").replaceChildren(
    ...(last.length
      ? [
          h(
            "h2",
            { class: "small-title" },
            "Your last answers",
            h("span", { class: "soft" }, " click one to change it"),
          ),
          h(
            "ol",
            null,
            last.map((request) => card(request, open)),
          ),
          more ? button("Show more", showMore, { class: "small quiet" }) : "",
        ]
      : []),
  );
}
