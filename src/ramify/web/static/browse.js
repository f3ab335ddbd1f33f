// Browsing: find items by concept, state, probability and text, and correct labels in place.

import { get } from "./api.js";
import { announce, bar, button, byId, entryMark, h, itemView, percent } from "./dom.js";
import { openItem, whyButton, yesNo } from "./item.js";

const PAGE = 24;

export class Browsing {
  constructor({ concepts, send, settled }) {
    this.concepts = concepts;
    this.send = send;
    this.settled = settled;
    this.offset = 0;
    this.asked = 0;
    this.results = h("div", { class: "results" });
    this.count = h("p", { class: "soft count", role: "status" });
    this.form = this.makeForm();
    byId("browse").replaceChildren(h("h1", { class: "unseen" }, "Browse items"), this.form, this.count, this.results);
  }

  makeForm() {
    const changed = () => {
      this.offset = 0;
      this.load();
    };
    const option = (value, text) => h("option", { value }, text);
    const indent = (concept) => `${"\u2003".repeat(concept.path.split(" > ").length - 1)}${concept.name}`;
    this.fields = {
      concept: h(
        "select",
        { name: "concept" },
        option("", "any concept"),
        [...this.concepts.values()].map((concept) => option(concept.concept, indent(concept))),
      ),
      state: h(
        "select",
        { name: "state" },
        [
          ["", "any state"],
          ["yes", "yes"],
          ["no", "no"],
          ["unknown", "unknown"],
          ["disputed", "people disagree"],
        ].map(([value, text]) => option(value, text)),
      ),
      low: h("input", { name: "low", type: "number", min: 0, max: 100, step: 1, value: 0, inputmode: "numeric" }),
      high: h("input", { name: "high", type: "number", min: 0, max: 100, step: 1, value: 100, inputmode: "numeric" }),
      query: h("input", {
        name: "query",
        type: "search",
        maxlength: 200,
        placeholder: "id or text",
        autocomplete: "off",
      }),
    };
    const label = (text, field, kind = "") => h("label", { class: kind }, h("span", null, text), field);
    let waiting = 0;
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(changed, 250);
    };
    const form = h(
      "form",
      { class: "filters card", role: "search" },
      label("Concept", this.fields.concept),
      label("State", this.fields.state),
      h(
        "fieldset",
        null,
        h("legend", null, "Model says, in %"),
        label("from", this.fields.low, "inline"),
        label("to", this.fields.high, "inline"),
      ),
      label("Text", [this.fields.query], "grow"),
      button(
        "Clear",
        () => {
          form.reset();
          changed();
        },
        { class: "plain" },
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    form.addEventListener("change", changed);
    this.fields.query.addEventListener("input", soon);
    return form;
  }

  choose(concept) {
    this.form.reset();
    this.fields.concept.value = String(concept);
    this.offset = 0;
    this.load();
  }

  async load() {
    this.asked += 1;
    const { asked } = this;
    const { concept, state, low, high, query } = this.fields;
    const share = (field, otherwise) =>
      Math.min(1, Math.max(0, (field.value === "" ? otherwise : Number(field.value)) / 100));
    try {
      const found = await get("/api/browse", {
        concept: concept.value,
        state: state.value,
        low: share(low, 0),
        high: share(high, 100),
        query: query.value.trim(),
        offset: this.offset,
        limit: PAGE,
      });
      if (asked === this.asked) this.draw(found);
    } catch (error) {
      if (asked === this.asked) this.count.textContent = error.message;
    }
  }

  draw(found) {
    const last = Math.min(found.total, this.offset + found.items.length);
    this.count.textContent = found.total
      ? `${(this.offset + 1).toLocaleString("en-GB")} to ${last.toLocaleString("en-GB")} of ${found.total.toLocaleString(
          "en-GB",
        )} items`
      : "No item fits these filters.";
    const inside = [...this.results.querySelectorAll("button")].indexOf(document.activeElement);
    const turn = (offset, text) =>
      button(
        text,
        () => {
          this.offset = offset;
          this.load();
          scrollTo({ top: 0 });
        },
        { class: "strong", disabled: offset < 0 || offset >= found.total },
      );
    this.results.replaceChildren(
      h(
        "div",
        { class: "cards" },
        found.items.map((one) => this.card(one)),
      ),
      (found.total > PAGE &&
        h("div", { class: "turn" }, turn(this.offset - PAGE, "Previous"), turn(this.offset + PAGE, "Next"))) ||
        "",
    );
    if (inside >= 0) this.results.querySelectorAll("button")[inside]?.focus({ preventScroll: true });
  }

  card({ item, entries }) {
    const open = () => openItem(item.item, { send: this.send, settled: this.settled, closed: () => this.load() });
    const wanted = Number(this.fields.concept.value) || (this.fields.concept.value === "0" ? 0 : null);
    const entry = wanted === null ? null : entries.find((one) => one.concept === wanted);
    return h(
      "article",
      { class: "card found" },
      button([itemView(item, "found-size"), h("span", { class: "soft found-id" }, item.id)], open, {
        class: "found-open",
        "aria-label": `Open ${item.id}`,
      }),
      entry ? this.oneEntry(item, entry) : this.someEntries(entries),
    );
  }

  oneEntry(item, entry) {
    const reasons = h("div");
    const correct = async (answer) => {
      this.send([{ item: item.item, concept: entry.concept, answer }], {}, entry.disputed);
      announce(`${entry.path}: ${answer}`);
      await this.settled();
      await this.load();
    };
    const chance =
      entry.probability === null || entry.probability === undefined
        ? null
        : h("span", { class: "chance" }, bar(entry.probability), percent(entry.probability));
    return h(
      "div",
      { class: "found-entry" },
      h("p", null, entryMark(entry), chance),
      h("p", { class: "row-actions" }, yesNo(entry.state, correct), whyButton(item.item, entry.concept, reasons)),
      reasons,
    );
  }

  someEntries(entries) {
    const name = (entry) => entry.path.split(" > ").at(-1);
    const yes = entries.filter((entry) => entry.state === "yes");
    const open = entries
      .filter((entry) => entry.state === "unknown")
      .sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0));
    return h(
      "div",
      { class: "chips" },
      yes.map((entry) => h("span", { class: "chip chip-yes" }, h("span", { class: "unseen" }, "yes: "), name(entry))),
      open.slice(0, 3).map((entry) => h("span", { class: "chip" }, `${name(entry)}? ${percent(entry.probability)}`)),
      open.length > 3 && h("span", { class: "chip" }, `${open.length - 3} more open`),
    );
  }
}
