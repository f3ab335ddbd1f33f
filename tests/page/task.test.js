import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenBy, isSingle, namesAbove, sameEntries, spoken } from "../../src/ramify/web/static/task.js";
import { GRID, GROUP, NO, SINGLE, YES } from "../../src/ramify/web/static/words.js";

const entry = (item, concept, name = `c${concept}`) => ({ item, concept, name });
const task = (mode, path, ...entries) => ({ mode, path, entries });

test("a group of one child is a yes/no question about that child", () => {
  const only = task(GROUP, ["animal"], entry(1, 2, "cat"));
  assert.equal(isSingle(only), true);
  assert.deepEqual(namesAbove(only), ["animal", "cat"]);
  assert.equal(spoken(only, []), "animal, cat?");
  assert.equal(isSingle(task(GRID, ["cat"], entry(1, 2))), false);
});

test("questions as they are said", () => {
  const keys = ["1"];
  const pair = [entry(1, 2, "cat"), entry(1, 3, "dog")];
  assert.equal(spoken(task(SINGLE, ["animal", "cat"], pair[0]), keys), "animal, cat?");
  assert.equal(spoken(task(GROUP, ["animal"], ...pair), keys), "animal: 1 cat, dog");
  assert.equal(spoken(task(GROUP, [], ...pair), keys), "Which of these: 1 cat, dog");
  assert.equal(spoken(task(GRID, ["animal", "cat"], ...pair), keys), "Which of 2 are animal, cat?");
});

test("the same entries in any order, no more and no fewer", () => {
  const [first, second] = [entry(1, 2), entry(1, 3)];
  assert.equal(sameEntries([first, second], [second, first]), true);
  assert.equal(sameEntries([first], [first, second]), false);
  assert.equal(sameEntries([first, entry(2, 3)], [first, second]), false);
});

test("what answers call yes is chosen, where several can be", () => {
  const answers = [
    { item: 1, concept: 2, answer: YES },
    { item: 1, concept: 3, answer: NO },
  ];
  assert.deepEqual([...chosenBy(task(GROUP, [], ...answers), answers)], ["1:2"]);
  assert.deepEqual([...chosenBy(task(SINGLE, [], answers[0]), answers.slice(0, 1))], []);
});
