// One item with all its entries: what is known, why, what the model believes; each can be corrected in place.

import { get } from "./api.js";
import { announce, bar, button, dialog, entryMark, h, itemView, percent } from "./dom.js";

// Yes and no beside an entry; the known one is pressed.
export function yesNo(state, say, words = ["Yes", "No"]) {
  const one = (answer, word) =>
    button(word, () => say(answer), { class: "small", "aria-pressed": String(state === answer) });
  return h("span", { class: "yes-no" }, one("yes", words[0]), one("no", words[1]));
}

export function whyButton(item, concept, place) {
  const toggle = async (event) => {
    const pressed = event.currentTarget;
    if (place.childNodes.length) {
      place.replaceChildren();
      pressed.setAttribute("aria-expanded", "false");
      return;
    }
    pressed.setAttribute("aria-expanded", "true");
    try {
      const found = await get("/api/why", { item, concept });
      const reasons = found.reasons.length
        ? found.reasons
        : ["Nobody has said anything about it, and nothing follows."];
      place.replaceChildren(
        h(
          "ul",
          { class: "reasons" },
          reasons.map((reason) => h("li", null, reason)),
        ),
      );
      announce(reasons.join(". "));
    } catch (error) {
      place.replaceChildren(h("p", { class: "soft" }, error.message));
    }
  };
  return button("Why?", toggle, { class: "small quiet", "aria-expanded": "false" });
}

function row(item, entry, correct) {
  const reasons = h("td", { colspan: 4 });
  const line = h(
    "tr",
    null,
    h("th", { scope: "row" }, entry.path),
    h("td", null, entryMark(entry)),
    h(
      "td",
      { class: "chance" },
      entry.probability !== null &&
        entry.probability !== undefined && [bar(entry.probability), percent(entry.probability)],
    ),
    h(
      "td",
      { class: "row-actions" },
      yesNo(entry.state, (answer) => correct(entry, answer)),
      whyButton(item, entry.concept, reasons),
    ),
  );
  return [line, h("tr", { class: "why-row" }, reasons)];
}

// Opens the dialog; `first` are concepts to list on top (those just answered). `send` posts answers, `settled` awaits them.
export async function openItem(number, { send, settled, first = [], closed = () => {} }) {
  const table = h("tbody");
  const media = h("div", { class: "dialog-media" });
  const box = dialog(
    "Item",
    media,
    h(
      "table",
      { class: "entries" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          ["Concept", "Known", "Model", "Correct it"].map((title) => h("th", { scope: "col" }, title)),
        ),
      ),
      table,
    ),
  );
  box.classList.add("item-dialog");
  box.addEventListener("close", closed);

  async function load() {
    let found;
    try {
      found = await get(`/api/predictions/${number}`);
    } catch (error) {
      table.replaceChildren(h("tr", null, h("td", { colspan: 4 }, error.message)));
      return;
    }
    const place = new Map(first.map((concept, index) => [concept, index - first.length]));
    const entries = found.entries.toSorted(
      (one, other) => (place.get(one.concept) ?? 0) - (place.get(other.concept) ?? 0),
    );
    media.replaceChildren(itemView(found.item, "dialog-size"));
    box.querySelector("h2").textContent = found.item.id;
    const focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
    table.replaceChildren(...entries.flatMap((entry) => row(number, entry, correct)));
    if (focused > 0) box.querySelectorAll("button")[focused]?.focus();
  }

  async function correct(entry, answer) {
    send([{ item: number, concept: entry.concept, answer }], {}, entry.disputed);
    announce(`${entry.path}: ${answer}`);
    await settled();
    await load();
  }

  await load();
  return box;
}
