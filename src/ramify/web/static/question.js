// How a question looks, in its three modes. What happens with it is decided in ask.js.

import { bar, bdi, button, h, icon, itemView, key, openWhole, percent } from "./dom.js";
import { CHOICE_KEYS } from "./keys.js";
import { legend, markedText } from "./marking.js";
import { entryKey, follows, isSingle, namesAbove, sameEntries } from "./task.js";
import { GRID, GROUP, NO, SINGLE, SKIP, YES } from "./words.js";

const MANY = CHOICE_KEYS.length;
const WIDE = 12; // choices that want most of the room

// -- what is asked --------------------------------------------------------------------------------------------------

function crumbs(task) {
  const several = task.mode === GROUP && !isSingle(task);
  const names = namesAbove(task);
  const steps = names.map((name, index) =>
    h("span", { class: "crumb" }, bdi(name), !several && index === names.length - 1 && "?"),
  );
  if (several) steps.push(h("span", { class: "crumb open" }, names.length ? "which of these?" : "Which of these?"));
  const arrow = () => h("span", { class: "arrow", "aria-label": "then" }, "›");
  return h(
    "h1",
    { class: "crumbs", id: "asked" },
    steps.map((step, index) => [index > 0 && arrow(), step]),
  );
}

// In a deep taxonomy: what is known on the way down, and what an answer leads to.
function level({ task, concepts }) {
  const above = task.above ?? [];
  const lines = [];
  if (above.length > 1) {
    const known = above.map(({ name, source }, index) => [index > 0 && ", ", bdi(name), ` (${source})`]);
    lines.push(h("span", null, "Known so far: ", known, ". "));
  }
  if (isSingle(task)) {
    const next = follows(concepts, task.entries[0].concept);
    if (next) lines.push(h("span", null, "Yes leads to ", bdi(next), "; no says no to all of them."));
  }
  return lines.length > 0 && h("p", { class: "soft level" }, lines);
}

function hint(task) {
  if (isSingle(task)) return null;
  const sentence =
    task.mode === GRID
      ? ["Choose every item that is “", bdi(task.path.at(-1)), "”; the others are saved as no."]
      : "Choose all that apply; the others are saved as no.";
  return h("p", { class: "soft hint" }, sentence);
}

// What had been answered before it was undone.
function takenBack({ task, said, concepts }) {
  if (!said.length) return null;
  const count = (word) => said.filter(({ answer }) => answer === word).length;
  const about = sameEntries(said, task.entries) ? null : concepts.get(said[0].concept);
  let words = `${count(YES)} yes, ${count(NO)} no`;
  if (about) words = ["“", bdi(about.name), "” is wrong here"];
  else if (count(SKIP)) words = "skipped";
  else if (isSingle(task)) words = said[0].answer;
  return h("p", { class: "soft taken-back" }, icon("undo"), " Your answer was: ", words);
}

function guessOf(task, entry, shown) {
  if (!shown) return null;
  const share = task.guess?.[entryKey(entry)];
  if (share === undefined || share === null) return h("span", { class: "guess" }, "no guess yet");
  return h("span", { class: "guess" }, bar(share), h("span", null, `guess ${percent(share)}`));
}

// -- known examples -------------------------------------------------------------------------------------------------

function thumbnails(task, concept, most) {
  const examples = (task.examples ?? []).filter((example) => example.concept === concept && example.item.picture);
  return examples.slice(0, most).map(({ item }) =>
    h("img", {
      class: "thumb",
      src: item.picture,
      alt: "",
      title: `known example: ${item.id}`,
      loading: "lazy",
    }),
  );
}

// Folded or not, as it was left.
function folded(session, title, content) {
  const box = h(
    "details",
    { class: "examples", open: session.examples },
    h("summary", { class: "soft" }, title),
    content,
  );
  box.addEventListener("toggle", () => {
    session.examples = box.open;
  });
  return box;
}

function exampleStrip(task) {
  const pictures = thumbnails(task, task.entries[0].concept, 3);
  if (!pictures.length) return null;
  return h(
    "div",
    { class: "example-strip" },
    h("span", { class: "soft" }, "Known examples"),
    h("span", { class: "thumbs large" }, pictures),
  );
}

function quotes(session) {
  const { task } = session;
  const examples = (task.examples ?? []).filter((example) => !example.item.picture);
  if (!examples.length) return null;
  const names = new Map(task.entries.map((entry) => [entry.concept, entry.name]));
  const rows = examples.map(({ concept, item }) =>
    h("li", null, h("strong", null, bdi(names.get(concept) ?? "")), " ", h("q", { dir: "auto" }, item.text ?? item.id)),
  );
  return folded(session, "Known examples", h("ul", null, rows));
}

// -- what can be chosen ---------------------------------------------------------------------------------------------

// With guesses shown the likeliest comes first; each keeps its key.
function inOrder({ task, guess }) {
  const listed = task.entries.map((entry, index) => ({ entry, index }));
  const share = ({ entry }) => task.guess?.[entryKey(entry)] ?? 0;
  return guess ? listed.sort((one, other) => share(other) - share(one)) : listed;
}

function choices(session, actions) {
  const { task, chosen, guess, concepts } = session;
  const list = inOrder(session).map(({ entry, index }) => {
    const next = follows(concepts, entry.concept);
    const isChosen = chosen.has(entryKey(entry));
    const properties = {
      class: "choice",
      "aria-pressed": String(isChosen),
      title: entry.description,
      "data-name": entry.name.toLowerCase(),
    };
    const pictures = thumbnails(task, entry.concept, task.entries.length > 6 ? 1 : 3);
    const label = [
      CHOICE_KEYS[index] ? key(CHOICE_KEYS[index]) : h("span", { class: "no-key" }),
      h(
        "span",
        { class: "name" },
        h("bdi", { dir: "auto", class: "fold", title: entry.name }, entry.name),
        next && h("small", { class: "fold" }, "then: ", h("span", { dir: "auto" }, next)),
        entry.description && h("small", { dir: "auto" }, entry.description),
        guessOf(task, entry, guess),
      ),
      pictures.length > 0 && h("span", { class: "thumbs" }, pictures),
      h("span", { class: "mark" }, isChosen ? [icon(YES), h("span", { class: "mark-word" }, YES)] : null),
    ];
    return button(label, () => actions.toggle(entry), properties);
  });
  return [
    list.length > MANY && filter(list),
    h("div", { class: `choices ${list.length > 6 ? "many" : ""}`, role: "group", "aria-labelledby": "asked" }, list),
  ];
}

// With more children than keys: type to narrow them, enter chooses the first that is left.
function filter(list) {
  const field = h("input", {
    type: "search",
    class: "find",
    dir: "auto",
    placeholder: "Find a choice  ( / )",
    "aria-label": "Find a choice",
    autocomplete: "off",
  });
  field.addEventListener("input", () => {
    for (const choice of list) choice.hidden = !choice.dataset.name.includes(field.value.trim().toLowerCase());
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !field.value.trim()) return;
    event.preventDefault();
    list.find((choice) => !choice.hidden)?.click();
  });
  return field;
}

function tiles({ task, chosen, guess }, actions) {
  const items = new Map(task.items.map((item) => [item.item, item]));
  const list = task.entries.map((entry, index) => {
    const isChosen = chosen.has(entryKey(entry));
    const item = items.get(entry.item);
    const label = [
      itemView(item, "tile-media"),
      h(
        "span",
        { class: "tile-foot" },
        key(CHOICE_KEYS[index]),
        guessOf(task, entry, guess),
        h("span", { class: "mark" }, isChosen ? [icon(YES), YES] : null),
      ),
    ];
    const tile = button(label, () => actions.toggle(entry), {
      class: "tile",
      "aria-pressed": String(isChosen),
    });
    const closer = [icon("zoom"), h("span", { class: "unseen" }, "Look closer at ", bdi(item.id))];
    const whole = button(closer, () => openWhole(item), { class: "small tile-zoom", title: "Look closer" });
    return h("div", { class: "tile-place" }, tile, whole);
  });
  return h("div", { class: "tiles", role: "group", "aria-labelledby": "asked" }, list);
}

// -- what can be done -----------------------------------------------------------------------------------------------

function actionsBar({ task, chosen, guess, said }, parent, actions) {
  const all = sameEntries(said, task.entries) && new Set(said.map(({ answer }) => answer));
  const was = (answer) => all && all.size === 1 && all.has(answer) && { "aria-pressed": "true" };
  const confirm = chosen.size
    ? `Save ${chosen.size} yes, ${task.entries.length - chosen.size} no`
    : "Save: none of these";
  const main = isSingle(task)
    ? [
        button([icon(YES), "Yes"], () => actions.single(YES), { class: "primary", ...was(YES) }, "y"),
        button([icon(NO), "No"], () => actions.single(NO), { class: "strong", ...was(NO) }, "n"),
      ]
    : [button(confirm, actions.confirm, { class: "primary wide" }, "enter")];
  const imported = task.above?.at(-1)?.source === "imported";
  const wrong =
    parent &&
    button(
      [icon("wrong"), h("span", { class: "clip" }, "Not “", bdi(parent.name), "”")],
      actions.wrong,
      {
        class: "plain",
        title: imported ? `The label “${parent.name}” itself is wrong here` : `“${parent.name}” does not apply here`,
      },
      "w",
    );
  return h(
    "div",
    { class: "foot actions" },
    h("div", { class: "main-actions" }, main),
    h(
      "div",
      { class: "side-actions" },
      button([icon(SKIP), "Skip"], actions.skip, { class: "plain", ...was(SKIP) }, "space"),
      wrong,
      task.mode !== GRID && button([icon("flag"), "Flag"], actions.flag, { class: "plain" }, "f"),
      button([icon("undo"), "Undo"], actions.undo, { class: "plain" }, "u"),
      button(
        [icon("eye"), guess ? "Hide guess" : "Guess"],
        actions.guess,
        { class: "plain", "aria-pressed": String(guess) },
        "g",
      ),
    ),
  );
}

// With none chosen where one has to apply, the label above must be wrong: ask, instead of saving a contradiction.
function doubtBar({ task }, parent, actions) {
  const imported = task.above?.at(-1)?.source === "imported";
  const name = () => ["“", bdi(parent.name), "”"];
  return h(
    "div",
    { class: "foot doubt", role: "group", "aria-label": "None of these?" },
    h("p", null, h("strong", null, "None of these? "), [
      "Every ",
      name(),
      " is one of them. ",
      imported ? ["Is the label ", name(), " wrong here?"] : ["Does ", name(), " not apply here?"],
    ]),
    h(
      "div",
      { class: "main-actions" },
      button(
        [icon("wrong"), h("span", null, "Yes, ", name(), imported ? " is wrong" : " does not apply")],
        actions.wrong,
        { class: "primary" },
        "w",
      ),
      button("No, look again", actions.back, { class: "strong" }, "esc"),
    ),
  );
}

// The item, with the words marked that speak for a choice, where that was asked for.
function mediaSide({ task, words, concepts }, actions) {
  const { item } = task;
  const marked = words?.concepts.length ? markedText(words, words.chosen) : null;
  const shown = item.picture
    ? button(itemView(item), () => openWhole(item), { class: "zoom", title: "Look closer" })
    : (marked ?? itemView(item));
  return h(
    "div",
    { class: "media-side" },
    shown,
    item.picture && marked,
    words && legend(words, words.chosen, (concept) => concepts.get(concept).name, actions.wordsFor),
    h(
      "div",
      { class: "media-foot" },
      h("p", { class: "soft item-id", dir: "auto" }, item.id),
      item.text &&
        button("Words", actions.words, { class: "small plain", "aria-pressed": String(Boolean(words)) }, "h"),
    ),
  );
}

// The foot stays in sight, however long the rest is.
export function questionView(session, actions) {
  const { task, doubt, guess } = session;
  const parent = task.mode === GRID ? null : session.parent;
  const head = [
    crumbs(task),
    task.description && h("p", { class: "description", dir: "auto" }, task.description),
    level(session),
    takenBack(session),
    hint(task),
  ];
  const foot = doubt && parent ? doubtBar(session, parent, actions) : actionsBar(session, parent, actions);
  if (task.mode === GRID) {
    return h(
      "div",
      { class: `card question ${GRID}` },
      h(
        "div",
        { class: "question-body" },
        h("div", { class: "grid-head" }, h("div", null, head), exampleStrip(task)),
        tiles(session, actions),
        quotes(session),
      ),
      foot,
    );
  }
  const ask = isSingle(task) ? [exampleStrip(task), guessOf(task, task.entries[0], guess)] : choices(session, actions);
  return h(
    "div",
    { class: `card question ${isSingle(task) ? SINGLE : GROUP}` },
    h(
      "div",
      {
        class: `question-body ${task.item.picture ? "with-picture" : "with-text"} ${
          task.entries.length > WIDE ? "with-many" : ""
        }`,
      },
      mediaSide(session, actions),
      h("div", { class: "ask-side" }, head, ask),
      quotes(session),
    ),
    foot,
  );
}
