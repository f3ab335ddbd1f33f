// What people should look at again: annotators who disagree, assertions that contradict each other, coarse labels called wrong.

import { get } from "./api.js";
import { announce, bdi, button, byId, h, itemView } from "./dom.js";
import { openItem, yesNo } from "./item.js";
import { statements } from "./reasons.js";

export class Reviewing {
  constructor({ send, settled }) {
    this.send = send;
    this.settled = settled;
  }

  async load() {
    const place = byId("review");
    let review;
    try {
      review = await get("/api/review");
    } catch (error) {
      place.replaceChildren(h("p", { class: "card" }, error.message));
      return;
    }
    place.replaceChildren(
      this.list(
        "Annotators disagree",
        "Choose what is right: it then counts above what they said.",
        review.disagreements.map((disagreement) => this.disagreement(disagreement)),
      ),
      this.list(
        "Contradictions",
        "These statements cannot all be true, so none of them counts until one is changed.",
        review.contradictions.map((contradiction) => this.contradiction(contradiction)),
      ),
      this.list(
        "Coarse labels called wrong",
        "Somebody said that the imported label does not fit. Confirm it, or say that the label is right.",
        review.coarse_wrong.map((label) => this.coarse(label)),
      ),
    );
  }

  list(title, explanation, rows) {
    const filled = rows.length > 0;
    return h(
      "section",
      { class: "card review-list" },
      h("h2", null, title, " ", filled && h("span", { class: "badge" }, String(rows.length))),
      h("p", { class: "soft" }, filled ? explanation : "Nothing here."),
      filled &&
        h(
          "ul",
          null,
          rows.map((row) => h("li", null, row)),
        ),
    );
  }

  open(item, concepts) {
    const { send, settled } = this;
    const show = () => openItem(item.item, { send, settled, first: concepts, closed: () => this.load() });
    return button(itemView(item, "past-size"), show, { class: "review-open", "aria-label": `Open ${item.id}` });
  }

  settle({ item, concept, path }, words) {
    const say = async (answer) => {
      this.send([{ item: item.item, concept, answer }], true);
      announce(`${path}: settled as ${answer}`);
      await this.settled();
      await this.load();
    };
    return yesNo(null, say, words);
  }

  row(entry, said, words) {
    const { item, concept, path } = entry;
    return [
      this.open(item, [concept]),
      h(
        "div",
        null,
        h("strong", null, bdi(path), "?"),
        h("span", { class: "soft" }, " ", bdi(item.id)),
        h("p", null, said),
      ),
      this.settle(entry, words),
    ];
  }

  disagreement(entry) {
    const said = Object.entries(entry.answers);
    return this.row(
      entry,
      said.map(([name, answer], index) => [index > 0 && " · ", bdi(name), `: ${answer}`]),
    );
  }

  contradiction({ item, said }) {
    const concepts = said.map(({ concept }) => concept);
    return [
      this.open(item, concepts),
      h("div", null, h("span", { class: "soft" }, bdi(item.id)), h("p", null, statements(said))),
    ];
  }

  coarse(entry) {
    const said = [bdi(entry.annotator), " says that this label is wrong here."];
    return this.row(entry, said, ["Label is right", "Label is wrong"]);
  }
}
