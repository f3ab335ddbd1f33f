// How one question looks, in its three modes. What is chosen and what happens is decided in ask.js.

import { bar, button, h, icon, itemView, key, percent } from "./dom.js";
import { CHOICE_KEYS } from "./keys.js";

const MANY = CHOICE_KEYS.length;

// A group of one child is a yes/no question.
export const isSingle = (task) => task.mode === "single" || (task.mode === "group" && task.entries.length === 1);
export const entryKey = (entry) => `${entry.item}:${entry.concept}`;

function crumbs(task) {
  const names = isSingle(task) && task.mode === "group" ? [...task.path, task.entries[0].name] : task.path;
  const last = isSingle(task) || task.mode === "grid" ? `${names.at(-1)}?` : names.at(-1);
  const steps = [...names.slice(0, -1), last].map((name, index) => [
    index > 0 && h("span", { class: "arrow", "aria-label": "then" }, "›"),
    h("span", { class: "crumb" }, name),
  ]);
  if (!isSingle(task) && task.mode === "group") {
    steps.push([
      h("span", { class: "arrow", "aria-hidden": "true" }, "›"),
      h("span", { class: "crumb open" }, "which of these?"),
    ]);
  }
  return h("h1", { class: "crumbs", id: "asked" }, steps);
}

function hint(task) {
  if (task.mode === "grid") return `Choose every item that is “${task.path.at(-1)}”; the others are saved as no.`;
  if (isSingle(task)) return null;
  return "Choose all that apply; the others are saved as no.";
}

function guessOf(task, entry, shown) {
  if (!shown) return null;
  const share = task.guess?.[entryKey(entry)];
  if (share === undefined || share === null) return h("span", { class: "guess" }, "no guess yet");
  return h("span", { class: "guess" }, bar(share), h("span", null, `guess ${percent(share)}`));
}

function thumbnails(task, concept, most) {
  const found = (task.examples ?? [])
    .filter((example) => example.concept === concept && example.item.picture)
    .slice(0, most);
  return found.map((example) =>
    h("img", {
      class: "thumb",
      src: example.item.picture,
      alt: "",
      title: `known example: ${example.item.id}`,
      loading: "lazy",
    }),
  );
}

function quotes(task) {
  const found = (task.examples ?? []).filter((example) => !example.item.picture);
  if (!found.length) return null;
  const name = new Map(task.entries.map((entry) => [entry.concept, entry.name]));
  return h(
    "details",
    { class: "examples", open: true },
    h("summary", null, "Known examples"),
    h(
      "ul",
      null,
      found.map((example) =>
        h(
          "li",
          null,
          h("strong", null, name.get(example.concept) ?? ""),
          " ",
          h("q", null, example.item.text ?? example.item.id),
        ),
      ),
    ),
  );
}

function choices(task, view, actions) {
  const list = task.entries.map((entry, index) => {
    const chosen = view.chosen.has(entryKey(entry));
    const properties = {
      class: "choice",
      "aria-pressed": String(chosen),
      title: entry.description,
      "data-name": entry.name.toLowerCase(),
    };
    const thumbs = thumbnails(task, entry.concept, task.entries.length > 6 ? 2 : 3);
    const label = [
      CHOICE_KEYS[index] ? key(CHOICE_KEYS[index]) : h("span", { class: "no-key" }),
      h(
        "span",
        { class: "name" },
        h("span", null, entry.name),
        entry.description && h("small", null, entry.description),
        guessOf(task, entry, view.guess),
      ),
      thumbs.length > 0 && h("span", { class: "thumbs" }, thumbs),
      h("span", { class: "mark" }, chosen ? [icon("yes"), h("span", { class: "mark-word" }, "yes")] : null),
    ];
    return button(label, () => actions.toggle(entry), properties);
  });
  const narrow = task.entries.length > MANY && filter(list);
  return [
    narrow,
    h("div", { class: `choices ${list.length > 6 ? "many" : ""}`, role: "group", "aria-labelledby": "asked" }, list),
  ];
}

// With more children than keys: type to narrow them, enter chooses the first that is left.
function filter(list) {
  const field = h("input", {
    type: "search",
    class: "find",
    placeholder: "Find a choice  ( / )",
    "aria-label": "Find a choice",
    autocomplete: "off",
  });
  const matches = () => list.filter((one) => !one.hidden);
  field.addEventListener("input", () => {
    for (const one of list) one.hidden = !one.dataset.name.includes(field.value.trim().toLowerCase());
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !field.value.trim()) return;
    event.preventDefault();
    matches()[0]?.click();
  });
  return field;
}

function tiles(task, view, actions) {
  const item = new Map(task.items.map((one) => [one.item, one]));
  return h(
    "div",
    { class: "tiles", role: "group", "aria-labelledby": "asked" },
    task.entries.map((entry, index) => {
      const chosen = view.chosen.has(entryKey(entry));
      const shown = item.get(entry.item);
      const label = [
        itemView(shown, "tile-media"),
        h(
          "span",
          { class: "tile-foot" },
          key(CHOICE_KEYS[index]),
          guessOf(task, entry, view.guess),
          h("span", { class: "mark" }, chosen ? [icon("yes"), "yes"] : null),
        ),
      ];
      return button(label, () => actions.toggle(entry), {
        class: "tile",
        "aria-pressed": String(chosen),
        "aria-label": `${CHOICE_KEYS[index]}: ${shown.text || shown.id}`,
      });
    }),
  );
}

function exampleStrip(task) {
  const concept = task.entries[0].concept;
  const thumbs = thumbnails(task, concept, 3);
  if (!thumbs.length) return null;
  return h(
    "div",
    { class: "example-strip" },
    h("span", { class: "soft" }, "Known examples"),
    h("span", { class: "thumbs large" }, thumbs),
  );
}

function actionsBar(task, view, actions) {
  const chosen = view.chosen.size;
  const confirm = chosen ? `Save ${chosen} yes, ${task.entries.length - chosen} no` : "Save: none of these";
  const main = isSingle(task)
    ? [
        button([icon("yes"), "Yes"], () => actions.single("yes"), { class: "primary" }, "y"),
        button([icon("no"), "No"], () => actions.single("no"), { class: "strong" }, "n"),
      ]
    : [button(confirm, actions.confirm, { class: "primary wide" }, "enter")];
  const parent = view.parentName;
  return h(
    "div",
    { class: "actions" },
    h("div", { class: "main-actions" }, main),
    h(
      "div",
      { class: "side-actions" },
      button([icon("skip"), "Skip"], actions.skip, { class: "plain" }, "space"),
      parent &&
        button(
          [icon("wrong"), h("span", { class: "clip" }, `Not “${parent}”`)],
          actions.wrong,
          {
            class: "plain",
            title: `The label “${parent}” itself is wrong here`,
          },
          "w",
        ),
      button([icon("undo"), "Undo"], actions.undo, { class: "plain" }, "u"),
      button(
        [icon("eye"), view.guess ? "Hide guess" : "Guess"],
        actions.guess,
        {
          class: "plain",
          "aria-pressed": String(view.guess),
        },
        "g",
      ),
    ),
  );
}

// With none chosen where one has to apply, the label above must be wrong: ask, instead of saving a contradiction.
function doubt(view, actions) {
  return h(
    "div",
    { class: "doubt", role: "group", "aria-label": "None of these?" },
    h(
      "p",
      null,
      h("strong", null, "None of these? "),
      `Every “${view.parentName}” is one of them. Is the label “${view.parentName}” wrong here?`,
    ),
    h(
      "div",
      { class: "main-actions" },
      button([icon("wrong"), `Yes, “${view.parentName}” is wrong`], actions.wrong, { class: "primary" }, "w"),
      button("No, look again", actions.back, { class: "strong" }, "esc"),
    ),
  );
}

export function questionView(task, view, actions) {
  const head = [crumbs(task), task.description && h("p", { class: "description" }, task.description)];
  const guess = isSingle(task) && guessOf(task, task.entries[0], view.guess);
  const foot = view.doubt ? doubt(view, actions) : actionsBar(task, view, actions);
  const note = hint(task) && h("p", { class: "soft hint" }, hint(task));
  if (task.mode === "grid") {
    return h(
      "div",
      { class: "card question grid" },
      h("div", { class: "grid-head" }, h("div", null, head, note), exampleStrip(task)),
      quotes(task),
      tiles(task, view, actions),
      foot,
    );
  }
  const ask = isSingle(task)
    ? [exampleStrip(task), quotes(task), guess]
    : [note, choices(task, view, actions), quotes(task)];
  const text = !task.item.picture;
  return h(
    "div",
    { class: `card question ${text ? "with-text" : "with-picture"} ${isSingle(task) ? "single" : "group"}` },
    h("div", { class: "media-side" }, itemView(task.item), h("p", { class: "soft item-id" }, task.item.id)),
    h("div", { class: "ask-side" }, head, ask, foot),
  );
}
