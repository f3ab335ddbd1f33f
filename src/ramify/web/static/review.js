// What people should look at again: annotators who disagree, assertions that contradict each other, coarse labels called wrong.

import { get, post } from "./api.js";
import { announce, bdi, button, byId, h, itemView } from "./dom.js";
import { openItem, yesNo } from "./item.js";
import { statements } from "./reasons.js";
import { CANNOT_TELL } from "./words.js";

export class Reviewing {
  constructor({ send, settled }) {
    this.send = send;
    this.settled = settled;
  }

  async load() {
    const place = byId("review");
    let review;
    try {
      const held = [...place.querySelectorAll("button")].indexOf(document.activeElement);
      review = await get("/api/review");
      this.focusAt = held;
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
      this.list(
        "Flags",
        "Nobody is asked about these until the flag is lifted.",
        review.flags.map((flag) => this.flag(flag)),
      ),
    );
    // What had the focus is settled and gone: it goes to what stands in its place, or to the end.
    if (this.focusAt < 0) return;
    const buttons = [...place.querySelectorAll("button")];
    (buttons[this.focusAt] ?? buttons.at(-1) ?? byId("main")).focus({ preventScroll: true });
  }

  flag({ item, key, flag, note, annotator, paths }) {
    const lift = async () => {
      await post("/api/lift", { key });
      announce("It will be asked again.");
      await this.load();
    };
    return [
      this.open(item, []),
      h(
        "div",
        null,
        h("strong", null, flag),
        h("span", { class: "soft" }, " ", bdi(item.id), " · ", bdi(annotator)),
        note && h("p", { dir: "auto" }, note),
        flag === CANNOT_TELL &&
          h(
            "p",
            { class: "soft" },
            paths.map((path, index) => [index > 0 && ", ", bdi(path)]),
          ),
      ),
      button("Ask again", lift, { class: "small" }),
    ];
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
    return button([itemView(item, "past-size"), h("span", { class: "unseen" }, "Open ", bdi(item.id))], show, {
      class: "review-open",
    });
  }

  settle({ item, concept, path }, words, state = null) {
    const say = async (answer) => {
      this.send([{ item: item.item, concept, answer }], true);
      announce(`${path}: settled as ${answer}`);
      await this.settled();
      await this.load();
    };
    return yesNo(state, say, words);
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
      h(
        "div",
        null,
        h("span", { class: "soft" }, bdi(item.id)),
        h("p", null, statements(said)),
        said.map((statement) =>
          h(
            "p",
            { class: "settle-line" },
            bdi(statement.path),
            this.settle({ item, concept: statement.concept, path: statement.path }, ["Yes", "No"], statement.value),
          ),
        ),
      ),
    ];
  }

  coarse(entry) {
    const said = [bdi(entry.annotator), " says that this label is wrong here."];
    return this.row(entry, said, ["Label is right", "Label is wrong"]);
  }
}
