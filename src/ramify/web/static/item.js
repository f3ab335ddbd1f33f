// One item with all its entries: what is known, why, what the model believes; each can be corrected in place.

import { get } from "./api.js";
import { announce, bar, button, dialog, entryMark, h, icon, itemView, openWhole, percent } from "./dom.js";
import { openFlag } from "./flag.js";
import { legend, lookAtWords, markedText } from "./marking.js";
import { reasonList } from "./reasons.js";
import { NO, SKIP, UNKNOWN, YES } from "./words.js";

// Whether only an answer that settles changes what is known of an entry.
export const takesLastWord = ({ disputed, contradicted, settled }) => disputed || contradicted || settled;

// Yes and no beside an entry; the known one is pressed.
export function yesNo(state, say, words = ["Yes", "No"]) {
  const choice = (answer, word) =>
    button(word, () => say(answer), { class: "small", "aria-pressed": String(state === answer) });
  return h("span", { class: "yes-no" }, choice(YES, words[0]), choice(NO, words[1]));
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
      const { reasons } = await get("/api/why", { item, concept });
      const list = reasonList(reasons);
      place.replaceChildren(list);
      announce(list.textContent);
    } catch (error) {
      place.replaceChildren(h("p", { class: "soft" }, error.message));
    }
  };
  return button("Why?", toggle, { class: "small quiet why", "aria-expanded": "false", "data-concept": concept });
}

function row(item, entry, correct, mark) {
  const known = entry.probability !== null && entry.probability !== undefined;
  const reasons = h("td", { colspan: 4 });
  const line = h(
    "tr",
    null,
    h("th", { scope: "row", dir: "auto" }, entry.path),
    h("td", null, entryMark(entry)),
    h("td", { class: "chance" }, known && [bar(entry.probability), percent(entry.probability)]),
    h(
      "td",
      { class: "row-actions" },
      yesNo(entry.state, (answer) => correct(entry, answer)),
      whyButton(item, entry.concept, reasons),
      known && mark && button("Words", () => mark(entry), { class: "small quiet" }),
    ),
  );
  return [line, h("tr", { class: "why-row" }, reasons)];
}

// Opens the dialog; `first` are concepts to list on top, of which `own` was just answered here: who changes their own
// answer does not overturn what somebody settled, as of a gold question. `send` posts answers, `settled` awaits them.
export async function openItem(number, { send, settled, first = [], own = false, closed = () => {} }) {
  const table = h("tbody");
  let unfolded = false; // whether the rest was asked for
  const media = h("div", { class: "dialog-media" });
  const flags = h("p", { class: "dialog-flags" });
  const titles = ["Concept", "Known", "Model", "Correct it"].map((title) => h("th", { scope: "col" }, title));
  const box = dialog(
    "Item",
    h("div", null, media, flags),
    h("table", { class: "entries" }, h("thead", null, h("tr", null, titles)), table),
  );
  box.classList.add("item-dialog");
  box.addEventListener("close", closed);

  async function load() {
    let known;
    try {
      known = await get(`/api/predictions/${number}`);
    } catch (error) {
      table.replaceChildren(h("tr", null, h("td", { colspan: 4 }, error.message)));
      return;
    }
    const place = new Map(first.map((concept, index) => [concept, index - first.length]));
    const order = ({ concept, disputed, contradicted }) => place.get(concept) ?? (disputed || contradicted ? -0.5 : 0);
    const entries = known.entries.toSorted((entry, other) => order(entry) - order(other));
    const top = unfolded ? entries.length : entries.filter((entry) => order(entry) < 0).length || entries.length;
    const shown = itemView(known.item, "dialog-size");
    const zoom = { class: "zoom", title: "Look closer" };
    media.replaceChildren(known.item.picture ? button(shown, () => openWhole(known.item), zoom) : shown);
    box.querySelector("h2").textContent = known.item.id;
    box.querySelector("h2").setAttribute("dir", "auto");
    const focused = [...box.querySelectorAll("button")].indexOf(document.activeElement);
    const asked = (it) => it.getAttribute("aria-expanded") === "true";
    const explained = [...table.querySelectorAll(".why")].filter(asked).map((it) => it.dataset.concept);
    const rest = entries.length - top;
    const unfold = () => {
      unfolded = true;
      load();
    };
    table.replaceChildren(
      ...entries.slice(0, top).flatMap((entry) => row(number, entry, correct, known.item.text && mark)),
      rest > 0
        ? h("tr", null, h("td", { colspan: 4 }, button(`Show the other ${rest}`, unfold, { class: "small" })))
        : "",
    );
    const open = known.entries.filter(({ state }) => state === UNKNOWN);
    const say = async (flag, note) => {
      send(
        open.map(({ concept }) => ({ item: number, concept, answer: SKIP })),
        false,
        { flag, note },
      );
      announce(`Flagged: ${flag}`);
      await settled();
      box.close();
    };
    flags.replaceChildren(
      open.length ? button([icon("flag"), "Flag this item"], () => openFlag(say), { class: "small" }) : "",
    );
    if (focused > 0) box.querySelectorAll("button")[focused]?.focus();
    // Reasons that were open, or asked for in this moment, stay open, and are those of now.
    for (const it of table.querySelectorAll(".why")) if (explained.includes(it.dataset.concept)) it.click();
  }

  // The words that speak for a concept, in place of the plain text.
  async function mark(entry) {
    let words;
    try {
      words = await lookAtWords(number, [entry.concept]);
    } catch (error) {
      words = { pieces: [], concepts: [], note: error.message };
    }
    const said = legend(words, entry.concept, () => entry.path);
    if (words.concepts.length) media.replaceChildren(markedText(words, entry.concept, "dialog-size"), said);
    else media.replaceChildren(media.firstChild, said);
    announce(said.textContent);
  }

  async function correct(entry, answer) {
    const mine = own && first.includes(entry.concept) && !entry.disputed && !entry.contradicted;
    send([{ item: number, concept: entry.concept, answer }], !mine && takesLastWord(entry));
    announce(`${entry.path}: ${answer}`);
    await settled();
    await load();
  }

  await load();
  return box;
}
