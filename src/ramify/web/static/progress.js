// How far the project is: what went wrong, budget, model, learning curve, and counts on the taxonomy tree.

import { FEWEST, learningCurve } from "./curve.js";
import { ago, bdi, button, byId, h, icon, lasting, percent, svg } from "./dom.js";
import { modelLine, trainingNote } from "./training.js";
import { NO, YES } from "./words.js";

const MOST_PEOPLE = 20;
let everybody = false; // whether all people are listed

const number = (value) => value.toLocaleString("en-GB");
const title = (text, ...more) => h("h2", { class: "small-title" }, text, more);

// What the server could not do in the background; it is listed as long as it holds.
function problems(status) {
  const list = status.problems ?? [];
  if (!list.length) return null;
  const rows = list.map(({ what, at }) =>
    h("li", { class: "trouble" }, icon("wrong"), ` ${what} `, h("small", null, ago(at))),
  );
  return h("section", { class: "problem-list" }, title("Problems"), h("ul", null, rows));
}

// How far it is in words, and how much is left: what is said of quality comes from the server, in the same sentence.
function left({ progress, questions, pace, advice }) {
  const minutes = pace === null ? "" : `, about ${lasting(questions * pace)} at the pace of the last ones`;
  const more = questions ? `About ${number(questions)} questions are open now${minutes}.` : "No question is open now.";
  return h(
    "section",
    { class: "left" },
    title("Progress"),
    h("p", { class: "words" }, progress),
    h("p", null, more),
    stopping(advice),
  );
}

// Whether to go on, as the server says it.
function stopping(advice) {
  if (!advice) return null;
  const [first, ...more] = advice.said.split("; ");
  const sentence = (said) => `${said[0].toUpperCase()}${said.slice(1)}.`;
  return [h("p", null, sentence(first)), more.length > 0 && h("p", { class: "soft" }, sentence(more.join("; ")))];
}

function answered({ answers, budget, unknown }) {
  return h(
    "section",
    null,
    title("Answers"),
    h(
      "p",
      { class: "figure" },
      h("strong", null, number(answers)),
      budget ? ` of ${number(budget)}` : " given",
      h("span", { class: "soft" }, ` · ${number(unknown)} entries open`),
    ),
    budget
      ? h("progress", {
          max: budget,
          value: Math.min(answers, budget),
          "aria-label": `${answers} of ${budget} answers`,
        })
      : null,
  );
}

const model = (status, changed) =>
  h("section", null, title("Model"), modelLine(status, changed), trainingNote(status.training));

function curve(status) {
  const gains = Object.entries(status.next_100 ?? {}).filter(([, gain]) => typeof gain === "number");
  const signed = (gain) => `${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(3)}`;
  const listed = gains
    .slice(0, 3)
    .map(([name, gain], index) => [index > 0 && ", ", h("strong", null, `${signed(gain)} ${name.toUpperCase()}`)]);
  return h(
    "section",
    null,
    title("Learning curve", h("span", { class: "soft" }, " leave-one-out estimate")),
    learningCurve(status.curve),
    status.curve.at(-1)?.items >= FEWEST &&
      h("p", { class: "soft" }, `From ${number(status.curve.at(-1).items)} completely known items; the band is P@1’s.`),
    gains.length > 0 &&
      status.curve.at(-1)?.items >= FEWEST &&
      h("p", { class: "more-answers" }, "100 more answers would bring about ", listed, "."),
  );
}

function counts({ yes, no, unknown }) {
  const all = yes + no + unknown || 1;
  const part = (name, before, share) =>
    svg("rect", { class: name, x: `${(100 * before) / all}%`, width: `${(100 * share) / all}%`, height: "100%" });
  return svg("svg", { class: "counts", "aria-hidden": "true" }, part("part-yes", 0, yes), part("part-no", yes, no));
}

function tree(status, concepts, browse) {
  const counted = new Map(status.concepts.map((row) => [row.concept, row]));
  const listed = [...concepts.values()].filter(({ concept }) => counted.has(concept));
  const rows = listed.map(({ concept, name, path }) => {
    const row = counted.get(concept);
    const depth = Math.min(6, path.split(" > ").length - 1);
    return h(
      "tr",
      { class: `depth-${depth}` },
      h(
        "th",
        { scope: "row" },
        button(bdi(name), () => browse(concept), { class: "link", title: `Browse ${path}` }),
        counts(row),
      ),
      [row.yes, row.no, row.unknown].map((count) => h("td", null, number(count))),
    );
  });
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, h("span", { class: "unseen" }, "Concept")),
    [YES, NO, "open"].map((word) => h("th", { scope: "col" }, word)),
  );
  return h(
    "section",
    null,
    title("Concepts"),
    h(
      "div",
      { class: "tree", tabindex: 0, role: "region", "aria-label": "Counts of each concept" },
      h("table", null, h("thead", null, head), h("tbody", null, rows)),
    ),
  );
}

// Who answered how much, and how often they agree with others about the same entries.
function people(status) {
  const annotators = status.annotators ?? [];
  if (annotators.length < 2) return null;
  const row = ({ name, yes, no, skip, agreement }) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, bdi(name)),
      h("td", null, number(yes + no)),
      h("td", null, number(skip)),
      h("td", null, percent(agreement) || "–"),
    );
  const head = h(
    "tr",
    null,
    ["name", "answers", "skips", "agree"].map((word) => h("th", { scope: "col" }, word)),
  );
  const more = annotators.length - MOST_PEOPLE;
  const showAll = () => {
    everybody = true;
    place.replaceWith(people(status));
  };
  const listed = everybody ? annotators : annotators.slice(0, MOST_PEOPLE);
  const place = h(
    "section",
    { class: "people" },
    title("People"),
    h("table", null, h("thead", null, head), h("tbody", null, listed.map(row))),
    more > 0 && !everybody && button(`Show ${more} more`, showAll, { class: "small quiet" }),
  );
  return place;
}

export function drawProgress(status, concepts, { browse, changed }) {
  const place = byId("progress");
  const scrolled = place.querySelector(".tree")?.scrollTop ?? 0;
  const inside = [...place.querySelectorAll("button, [tabindex]")].indexOf(document.activeElement);
  const parts = [
    problems(status),
    left(status),
    answered(status),
    model(status, changed),
    curve(status),
    tree(status, concepts, browse),
    people(status),
  ];
  place.replaceChildren(...parts.filter(Boolean));
  place.querySelector(".tree").scrollTop = scrolled;
  if (inside >= 0) place.querySelectorAll("button, [tabindex]")[inside]?.focus({ preventScroll: true });
}
