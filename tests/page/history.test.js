import assert from "node:assert/strict";
import { test } from "node:test";
import { requests, summary } from "../../src/ramify/web/static/history.js";
import { NO, SKIP, YES } from "../../src/ramify/web/static/words.js";

const said = (answer, path, { item = 1, at = 0 } = {}) => ({ answer, path, item: { item }, at });
const text = (answers) => {
  const { before, names, after } = summary(answers);
  return `${before}${names.join(", ")}${after}`;
};

test("the answers of one request belong together, the newest request first", () => {
  const times = [9, 9, 7, 7, 7, 8, 7];
  const groups = requests(times.map((at) => said(YES, "a", { at })));
  assert.deepEqual(
    groups.map((answers) => answers.map(({ at }) => at)),
    [[9, 9], [7, 7, 7], [8], [7]],
  );
  assert.deepEqual(requests([]), []);
});

test("a group is told by what was yes, else by what was no", () => {
  const answers = [said(NO, "animal > cat"), said(YES, "animal > dog"), said(YES, "animal > bird")];
  assert.equal(text(answers), "dog, bird");
  assert.equal(summary(answers).sign, YES);
  assert.equal(text([said(NO, "animal > cat"), said(NO, "animal > dog")]), "no cat, dog");
  assert.equal(summary([said(NO, "animal")]).sign, NO);
  assert.deepEqual(summary([said(SKIP, "animal > cat")]), { sign: SKIP, before: "skipped", names: [], after: "" });
});

test("a name said twice stands there once", () => {
  assert.equal(text([said(YES, "animal > bat"), said(YES, "sport > bat")]), "bat");
});

test("a grid is told by its concept and how many of its items are", () => {
  const words = [YES, NO, YES, NO];
  const grid = words.map((answer, item) => said(answer, "animal > dog", { item }));
  assert.equal(text(grid), "dog: 2 of 4");
  assert.equal(text(grid.map((answer) => ({ ...answer, answer: NO }))), "dog: 0 of 4");
  assert.equal(text(grid.map((answer) => ({ ...answer, answer: SKIP }))), "skipped");
});
