import assert from "node:assert/strict";
import { test } from "node:test";
import { moment, reasonList, statements } from "../../src/ramify/web/static/reasons.js";
import { NO, SKIP, UNDO, YES } from "../../src/ramify/web/static/words.js";
import { useFakeDocument } from "./stand_ins.js";

useFakeDocument();

const at = new Date(2026, 10, 7, 9, 5).getTime() / 1000;
const sentences = (...reasons) =>
  reasonList(reasons)
    .all("li")
    .map((row) => row.textContent);

test("who said what, and when", () => {
  const said = (answer, settles = false) => ({ kind: "answer", annotator: "Ada", answer, at, settles });
  assert.deepEqual(sentences(said(YES), said(NO, true), said(SKIP), said(UNDO)), [
    "Ada said yes on 2026-11-07 09:05",
    "Ada said no on 2026-11-07 09:05, which settled it",
    "Ada skipped it on 2026-11-07 09:05",
    "Ada took an answer back on 2026-11-07 09:05",
  ]);
  assert.equal(moment(at), "2026-11-07 09:05");
});

test("what was imported, and what it follows from", () => {
  const follows = (rule, path) => ({ kind: "deduction", rule, concept: 3, path });
  assert.deepEqual(
    sentences(
      { kind: "import", value: NO },
      follows("parent-irrelevant", "animal"),
      follows("child-relevant", "animal > dog"),
      follows("no-child", "animal"),
      follows("last-child", "animal"),
    ),
    [
      "it was imported as no",
      "it is no, because animal, above it, is no",
      "it is yes, because animal > dog, below it, is yes",
      "it is no, because all that there is below animal is no",
      "it is yes, because animal is yes and all the others below that are no",
    ],
  );
});

test("statements that contradict each other", () => {
  const said = [
    { concept: 1, path: "animal", value: NO, source: "imported" },
    { concept: 2, path: "animal > dog", value: YES, source: "annotated" },
  ];
  assert.deepEqual(sentences({ kind: "contradiction", said }), [
    "it is set aside, because these cannot all be true: animal: no (imported), animal > dog: yes (annotated)",
  ]);
  assert.equal(statements(said).length, 2);
});

test("names keep their own direction, inside a sentence too", () => {
  const list = reasonList([{ kind: "answer", annotator: "דנה", answer: YES, at }]);
  assert.deepEqual(
    list.all("bdi").map((name) => [name.textContent, name.attributes.get("dir")]),
    [["דנה", "auto"]],
  );
});

test("without a reason a sentence says so", () => {
  assert.equal(reasonList([]).textContent, "Nobody has said anything about it, and nothing follows.");
});
