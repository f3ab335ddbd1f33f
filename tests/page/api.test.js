import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Away, download, get, post, Refused, upload } from "../../src/ramify/web/static/api.js";
import { session } from "../../src/ramify/web/static/session.js";
import { newKey } from "../../src/ramify/web/static/unique.js";

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
  session.project = null;
});

// A server that gives this response to everything; returns what it was asked.
function serve(status, body) {
  const asked = [];
  globalThis.fetch = async (path, options) => {
    asked.push([path, options]);
    return new Response(body, { status });
  };
  return asked;
}

test("what is asked for goes into the address, and what is empty stays out", async () => {
  const asked = serve(200, '{"total": 0}');
  assert.deepEqual(await get("/api/browse", { concept: 0, state: "", query: "a&b", low: null }), { total: 0 });
  assert.equal(asked[0][0], "/api/browse?concept=0&query=a%26b");
  await get("/api/project");
  assert.equal(asked[1][0], "/api/project");
});

test("every request names the project once it is known, so that no other takes it", async () => {
  const asked = serve(200, "[]");
  await get("/api/taxonomy");
  session.project = { project: "abc" };
  await post("/api/next", { annotator: "Ada" });
  assert.deepEqual(
    asked.map(([, { headers }]) => headers["X-Ramify-Project"]),
    [undefined, "abc"],
  );
  assert.equal(asked[1][1].body, '{"annotator":"Ada"}');
  assert.equal(asked[1][1].headers["Content-Type"], "application/json");
});

test("a wrong request is refused for good, with the server's sentence", async () => {
  for (const status of [400, 403, 404, 405, 413, 422]) {
    serve(status, '{"error": "there is no item 7"}');
    await assert.rejects(
      get("/api/why"),
      (error) => error instanceof Refused && error.message === "there is no item 7",
    );
  }
});

test("a request that may work later waits; some need a person first", async () => {
  for (const [status, locked] of [
    [401, true],
    [409, true],
    [408, false],
    [429, false],
    [500, false],
    [503, false],
  ]) {
    serve(status, '{"error": "not now"}');
    await assert.rejects(
      post("/api/answers", {}),
      (error) => error instanceof Away && error.locked === locked && error.message === "not now",
    );
  }
});

test("what is no answer of Ramify's is no answer", async () => {
  serve(200, "<html>some proxy</html>");
  await assert.rejects(get("/api/status"), Away);
  serve(502, "<html>some proxy</html>");
  await assert.rejects(get("/api/status"), { message: "The server answered 502." });
  globalThis.fetch = async () => {
    throw new TypeError("fetch failed");
  };
  await assert.rejects(get("/api/status"), { message: "The server does not answer." });
});

test("keys differ, and fit what the server takes", () => {
  const keys = new Set(Array.from({ length: 100 }, newKey));
  assert.equal(keys.size, 100);
  for (const key of keys) assert.match(key, /^[A-Za-z0-9._:-]{8,64}$/);
});

test("of a list each value goes into the address; files go as they are, and come as they are", async () => {
  const asked = serve(200, "a,b");
  const blob = await download("/api/export", { what: "labels", safe: "", concept: [3, 4] });
  assert.equal(await blob.text(), "a,b");
  assert.equal(asked[0][0], "/api/export?what=labels&concept=3&concept=4");
  serve(400, '{"error": "no model yet"}');
  await assert.rejects(download("/api/export", {}), { message: "no model yet" });
  const sent = serve(200, '{"said": []}');
  await upload("/api/import", { name: "a b.csv" }, "bytes");
  assert.equal(sent[0][0], "/api/import?name=a+b.csv");
  assert.equal(sent[0][1].headers["Content-Type"], "application/octet-stream");
  assert.equal(sent[0][1].body, "bytes");
});
