import assert from "node:assert/strict";
import { test } from "node:test";
import { paged, requests, summary } from "../../src/ramify/web/static/history.js";
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

const past = (...sizes) => {
  let seq = 1000;
  return sizes.flatMap((size, group) =>
    Array.from({ length: size }, () => ({ ...said(YES, "a", { at: -group }), seq: seq-- })),
  );
};
const sizes = ({ shown }) => shown.map((answers) => answers.length);

test("a page holds whole requests, and says before which answer the next begins", () => {
  const some = paged(past(3, 2, 4, 1), 3, 200);
  assert.deepEqual([sizes(some), some.next], [[3, 2, 4], 992]);
  const last = paged(past(3, 2), 3, 200);
  assert.deepEqual([sizes(last), last.next], [[3, 2], null]);
  assert.deepEqual(paged([], 3, 200), { shown: [], next: null });
});

test("a request that was cut off by the limit begins the next page, unless it is alone", () => {
  const cut = paged(past(3, 2), 3, 5);
  assert.deepEqual([sizes(cut), cut.next], [[3], 998]);
  const long = paged(past(5), 3, 5);
  assert.deepEqual([sizes(long), long.next], [[5], 996]);
});
