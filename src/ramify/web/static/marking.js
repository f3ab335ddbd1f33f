// Which words of a text speak for a concept: marked on demand, by what the model would say without each of them.

import { get } from "./api.js";
import { bdi, button, h, percent } from "./dom.js";

const LEVELS = [1.25, 2, 5].map(Math.log); // how much a word must raise the odds of a concept to be marked, and more
const SEEN = 0.01; // a change that would not be seen in what is told is not marked
const TOLD = 5; // words whose numbers are told
const OFFERED = 6; // concepts to choose from, the likeliest ones

// Probabilities come with four digits.
const logOdds = (share) => Math.log((share + 0.00005) / (1 - share + 0.00005));

// How strongly each word is marked, from 0 (not at all) to 3.
export function strengths({ probability, without }) {
  const raised = without.map((share) => logOdds(probability) - logOdds(share));
  const seen = without.map((share) => probability - share >= SEEN);
  return raised.map((by, word) => (seen[word] ? LEVELS.filter((level) => by >= level).length : 0));
}

// The marked words in a few words: each once, the one that speaks most first, and what is said without it.
export function told({ pieces, concepts }, concept) {
  const spoken = concepts.find((one) => one.concept === concept);
  const marks = strengths(spoken);
  const first = new Map(
    pieces
      .filter(({ word }) => word !== null)
      .map(({ word, text }) => [word, text])
      .reverse(),
  );
  return spoken.without
    .map((share, word) => ({ word, text: first.get(word), without: share }))
    .filter(({ word }) => marks[word] > 0)
    .sort((one, other) => one.without - other.without)
    .slice(0, TOLD);
}

export const lookAtWords = (item, concepts) => get("/api/words", { item, concept: concepts.slice(0, 200) });

export const likeliest = ({ concepts }) =>
  concepts.toSorted((one, other) => other.probability - one.probability).map(({ concept }) => concept);

export function markedText({ pieces, concepts }, concept, kind = "large") {
  const spoken = concepts.find((one) => one.concept === concept);
  const marks = strengths(spoken);
  const part = ({ text, word }) =>
    word !== null && marks[word]
      ? h("mark", { class: `speaks speaks-${marks[word]}`, title: `${percent(spoken.without[word])} without it` }, text)
      : text;
  return h("blockquote", { class: `media text ${kind} marked`, dir: "auto" }, pieces.map(part));
}

// What is marked, in words, and for which concept; `choose` is called with another one.
export function legend(words, concept, nameOf, choose = null) {
  if (!words.concepts.length) return h("p", { class: "speaking soft", role: "status" }, words.note);
  const spoken = words.concepts.find((one) => one.concept === concept);
  const listed = told(words, concept);
  const name = () => ["“", bdi(nameOf(concept)), `” (${percent(spoken.probability)})`];
  const sentence = listed.length
    ? [
        "Marked is what speaks for ",
        name(),
        ": ",
        listed.map(({ text, without }, index) => [index > 0 && ", ", bdi(text), ` (${percent(without)} without it)`]),
        ".",
      ]
    : ["No single word speaks for ", name(), ": without any one of them the model says about the same."];
  const others = choose ? likeliest(words).slice(0, OFFERED) : [];
  return h(
    "div",
    { class: "speaking" },
    others.length > 1 &&
      h(
        "div",
        { class: "speaking-for", role: "group", "aria-label": "Words for" },
        others.map((other) =>
          button(bdi(nameOf(other)), () => choose(other), {
            class: "small",
            "aria-pressed": String(other === concept),
          }),
        ),
      ),
    h("p", { class: "soft" }, sentence, words.note && ` ${words.note}`),
  );
}
