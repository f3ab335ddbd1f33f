// Why an entry is known, and what contradicts what, in sentences.

import { bdi, h } from "./dom.js";
import { SKIP, UNDO } from "./words.js";

const two = (number) => String(number).padStart(2, "0");

// As the clock on the wall says it where the page is read.
export function moment(seconds) {
  const at = new Date(1000 * seconds);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

// Statements that cannot all be true, one after the other.
export const statements = (said) =>
  said.map(({ path, value, source }, index) => [index > 0 && ", ", bdi(path), `: ${value} (${source})`]);

const RULES = {
  "parent-irrelevant": (name) => ["it is no, because ", name, ", above it, is no"],
  "child-relevant": (name) => ["it is yes, because ", name, ", below it, is yes"],
  "no-child": (name) => ["it is no, because all that there is below ", name, " is no"],
  "last-child": (name) => ["it is yes, because ", name, " is yes and all the others below that are no"],
};

const KINDS = {
  answer: ({ annotator, answer, at, settles }) => {
    const verbs = { [UNDO]: "took an answer back", [SKIP]: "skipped it" };
    return [bdi(annotator), ` ${verbs[answer] ?? `said ${answer}`} on ${moment(at)}`, settles && ", which settled it"];
  },
  import: ({ value }) => `it was imported as ${value}`,
  deduction: ({ rule, path }) => RULES[rule](bdi(path)),
  contradiction: ({ said }) => ["it is set aside, because these cannot all be true: ", statements(said)],
};

export function reasonList(reasons) {
  if (!reasons.length) return h("p", { class: "soft" }, "Nobody has said anything about it, and nothing follows.");
  return h(
    "ul",
    { class: "reasons" },
    reasons.map((reason) => h("li", null, KINDS[reason.kind](reason))),
  );
}
