import assert from "node:assert/strict";
import { test } from "node:test";
import { likeliest, strengths, told } from "../../src/ramify/web/static/marking.js";

const WORDS = {
  pieces: [
    { text: "The", word: 0 },
    { text: " ", word: null },
    { text: "Cat", word: 1 },
    { text: " purrs, ", word: null },
    { text: "cat", word: 1 },
    { text: "!", word: null },
    { text: "so", word: 2 },
  ],
  concepts: [
    { concept: 7, probability: 0.8, without: [0.79, 0.3, 0.9] },
    { concept: 9, probability: 0.9, without: [0.9, 0.9, 0.9] },
  ],
};

test("a word is marked by how much it raises the odds, and not where it lowers them", () => {
  // The odds 4 fall to 3.76, to 0.43 and rise to 9.
  assert.deepEqual(strengths(WORDS.concepts[0]), [0, 3, 0]);
  assert.deepEqual(strengths({ probability: 0.5, without: [0.44, 0.3, 0.16, 0.45] }), [1, 2, 3, 0]);
});

test("a change that would not be seen in per cent is not marked", () => {
  assert.deepEqual(strengths({ probability: 1, without: [1, 0.991, 0.98] }), [0, 0, 3]);
  assert.deepEqual(strengths({ probability: 0, without: [0, 0] }), [0, 0]);
});

test("the words are told as they stand first in the text, with what is said without them", () => {
  assert.deepEqual(told(WORDS, 7), [{ word: 1, text: "Cat", without: 0.3 }]);
  assert.deepEqual(told(WORDS, 9), []);
});

test("the likeliest concept comes first", () => {
  assert.deepEqual(likeliest(WORDS), [9, 7]);
});
