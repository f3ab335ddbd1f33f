import assert from "node:assert/strict";
import { test } from "node:test";
import { read, write } from "../../src/ramify/web/static/address.js";

test("what is written into the address is read from it", () => {
  for (const [view, filters] of [
    ["ask", {}],
    ["browse", { concept: "3", state: "unknown", query: "a & b = c #1" }],
    ["review", {}],
  ]) {
    assert.deepEqual(read(write(view, filters)), { view, filters });
  }
});

test("empty filters are left out, and other addresses say nothing", () => {
  assert.equal(write("browse", { concept: "", state: null, query: undefined }), "#browse");
  for (const hash of ["", "#", "#main", "#nowhere?concept=3"]) assert.equal(read(hash), null);
});
