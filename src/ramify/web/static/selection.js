// What is chosen among the found items, and the bar that says yes or no to all of it at once.

import { button, h } from "./dom.js";
import { NO, YES } from "./words.js";

const count = (number) => number.toLocaleString("en-GB");

export class Selection {
  constructor({ choosePage, chooseAll, say, changed }) {
    Object.assign(this, { choosePage, chooseAll, say, changed });
    this.items = new Set();
    this.bar = h("div", { class: "bulk", role: "group", "aria-label": "All chosen items", hidden: true });
  }

  set(items) {
    this.items = new Set(items);
    this.changed();
  }

  toggle(item) {
    if (!this.items.delete(item)) this.items.add(item);
    this.changed();
  }

  // `total` are all items that fit the filters, `concept` what is said of them; without one nothing can be.
  draw(total, concept) {
    const { size } = this.items;
    this.bar.hidden = !concept || !total;
    if (this.bar.hidden) return;
    const disabled = size === 0;
    this.bar.replaceChildren(
      button("Choose this page", this.choosePage, { class: "small" }),
      button(`Choose all ${count(total)}`, this.chooseAll, { class: "small" }),
      button("Choose none", () => this.set([]), { class: "small", disabled }),
      h("span", { class: "soft chosen-count", role: "status" }, `${count(size)} chosen`),
      button(`Yes to ${count(size)}`, () => this.say(YES), { class: "small primary", disabled }, "y"),
      button(`No to ${count(size)}`, () => this.say(NO), { class: "small strong", disabled }, "n"),
    );
  }
}
