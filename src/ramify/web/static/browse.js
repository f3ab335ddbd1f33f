// Browsing: find items by concept, state, probability and text, and correct labels in place.

import { get } from "./api.js";
import { announce, bar, bdi, button, byId, entryMark, h, itemView, percent } from "./dom.js";
import { openItem, whyButton, yesNo } from "./item.js";
import { DISPUTED, LONGEST_QUERY, STATES, UNKNOWN, YES } from "./words.js";

const PAGE = 24;
const PAUSE = 250; // milliseconds without a change to the filters, after which it is searched
const SHOWN = 3; // open entries on a card

const count = (number) => number.toLocaleString("en-GB");
const lastName = (entry) => entry.path.split(" > ").at(-1);

export class Browsing {
  constructor({ concepts, send, settled }) {
    this.concepts = concepts;
    this.send = send;
    this.settled = settled;
    this.offset = 0;
    this.asked = 0; // how many pages were asked for: a late one is dropped
    this.results = h("div", { class: "results" });
    this.total = h("p", { class: "soft count", role: "status" });
    this.fields = this.makeFields();
    this.noModel = h("p", { class: "soft filter-note", id: "no-probability" });
    this.probability = this.makeProbability();
    this.form = this.makeForm();
    byId("browse").replaceChildren(h("h1", { class: "unseen" }, "Browse items"), this.form, this.total, this.results);
    this.allowProbability();
  }

  // -- filters --------------------------------------------------------------------------------------------------------

  makeFields() {
    const option = (value, text) => h("option", { value, dir: "auto" }, text);
    const indent = (concept) => `${"\u2003".repeat(concept.path.split(" > ").length - 1)}${concept.name}`;
    const share = (name, value) =>
      h("input", { name, type: "number", min: 0, max: 100, step: 1, value, inputmode: "numeric" });
    const listed = [...this.concepts.values()].map((concept) => option(concept.concept, indent(concept)));
    const states = STATES.map((state) => option(state, state));
    return {
      concept: h("select", { name: "concept" }, option("", "any concept"), listed),
      state: h("select", { name: "state" }, option("", "any state"), states, option(DISPUTED, "people disagree")),
      low: share("low", 0),
      high: share("high", 100),
      query: h("input", {
        name: "query",
        type: "search",
        dir: "auto",
        maxlength: LONGEST_QUERY,
        placeholder: "id or text",
        autocomplete: "off",
      }),
    };
  }

  makeProbability() {
    const { low, high } = this.fields;
    const label = (text, field) => h("label", { class: "inline" }, h("span", null, text), field);
    return h(
      "fieldset",
      { "aria-describedby": "no-probability" },
      h("legend", null, "Model says, in %"),
      label("from", low),
      label("to", high),
    );
  }

  makeForm() {
    let waiting = 0;
    const changed = () => {
      clearTimeout(waiting);
      this.offset = 0;
      this.allowProbability();
      this.load();
    };
    const { concept, state, query } = this.fields;
    const label = (text, field, kind = "") => h("label", { class: kind }, h("span", null, text), field);
    const clear = () => {
      form.reset();
      changed();
    };
    const form = h(
      "form",
      { class: "filters card", role: "search" },
      label("Concept", concept),
      label("State", state),
      this.probability,
      label("Text", query, "grow"),
      button("Clear", clear, { class: "plain" }),
      this.noModel,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    // Not on "change": that comes with the click on a result, which would be drawn anew under the pressed button.
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(changed, PAUSE);
    });
    return form;
  }

  get concept() {
    const { value } = this.fields.concept;
    return value === "" ? null : this.concepts.get(Number(value));
  }

  // The model speaks of one fine concept at a time: else the fields could do nothing, and say so.
  allowProbability() {
    const { concept } = this;
    this.probability.disabled = !concept?.fine;
    this.noModel.hidden = Boolean(concept?.fine);
    this.noModel.replaceChildren(
      ...(concept
        ? [
            "“",
            bdi(concept.name),
            "” has finer concepts, and the model speaks of fine ones only: choose one of them to filter by what it says.",
          ]
        : ["Choose a fine concept to filter by what the model says of it."]),
    );
  }

  choose(concept) {
    this.form.reset();
    this.fields.concept.value = String(concept);
    this.offset = 0;
    this.allowProbability();
    this.load();
  }

  // -- results --------------------------------------------------------------------------------------------------------

  async load() {
    this.asked += 1;
    const { asked } = this;
    const { concept, state, low, high, query } = this.fields;
    const share = ({ value }, otherwise) => Math.min(1, Math.max(0, (value === "" ? otherwise : Number(value)) / 100));
    const between = this.probability.disabled ? {} : { low: share(low, 0), high: share(high, 100) };
    try {
      const page = await get("/api/browse", {
        concept: concept.value,
        state: state.value,
        ...between,
        query: query.value.trim(),
        offset: this.offset,
        limit: PAGE,
      });
      if (asked === this.asked) this.draw(page);
    } catch (error) {
      if (asked === this.asked) this.total.textContent = error.message;
    }
  }

  draw({ total, items }) {
    const last = Math.min(total, this.offset + items.length);
    this.total.textContent = total
      ? `${count(this.offset + 1)} to ${count(last)} of ${count(total)} items`
      : "No item fits these filters.";
    const inside = [...this.results.querySelectorAll("button")].indexOf(document.activeElement);
    const turn = (offset, text) => {
      const go = () => {
        this.offset = offset;
        this.load();
        scrollTo({ top: 0 });
      };
      return button(text, go, { class: "strong", disabled: offset < 0 || offset >= total });
    };
    const cards = items.map((known) => this.card(known));
    const turns = h("div", { class: "turn" }, turn(this.offset - PAGE, "Previous"), turn(this.offset + PAGE, "Next"));
    this.results.replaceChildren(h("div", { class: "cards" }, cards), total > PAGE ? turns : "");
    if (inside >= 0) this.results.querySelectorAll("button")[inside]?.focus({ preventScroll: true });
  }

  card({ item, entries }) {
    const { send, settled, concept } = this;
    const open = () => openItem(item.item, { send, settled, closed: () => this.load() });
    const chosen = concept && entries.find((entry) => entry.concept === concept.concept);
    return h(
      "article",
      { class: "card found" },
      button([itemView(item, "found-size"), h("span", { class: "soft found-id", dir: "auto" }, item.id)], open, {
        class: "found-open",
        "aria-label": `Open ${item.id}`,
      }),
      chosen ? this.chosenEntry(item, chosen) : this.someEntries(entries),
    );
  }

  chosenEntry(item, entry) {
    const reasons = h("div");
    const correct = async (answer) => {
      this.send([{ item: item.item, concept: entry.concept, answer }], entry.disputed);
      announce(`${entry.path}: ${answer}`);
      await this.settled();
      await this.load();
    };
    const known = entry.probability !== null && entry.probability !== undefined;
    const chance = known && h("span", { class: "chance" }, bar(entry.probability), percent(entry.probability));
    return h(
      "div",
      { class: "found-entry" },
      h("p", null, entryMark(entry), chance),
      h("p", { class: "row-actions" }, yesNo(entry.state, correct), whyButton(item.item, entry.concept, reasons)),
      reasons,
    );
  }

  someEntries(entries) {
    const yes = entries.filter((entry) => entry.state === YES);
    const open = entries
      .filter((entry) => entry.state === UNKNOWN)
      .sort((entry, other) => (other.probability ?? 0) - (entry.probability ?? 0));
    const chip = (kind, ...content) => h("span", { class: `chip ${kind}` }, content);
    return h(
      "div",
      { class: "chips" },
      yes.map((entry) => chip("chip-yes", h("span", { class: "unseen" }, "yes: "), bdi(lastName(entry)))),
      open.slice(0, SHOWN).map((entry) => chip("", bdi(lastName(entry)), `? ${percent(entry.probability)}`)),
      open.length > SHOWN && chip("", `${open.length - SHOWN} more open`),
    );
  }
}
