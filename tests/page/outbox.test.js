import assert from "node:assert/strict";
import { test } from "node:test";
import { Away, Refused } from "../../src/ramify/web/static/api.js";
import { Outbox } from "../../src/ramify/web/static/outbox.js";
import { LocalStore } from "../../src/ramify/web/static/storage.js";
import { FakeStorage, turns } from "./stand_ins.js";

// An outbox whose server and clock are played by the test: `server` gets each request and answers or throws.
function setUp({ server = () => ({}), storage = new FakeStorage(), project = "p" } = {}) {
  const seen = { sent: [], pauses: [], refused: [], done: [], changes: 0 };
  const page = new EventTarget();
  const ends = [];
  const outbox = new Outbox(project, {
    changed: () => {
      seen.changes += 1;
    },
    refused: (sentence, body) => seen.refused.push([sentence, body.annotator]),
    send: async (path, body) => {
      seen.sent.push([path, body]);
      return server(path, body, seen.sent.length);
    },
    store: new LocalStore(() => storage),
    pause: (milliseconds) => {
      seen.pauses.push(milliseconds);
      return new Promise((resolve) => ends.push(resolve));
    },
    page,
  });
  const add = (annotator) => outbox.add("/api/answers", { annotator }, (result) => seen.done.push([annotator, result]));
  const wait = async () => {
    ends.shift()();
    await turns();
  };
  return { outbox, storage, seen, page, add, wait };
}

const who = (seen) => seen.sent.map(([, body]) => body.annotator);
const away = () => {
  throw new Away("The server does not answer.");
};

test("an answer is sent at once, and forgotten when the server has it", async () => {
  const { outbox, storage, seen, add } = setUp({ server: () => ({ saved: 1 }) });
  const key = add("Ada");
  assert.equal(storage.length, 1);
  assert.equal(outbox.empty, false);
  await outbox.settled();
  assert.deepEqual(seen.sent, [["/api/answers", { key, annotator: "Ada" }]]);
  assert.deepEqual(seen.done, [["Ada", { saved: 1 }]]);
  assert.equal(storage.length, 0);
  assert.equal(outbox.empty, true);
  assert.ok(seen.changes > 1);
});

test("answers go one after the other, each once, however many are added meanwhile", async () => {
  const replies = [];
  const { outbox, seen, add } = setUp({ server: () => new Promise((resolve) => replies.push(resolve)) });
  for (const name of ["a", "b", "c"]) add(name);
  for (const sent of [["a"], ["a", "b"], ["a", "b", "c"]]) {
    await turns();
    assert.deepEqual(who(seen), sent);
    if (sent.length === 2) outbox.drain(); // somebody else asks for it: no second round begins
    replies.shift()({});
  }
  await outbox.settled();
  assert.deepEqual(who(seen), ["a", "b", "c"]);
  assert.equal(new Set(seen.sent.map(([, body]) => body.key)).size, 3);
});

test("while the server is away it is tried again, less and less often, under the same key", async () => {
  const { outbox, storage, seen, add, wait } = setUp({ server: (_, __, times) => (times < 8 ? away() : {}) });
  add("a");
  add("b");
  await turns();
  assert.equal(outbox.problem.message, "The server does not answer.");
  for (let times = 0; times < 6; times += 1) await wait();
  assert.deepEqual(seen.pauses, [400, 800, 1600, 3200, 6400, 8000, 8000]);
  assert.equal(storage.length, 2);
  assert.deepEqual(seen.done, []);
  await wait();
  assert.equal(outbox.problem, null);
  assert.deepEqual(who(seen), [..."aaaaaaaa", "b"]);
  assert.equal(new Set(seen.sent.map(([, body]) => body.key)).size, 2);
  assert.deepEqual(
    seen.done.map(([name]) => name),
    ["a", "b"],
  );
});

test("after a success the pauses start short again", async () => {
  const { seen, add, wait } = setUp({ server: (_, __, times) => (times === 4 ? {} : away()) });
  add("a");
  add("b");
  await turns();
  for (let times = 0; times < 3; times += 1) await wait();
  assert.deepEqual(seen.pauses, [400, 800, 1600, 400]);
});

test("a pause ends when the browser is online again or the page is looked at", async () => {
  for (const event of ["online", "focus"]) {
    const { outbox, seen, page, add } = setUp({ server: (_, __, times) => (times === 1 ? away() : {}) });
    add("a");
    await turns();
    assert.equal(seen.sent.length, 1);
    page.dispatchEvent(new Event(event));
    await outbox.settled();
    assert.equal(seen.sent.length, 2);
  }
});

test("what the server refuses is reported and does not hold up the rest", async () => {
  const { outbox, storage, seen, add } = setUp({
    server: (_, body) => {
      if (body.annotator === "bad") throw new Refused("there is no item 7");
      return {};
    },
  });
  add("bad");
  add("good");
  await outbox.settled();
  assert.deepEqual(seen.refused, [["there is no item 7", "bad"]]);
  assert.deepEqual(seen.done, [["good", {}]]);
  assert.equal(storage.length, 0);
});

test("what a former visit left is sent first, in its order, under its keys", async () => {
  const storage = new FakeStorage();
  const before = setUp({ storage, server: away });
  const keys = [before.add("a"), before.add("b"), before.add("c")];
  await turns();

  const { outbox, seen, add } = setUp({ storage });
  assert.equal(outbox.waiting.length, 3);
  keys.push(add("d"));
  await outbox.settled();
  assert.deepEqual(who(seen), ["a", "b", "c", "d"]);
  assert.deepEqual(
    seen.sent.map(([, body]) => body.key),
    keys,
  );
  assert.equal(storage.length, 0);
});

test("the order holds where the clock is set back in between", async (context) => {
  const storage = new FakeStorage();
  const times = [5000, 1000, 2000];
  context.mock.method(Date, "now", () => times.shift() ?? 0);
  const before = setUp({ storage, server: away });
  for (const name of ["a", "b", "c"]) before.add(name);
  const { outbox } = setUp({ storage });
  assert.deepEqual(
    outbox.waiting.map(({ body }) => body.annotator),
    ["a", "b", "c"],
  );
});

test("two tabs never overwrite each other, and another project is left alone", async () => {
  const storage = new FakeStorage({ "ramify:mode": "grid" });
  const tabs = [setUp({ storage, server: away }), setUp({ storage, server: away })];
  for (const tab of tabs) tab.add("same moment");
  const other = setUp({ storage, server: away, project: "q" });
  other.add("elsewhere");
  const { outbox } = setUp({ storage });
  assert.equal(outbox.waiting.length, 2);
  await outbox.drain();
  assert.deepEqual(
    setUp({ storage, project: "q" }).outbox.waiting.map(({ body }) => body.annotator),
    ["elsewhere"],
  );
  assert.equal(storage.getItem("ramify:mode"), "grid");
});

test("what is damaged in the storage is passed over", async () => {
  const storage = new FakeStorage({ "ramify:p:outbox:0000000000000001:x": "{half" });
  const { outbox, seen, add } = setUp({ storage });
  add("a");
  await outbox.settled();
  assert.deepEqual(who(seen), ["a"]);
});

test("a browser that stores nothing sends all the same, and warns before the page is left", async () => {
  const replies = [];
  const { outbox, page, seen, add } = setUp({
    storage: null,
    server: () => new Promise((resolve) => replies.push(resolve)),
  });
  const leave = () => !page.dispatchEvent(new Event("beforeunload", { cancelable: true }));
  assert.equal(leave(), false);
  add("a");
  await turns();
  assert.equal(leave(), true);
  replies.shift()({});
  await outbox.settled();
  assert.deepEqual(who(seen), ["a"]);
  assert.equal(leave(), false);
});

test("a mistake in what follows an answer does not stop the next one", async () => {
  const { outbox, storage, seen, add } = setUp();
  outbox.waiting.push({ name: "ramify:p:outbox:1:x", path: "/api/undo", body: {} });
  outbox.handlers.set("ramify:p:outbox:1:x", () => {
    throw new TypeError("a mistake of ours");
  });
  await assert.rejects(outbox.drain(), /a mistake of ours/);
  add("a");
  await outbox.settled();
  assert.equal(seen.sent.length, 2);
  assert.equal(storage.length, 0);
});
