// Browsing: find items by concept, state, probability and text, and correct labels in place.

import { go } from "./address.js";
import { get } from "./api.js";
import { announce, bar, bdi, button, byId, entryMark, h, itemView, percent } from "./dom.js";
import { openItem, takesLastWord, whyButton, yesNo } from "./item.js";
import { Selection } from "./selection.js";
import { DISPUTED, DOUBTED, LONGEST_QUERY, MOST_ANSWERS, NO, STATES, UNKNOWN, YES } from "./words.js";

const PAGE = 24;
const PAUSE = 250; // milliseconds without a change to the filters, after which it is searched
const SHOWN = 3; // open entries on a card
const SORTS = [
  ["", "in their order"],
  ["likely", "likeliest first"],
  ["unlikely", "least likely first"],
  ["unsure", "most unsure first"],
  ["disagreement", "most disagreement first"],
];
const WITHOUT_MODEL = ["", "disagreement"]; // the orders in which the model has no say

const count = (number) => number.toLocaleString("en-GB");
const lastName = (entry) => entry.path.split(" > ").at(-1);

export class Browsing {
  constructor({ concepts, send, settled }) {
    this.concepts = concepts;
    this.send = send;
    this.settled = settled;
    this.offset = 0;
    this.found = { total: 0, items: [] };
    this.at = -1; // the item that j and k have reached
    this.asked = 0; // how many pages were asked for: a late one is dropped
    this.results = h("div", { class: "results" });
    this.total = h("p", { class: "soft count", role: "status" });
    this.fields = this.makeFields();
    this.noModel = h("p", { class: "soft filter-note", id: "no-probability" });
    this.probability = this.makeProbability();
    this.form = this.makeForm();
    this.selection = new Selection({
      choosePage: () => this.selection.set(this.found.items.map(({ item }) => item.item)),
      chooseAll: () => this.chooseAll(),
      say: (answer) => this.sayAll(answer),
      changed: () => this.mark(),
    });
    byId("browse").replaceChildren(
      h("h1", { class: "unseen" }, "Browse items"),
      this.form,
      this.total,
      this.selection.bar,
      this.results,
    );
    this.allow();
  }

  // -- filters --------------------------------------------------------------------------------------------------------

  conceptOptions() {
    const option = (value, text) => h("option", { value, dir: "auto" }, text);
    const indent = (concept) => `${"\u2003".repeat(concept.path.split(" > ").length - 1)}${concept.name}`;
    const listed = [...this.concepts.values()].map((concept) => option(concept.concept, indent(concept)));
    return [option("", "any concept"), ...listed];
  }

  // Somebody changed the taxonomy.
  renew() {
    const { concept } = this.fields;
    const { value } = concept;
    concept.replaceChildren(...this.conceptOptions());
    concept.value = this.concepts.has(Number(value)) ? value : "";
    this.allow();
  }

  makeFields() {
    const option = (value, text) => h("option", { value, dir: "auto" }, text);
    const share = (name, value) =>
      h("input", { name, type: "number", min: 0, max: 100, step: 1, value, inputmode: "numeric" });
    const states = STATES.map((state) => option(state, state));
    return {
      concept: h("select", { name: "concept" }, this.conceptOptions()),
      state: h(
        "select",
        { name: "state" },
        option("", "any state"),
        states,
        option(DISPUTED, "people disagree"),
        option(DOUBTED, "the model doubts it"),
      ),
      sort: h(
        "select",
        { name: "sort" },
        SORTS.map(([value, text]) => option(value, text)),
      ),
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
      this.look();
    };
    const { concept, state, sort, query } = this.fields;
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
      label("Sorted", sort),
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

  // A state is that of one concept, and the model speaks of a fine one: fields that could do nothing say so.
  allow() {
    const { concept } = this;
    const { state, sort } = this.fields;
    for (const option of state.options) option.disabled = !concept && STATES.includes(option.value);
    if (state.selectedOptions[0]?.disabled) state.value = "";
    for (const option of sort.options) option.disabled = !concept?.fine && !WITHOUT_MODEL.includes(option.value);
    if (sort.selectedOptions[0]?.disabled) sort.value = "";
    this.probability.disabled = !concept?.fine;
    this.noModel.hidden = Boolean(concept?.fine);
    this.noModel.replaceChildren(
      ...(concept
        ? [
            "“",
            bdi(concept.name),
            "” has finer concepts, and the model speaks of fine ones only: choose one of them to filter by what it says.",
          ]
        : ["Choose a fine concept to filter and sort by its state and by what the model says of it."]),
    );
  }

  // Who looks at what is disputed or doubted has the last word.
  get settles() {
    return [DISPUTED, DOUBTED].includes(this.fields.state.value);
  }

  choose(concept) {
    this.form.reset();
    this.fields.concept.value = String(concept);
    this.offset = 0;
    this.look();
  }

  // The filters as they stand in the address; what is as it begins is left out.
  get filters() {
    const { fields, offset } = this;
    const given = Object.entries(fields).filter(([name, { value }]) => value !== { low: "0", high: "100" }[name]);
    return { ...Object.fromEntries(given.map(([name, { value }]) => [name, value.trim()])), offset: offset || "" };
  }

  // What an address says.
  restore(filters) {
    this.form.reset();
    for (const [name, field] of Object.entries(this.fields)) if (filters[name]) field.value = filters[name];
    this.offset = Math.max(0, Number.parseInt(filters.offset, 10) || 0);
    this.allow();
    this.load();
  }

  // Other filters or another page: a step of its own in the address, and nothing chosen.
  look() {
    this.allow();
    go("browse", this.filters);
    this.selection.set([]);
    this.at = -1;
    this.load();
  }

  // -- results --------------------------------------------------------------------------------------------------------

  // What is looked for, as the server wants it; null where no item can fit.
  get wanted() {
    const { concept, state, sort, low, high, query } = this.fields;
    const share = ({ value }, otherwise) => Math.min(1, Math.max(0, (value === "" ? otherwise : Number(value)) / 100));
    const between = this.probability.disabled ? {} : { low: share(low, 0), high: share(high, 100) };
    if (between.low > between.high) return null;
    return { concept: concept.value, state: state.value, sort: sort.value, ...between, query: query.value.trim() };
  }

  async load() {
    this.asked += 1;
    const { asked, wanted } = this;
    if (wanted === null) {
      this.draw({ total: 0, items: [] });
      this.total.textContent = "“from” is above “to”: no item can lie between them.";
      return;
    }
    try {
      const page = await get("/api/browse", { ...wanted, offset: this.offset, limit: PAGE });
      if (asked === this.asked) this.draw(page);
    } catch (error) {
      if (asked === this.asked) this.total.textContent = error.message;
    }
  }

  // -- many at once ---------------------------------------------------------------------------------------------------

  async chooseAll() {
    const { items, total } = await get("/api/found", this.wanted);
    this.selection.set(items);
    if (total > items.length) announce(`The first ${count(MOST_ANSWERS)} of ${count(total)} are chosen.`);
  }

  // One request for all of them, so that one undo takes all of it back.
  async sayAll(answer, items = [...this.selection.items]) {
    const { concept } = this;
    if (!concept || !items.length) return;
    const answers = items.map((item) => ({ item, concept: concept.concept, answer }));
    // Of one entry it is known whether another answer would change nothing; many are not settled by the way.
    const only = items.length === 1 ? this.found.items.find(({ item }) => item.item === items[0]) : null;
    const entry = only?.entries.find((it) => it.concept === concept.concept);
    this.send(answers, this.settles || (entry !== undefined && takesLastWord(entry)));
    announce(`${concept.name}: ${answer} for ${count(items.length)}`);
    this.selection.set([]);
    await this.settled();
    await this.load();
  }

  // What a key does here; says whether it does anything.
  press(name) {
    const cards = this.results.querySelectorAll(".found");
    const current = this.found.items[this.at]?.item.item;
    if (name === "j" || name === "k") {
      this.at = Math.min(cards.length - 1, Math.max(0, this.at + (name === "j" ? 1 : -1)));
      cards[this.at]?.querySelector(".found-open").focus();
      this.mark();
    } else if (name === "x" && current !== undefined && this.concept) this.selection.toggle(current);
    else if (name === "y" || name === "n") {
      const answer = name === "y" ? YES : NO;
      if (this.selection.items.size) this.sayAll(answer);
      else if (current !== undefined) this.sayAll(answer, [current]);
      else return false;
    } else return false;
    return true;
  }

  // Shows what is chosen, and where j and k are, without drawing anything anew.
  mark() {
    const { items } = this.selection;
    for (const [index, card] of [...this.results.querySelectorAll(".found")].entries()) {
      card.classList.toggle("at", index === this.at);
      const box = card.querySelector("input[type=checkbox]");
      if (box) box.checked = items.has(this.found.items[index].item.item);
    }
    this.selection.draw(this.found.total, this.concept);
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  draw({ total, items }) {
    this.found = { total, items };
    const last = Math.min(total, this.offset + items.length);
    this.total.textContent = total
      ? `${count(this.offset + 1)} to ${count(last)} of ${count(total)} items`
      : "No item fits these filters.";
    const inside = [...this.results.querySelectorAll("button")].indexOf(document.activeElement);
    const turn = (offset, text) => {
      const go = () => {
        this.offset = offset;
        this.look();
        scrollTo({ top: 0 });
      };
      return button(text, go, { class: "strong", disabled: offset < 0 || offset >= total });
    };
    const cards = items.map((known) => this.card(known));
    const turns = h("div", { class: "turn" }, turn(this.offset - PAGE, "Previous"), turn(this.offset + PAGE, "Next"));
    this.results.replaceChildren(h("div", { class: "cards" }, cards), total > PAGE ? turns : "");
    if (inside >= 0) this.results.querySelectorAll("button")[inside]?.focus({ preventScroll: true });
    this.at = Math.min(this.at, items.length - 1);
    this.mark();
  }

  card({ item, entries }) {
    const { send, settled, concept } = this;
    const first = concept ? [concept.concept] : [];
    const open = () => openItem(item.item, { send, settled, first, closed: () => this.load() });
    const chosen = concept && entries.find((entry) => entry.concept === concept.concept);
    const name = h("span", { class: "soft found-id", dir: "auto" }, item.id);
    const choose = () => this.selection.toggle(item.item);
    return h(
      "article",
      { class: "card found" },
      button([itemView(item, "found-size"), h("span", { class: "unseen" }, "Open "), name], open, {
        class: "found-open",
      }),
      chosen &&
        h("label", { class: "choose" }, h("input", { type: "checkbox", onchange: choose }), "Choose", [
          " ",
          h("span", { class: "unseen", dir: "auto" }, item.id),
        ]),
      chosen ? this.chosenEntry(item, chosen) : this.someEntries(entries),
    );
  }

  chosenEntry(item, entry) {
    const reasons = h("div");
    const correct = async (answer) => {
      this.send([{ item: item.item, concept: entry.concept, answer }], takesLastWord(entry) || this.settles);
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
