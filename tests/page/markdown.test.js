import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks } from "../../src/ramify/web/static/markdown.js";

test("lines become headings, items and paragraphs", () => {
  const made = blocks("# Title\nOne\ntwo.\n\nThree.\r\n- a\n  more\n- b\n1. c");
  assert.deepEqual(
    made.map(({ kind, text }) => [kind, text]),
    [
      ["heading", "Title"],
      ["text", "One two."],
      ["text", "Three."],
      ["item", "a more"],
      ["item", "b"],
      ["item", "c"],
    ],
  );
});
