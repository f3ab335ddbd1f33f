// Concepts: the taxonomy of the project, changed here. What a change does to labels is shown before it is done.

import { get, post } from "./api.js";
import { announce, bdi, button, h } from "./dom.js";
import { session } from "./session.js";

const KINDS = [
  ["rename", "Rename it"],
  ["describe", "Describe it"],
  ["split", "Split it into finer ones"],
  ["add", "Add concepts below it"],
  ["move", "Move it"],
  ["merge", "Merge it with others beside it"],
  ["remove", "Remove it"],
];
const NAMES = {
  rename: "New name",
  split: "Finer concepts, one a line",
  add: "New concepts, one a line",
  merge: "Name of all together",
};
const TOP = "";
const LISTED = 12; // concepts of which something is different

const depth = ({ path }) => path.split(" > ").length - 1;
const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
const counted = (counts) => (counts ? `${counts.yes} yes, ${counts.no} no, ${counts.unknown} unknown` : "–");

function options(concepts, first) {
  const named = concepts.map((concept) =>
    h("option", { value: concept.concept, dir: "auto" }, `${"\u2003".repeat(depth(concept))}${concept.name}`),
  );
  return [first && h("option", { value: TOP }, first), ...named].filter(Boolean);
}

// `changed` is called when the taxonomy is another one.
export class ConceptsPart {
  constructor(changed) {
    this.changed = changed;
    this.said = h("div", { class: "said", role: "status" });
    this.tree = h("ul", { class: "concept-tree", "aria-label": "All concepts" });
    this.form = h("form", { class: "changing" });
    this.undoing = h("div", { class: "fields" });
    this.kind = "rename";
    this.about = null; // the concept that is changed, by its id
    this.asked = 0; // how often the last change was asked for: only the newest reply counts
    this.view = [this.tree, this.form, this.said, this.undoing];
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.tell("/api/taxonomy", this.wanted());
    });
    this.form.addEventListener("input", () => this.said.replaceChildren()); // a preview of something else
    this.renew();
  }

  // What is there is drawn again: after a change, here or elsewhere.
  renew() {
    this.all = [...session.concepts.values()];
    if (!session.concepts.has(this.about)) this.about = this.all[0]?.concept ?? null;
    this.drawTree();
    this.drawForm();
    this.drawUndo();
  }

  choose(concept) {
    this.about = concept;
    this.said.replaceChildren();
    this.drawTree();
    this.drawForm();
  }

  drawTree() {
    const focused = this.tree.contains(document.activeElement);
    const row = (concept) =>
      h(
        "li",
        { class: `depth-${Math.min(depth(concept), 8)}` },
        button(bdi(concept.name), () => this.choose(concept.concept), {
          "aria-pressed": String(concept.concept === this.about),
        }),
        concept.description && h("span", { class: "soft", dir: "auto" }, concept.description),
        concept.exhaustive && h("span", { class: "soft" }, "one of these always applies"),
      );
    this.tree.replaceChildren(...this.all.map(row));
    if (focused) this.tree.querySelector("[aria-pressed=true]")?.focus({ preventScroll: true });
  }

  drawForm() {
    const label = (id, title, field) => h("label", { for: id }, h("span", null, title), field);
    const now = session.concepts.get(this.about);
    if (!now) {
      this.form.replaceChildren();
      return;
    }
    const what = h(
      "select",
      { id: "concept-what", onchange: () => this.follow(what.value) },
      KINDS.map(([value, title]) => h("option", { value, selected: value === this.kind }, title)),
    );
    const which = h(
      "select",
      { id: "concept-which", onchange: () => this.choose(which.value === TOP ? TOP : Number(which.value)) },
      options(this.all),
    );
    which.value = String(this.about);
    this.fields = this.makeFields(now);
    this.form.replaceChildren(
      h(
        "div",
        { class: "settings-grid" },
        label("concept-which", "Concept", which),
        label("concept-what", "What to do", what),
        Object.values(this.fields).map(({ id, title, field }) => label(id, title, field)),
      ),
      h("p", { class: "settings-end" }, h("button", { class: "strong" }, "Preview")),
    );
  }

  follow(kind) {
    this.kind = kind;
    this.drawForm();
    this.form.querySelector("#concept-what").focus({ preventScroll: true });
  }

  // What has to be said for this kind of change.
  makeFields(now) {
    const { kind } = this;
    const made = {};
    const put = (name, title, field) => {
      field.id = `concept-${name}`;
      made[name] = { id: field.id, title, field };
    };
    const siblings = this.all.filter(({ concept, parent }) => parent === now.parent && concept !== now.concept);
    if (kind === "merge")
      put("with", "Together with", h("select", { multiple: true, required: true, size: 4 }, options(siblings)));
    if (kind === "add")
      put(
        "top",
        "Where",
        h("select", null, h("option", { value: "" }, `below ${now.name}`), h("option", { value: "top" }, "at the top")),
      );
    if (kind === "rename" || kind === "merge")
      put(
        "names",
        NAMES[kind],
        h("input", { type: "text", value: now.name, required: true, dir: "auto", autocomplete: "off" }),
      );
    if (kind === "split" || kind === "add")
      put("names", NAMES[kind], h("textarea", { rows: 3, required: true, dir: "auto" }));
    if (kind === "move") put("below", "Below", h("select", null, options(this.all, "nothing: at the top")));
    if (kind === "describe") {
      put("description", "What it means", h("textarea", { rows: 3, dir: "auto" }, now.description));
      put("aliases", "Other names, one a line", h("textarea", { rows: 3, dir: "auto" }, now.aliases.join("\n")));
    }
    if (kind === "split" || (kind === "describe" && !now.fine)) {
      const one = h(
        "select",
        null,
        h("option", { value: "no" }, "none need apply"),
        h("option", { value: "yes" }, "one always applies"),
      );
      if (kind === "describe" && now.exhaustive) one.value = "yes";
      put("exhaustive", "Of the finer ones", one);
    }
    return made;
  }

  wanted() {
    const { kind, fields, about } = this;
    const value = (name) => fields[name]?.field.value;
    const wanted = { kind, concepts: [about] };
    if (kind === "add" && value("top") === "top") wanted.concepts = [];
    if (kind === "merge")
      wanted.concepts = [about, ...[...fields.with.field.selectedOptions].map((option) => Number(option.value))];
    if (fields.names) wanted.names = lines(value("names"));
    if (kind === "move") wanted.below = value("below") === TOP ? null : Number(value("below"));
    if (kind === "describe") {
      wanted.description = value("description").trim();
      wanted.aliases = lines(value("aliases"));
    }
    if (fields.exhaustive) wanted.exhaustive = value("exhaustive") === "yes";
    return wanted;
  }

  // A preview of a change, or of an undo, which can then be done.
  async tell(path, wanted) {
    try {
      const told = await post(path, { ...wanted, dry_run: true });
      const go = button("Do it", () => this.carryOut(path, wanted), { class: "strong" });
      this.said.replaceChildren(outlook(told), h("p", { class: "settings-end" }, go));
      go.focus({ preventScroll: true });
      go.scrollIntoView({ block: "nearest" });
    } catch (error) {
      this.refuse(error);
    }
  }

  async carryOut(path, wanted) {
    try {
      const told = await post(path, wanted);
      session.replaceConcepts(await get("/api/taxonomy"));
      this.renew();
      this.said.replaceChildren(h("p", null, `Done. ${told.said} ${told.told.join(" ")}`));
      this.form.querySelector("#concept-which")?.focus({ preventScroll: true });
      this.changed();
    } catch (error) {
      this.refuse(error);
    }
  }

  refuse(error) {
    this.said.replaceChildren(h("p", { class: "trouble" }, `Nothing was changed: ${error.message}`));
    announce(this.said.textContent);
    this.drawUndo(); // somebody else may have changed something
  }

  async drawUndo() {
    this.asked += 1;
    const turn = this.asked;
    this.undoing.replaceChildren(); // what stands there may be taken back already
    try {
      const { change, said } = await get("/api/taxonomy/last");
      if (turn !== this.asked) return;
      const back = button("Take back the last change", () => this.tell("/api/taxonomy/undo", { change }));
      this.undoing.replaceChildren(...(said ? [back, h("span", { class: "soft", dir: "auto" }, said)] : []));
    } catch {
      // the server is away, which is said elsewhere
    }
  }
}

// What becomes of labels: in sentences, and concept by concept.
function outlook({ said, told, concepts }) {
  const row = ({ before_path, path, before, after }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, bdi(path ?? before_path), !path && " (goes)", !before_path && " (new)"),
      h("td", null, counted(before)),
      h("td", null, counted(after)),
    );
  const head = ["Concept", "Before", "After"].map((title) => h("th", { scope: "col" }, title));
  const more = concepts.length - LISTED;
  return h(
    "div",
    { class: "outlook" },
    h("p", { dir: "auto" }, h("strong", null, said)),
    h(
      "ul",
      null,
      told.map((sentence) => h("li", { dir: "auto" }, sentence)),
    ),
    concepts.length > 0 &&
      h(
        "div",
        { class: "people-table", tabindex: 0, role: "region", "aria-label": "What becomes of labels" },
        h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, concepts.slice(0, LISTED).map(row))),
      ),
    more > 0 && h("p", { class: "soft" }, `and ${more} concepts more`),
  );
}
