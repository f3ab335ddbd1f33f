// What people should look at again: annotators who disagree, assertions that contradict each other, coarse labels called wrong.

import { get } from "./api.js";
import { announce, button, byId, h, itemView } from "./dom.js";
import { openItem, yesNo } from "./item.js";

export class Reviewing {
  constructor({ send, settled }) {
    this.send = send;
    this.settled = settled;
  }

  async load() {
    const place = byId("review");
    let found;
    try {
      found = await get("/api/review");
    } catch (error) {
      place.replaceChildren(h("p", { class: "card" }, error.message));
      return;
    }
    place.replaceChildren(
      this.list(
        "Annotators disagree",
        "Choose what is right: it then counts above what they said.",
        found.disagreements,
        (one) => this.disagreement(one),
      ),
      this.list(
        "Contradictions",
        "These statements cannot all be true, so none of them counts until one is changed.",
        found.contradictions,
        (one) => this.contradiction(one),
      ),
      this.list(
        "Coarse labels called wrong",
        "Somebody said that the imported label does not fit. Confirm it, or say that the label is right.",
        found.coarse_wrong,
        (one) => this.coarse(one),
      ),
    );
  }

  list(title, explanation, entries, row) {
    return h(
      "section",
      { class: "card review-list" },
      h("h2", null, title, " ", entries.length > 0 && h("span", { class: "badge" }, String(entries.length))),
      entries.length
        ? [
            h("p", { class: "soft" }, explanation),
            h(
              "ul",
              null,
              entries.map((one) => h("li", null, row(one))),
            ),
          ]
        : h("p", { class: "soft" }, "Nothing here."),
    );
  }

  open(item, concepts) {
    return button(
      itemView(item, "past-size"),
      () => openItem(item.item, { send: this.send, settled: this.settled, first: concepts, closed: () => this.load() }),
      { class: "review-open", "aria-label": `Open ${item.id}` },
    );
  }

  settle(one, words) {
    return yesNo(
      null,
      async (answer) => {
        this.send([{ item: one.item.item, concept: one.concept, answer }], {}, true);
        announce(`${one.path}: settled as ${answer}`);
        await this.settled();
        await this.load();
      },
      words,
    );
  }

  row(one, said, words) {
    return [
      this.open(one.item, [one.concept]),
      h(
        "div",
        null,
        h("strong", null, `${one.path}?`),
        h("span", { class: "soft" }, ` ${one.item.id}`),
        h("p", null, said),
      ),
      this.settle(one, words),
    ];
  }

  disagreement(one) {
    const said = Object.entries(one.answers).map(
      ([name, answer]) => `${name}: ${answer === 1 ? "yes" : answer === 0 ? "no" : answer}`,
    );
    return this.row(one, said.join(" · "));
  }

  contradiction(one) {
    const number = /^item (\d+): /.exec(one)?.[1];
    const show = () => openItem(Number(number), { send: this.send, settled: this.settled, closed: () => this.load() });
    return [h("div", null, h("p", null, one)), number !== undefined && button("Open", show, { class: "small" })];
  }

  coarse(one) {
    return this.row(one, `${one.annotator} says that this label is wrong here.`, ["Label is right", "Label is wrong"]);
  }
}
