// People: who answered how much, how quickly, what they skip, how often others say the same, and how often they are right.

import { get } from "./api.js";
import { ago, bdi, h, percent } from "./dom.js";

const count = (number) => number.toLocaleString("en-GB");
const COLUMNS = [
  "Name",
  "Yes",
  "No",
  "Skips",
  "Undone",
  "Seconds a screen",
  "Screens",
  "Agree",
  "Gold right",
  "Last answer",
];

// Skips as a share of what was answered or skipped.
export const skipping = ({ yes, no, skip }) => (yes + no + skip ? skip / (yes + no + skip) : null);

function row(person) {
  const { name, yes, no, skip, undone, seconds, screens, agreement, gold, right, last } = person;
  const cells = [
    count(yes),
    count(no),
    skip ? `${count(skip)} (${percent(skipping(person))})` : "0",
    count(undone),
    seconds === null ? "–" : seconds.toFixed(1),
    count(screens),
    percent(agreement) || "–",
    gold ? `${count(right)} of ${count(gold)}` : "–",
    ago(last),
  ];
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, bdi(name)),
    cells.map((cell) => h("td", null, cell)),
  );
}

export function peoplePart() {
  const place = h("div", null, h("p", { class: "soft" }, "…"));
  load(place);
  return [place];
}

async function load(place) {
  try {
    const people = await get("/api/people");
    if (!people.length) {
      place.replaceChildren(h("p", { class: "soft" }, "Nobody has answered anything yet."));
      return;
    }
    const head = h(
      "tr",
      null,
      COLUMNS.map((title) => h("th", { scope: "col" }, title)),
    );
    place.replaceChildren(
      h(
        "div",
        { class: "people-table", tabindex: 0, role: "region", "aria-label": "Everybody who answered" },
        h("table", null, h("thead", null, head), h("tbody", null, people.map(row))),
      ),
      h(
        "p",
        { class: "soft" },
        "Seconds are the median of screens whose time is known, pauses left out. Agree: how often others said the same of the same entries. Gold: questions whose answer is known.",
      ),
    );
  } catch (error) {
    place.replaceChildren(h("p", { class: "trouble" }, error.message));
  }
}
