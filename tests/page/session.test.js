import assert from "node:assert/strict";
import { test } from "node:test";
import { Session } from "../../src/ramify/web/static/session.js";
import { LocalStore } from "../../src/ramify/web/static/storage.js";
import { GRID, GROUP, NO, SINGLE, SKIP, YES } from "../../src/ramify/web/static/words.js";
import { FakeStorage } from "./stand_ins.js";

const CONCEPTS = [
  { concept: 10, name: "animal", parent: null },
  { concept: 11, name: "cat", parent: 10 },
  { concept: 12, name: "dog", parent: 10 },
];

const group = (item, concepts = [11, 12]) => ({
  mode: GROUP,
  concept: 10,
  item: { item },
  entries: concepts.map((concept) => ({ item, concept, name: `concept ${concept}` })),
});

function setUp(storage = new FakeStorage(), ofTab = new FakeStorage()) {
  const clock = { ticks: 0, date: 0 };
  const session = new Session({
    store: new LocalStore(() => storage),
    tabStore: new LocalStore(() => ofTab),
    ticks: () => clock.ticks,
    date: () => clock.date,
  });
  session.concepts = new Map(CONCEPTS.map((concept) => [concept.concept, concept]));
  return { session, clock, storage };
}

// As the page does it: what is shown is answered, and the next question comes.
function answer(session, answers, key) {
  const { task, chosen } = session;
  session.remember({ key, answers, task, chosen });
  session.next();
}

const itemsOf = (tasks) => tasks.map((task) => task.item.item);

test("name and mode are kept in the browser, and are what they were when the page is opened again", () => {
  const { session, storage } = setUp();
  assert.deepEqual([session.annotator, session.mode], ["", GROUP]);
  session.annotator = "Ada";
  session.mode = GRID;
  const again = setUp(storage).session;
  assert.deepEqual([again.annotator, again.mode], ["Ada", GRID]);
  storage.setItem("ramify:mode", "a mode of a later version");
  assert.equal(setUp(storage).session.mode, GROUP);
});

test("a browser that stores nothing has a session all the same", () => {
  const { session } = setUp(null);
  session.annotator = "Ada";
  session.mode = SINGLE;
  assert.deepEqual([session.annotator, session.mode], ["Ada", SINGLE]);
});

test("modes follow each other in a circle", () => {
  const { session } = setUp();
  const seen = [];
  for (let times = 0; times < 4; times += 1) {
    seen.push(session.mode);
    session.mode = session.nextMode;
  }
  assert.deepEqual(seen, [GROUP, SINGLE, GRID, GROUP]);
});

test("questions come in the order they were sent, none of them twice", () => {
  const { session } = setUp();
  assert.deepEqual(itemsOf(session.take([group(1), group(2)])), [1, 2]);
  session.next();
  assert.deepEqual(itemsOf(session.take([group(1), group(2), group(3, [12]), group(3), group(4)])), [3, 4]);
  const seen = [];
  while (session.task) {
    seen.push(session.task.item.item);
    session.next();
  }
  assert.deepEqual(seen, [1, 2, 3, 4]);
});

test("a question that lay ready for longer than its lease is not shown any more", () => {
  const { session, clock } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  clock.date = 8 * 60 * 1000;
  session.take([group(3)]);
  clock.date = 10 * 60 * 1000;
  session.next();
  assert.equal(session.task.item.item, 3);
});

test("nothing ends a question in the first quarter of a second after it has appeared", () => {
  const { session, clock } = setUp();
  clock.ticks = 5000;
  session.take([group(1), group(2)]);
  session.next();
  assert.equal(session.unread, true);
  clock.ticks += 249;
  assert.equal(session.unread, true);
  clock.ticks += 1;
  assert.equal(session.unread, false);
  session.toggle(session.task.entries[0]);
  assert.equal(session.unread, false);
  session.next();
  assert.equal(session.unread, true);
});

test("the chosen entries are yes and the others no, or all of them the same", () => {
  const { session } = setUp();
  session.take([group(1)]);
  session.next();
  const [cat, dog] = session.task.entries;
  assert.deepEqual([session.toggle(dog), session.toggle(cat), session.toggle(cat)], [true, true, false]);
  const said = (answers) => answers.map(({ item, concept, answer: word }) => [item, concept, word]);
  assert.deepEqual(said(session.answers()), [
    [1, 11, NO],
    [1, 12, YES],
  ]);
  assert.deepEqual(said(session.answers(SKIP)), [
    [1, 11, SKIP],
    [1, 12, SKIP],
  ]);
});

test("undo goes back in the opposite order, and what it pushes aside comes next", () => {
  const { session } = setUp();
  session.take([group(1), group(2), group(3)]);
  session.next();
  session.toggle(session.task.entries[1]);
  answer(session, session.answers(), "first");
  answer(session, session.answers(SKIP), "second");
  assert.equal(session.task.item.item, 3);

  assert.equal(session.takeBack().key, "second");
  assert.equal(session.task.item.item, 2);
  assert.equal(session.chosen.size, 0);
  assert.deepEqual(
    session.said.map(({ answer: word }) => word),
    [SKIP, SKIP],
  );
  assert.equal(session.takeBack().key, "first");
  assert.equal(session.task.item.item, 1);
  assert.deepEqual([...session.chosen], ["1:12"]);
  assert.equal(session.takeBack(), null);

  answer(session, session.answers(), "first again");
  assert.equal(session.task.item.item, 2);
  assert.deepEqual(session.said, []);
  answer(session, session.answers(), "second again");
  assert.equal(session.task.item.item, 3);
});

test("what is chosen after an undo does not change what was chosen before", () => {
  const { session } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  session.toggle(session.task.entries[0]);
  answer(session, session.answers(), "first");
  const { chosen } = session.past[0];
  session.takeBack();
  session.toggle(session.task.entries[1]);
  assert.deepEqual([...chosen], ["1:11"]);
});

test("a refused answer is not undone, and a correction brings no question back", () => {
  const { session } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  answer(session, session.answers(), "kept");
  session.remember({ key: "correction", answers: [{ item: 9, concept: 11, answer: YES }] });
  session.remember({ key: "refused", answers: [] });
  session.forget("refused");
  assert.equal(session.takeBack().key, "correction");
  assert.equal(session.task.item.item, 2);
  assert.equal(session.takeBack().key, "kept");
  assert.equal(session.task.item.item, 1);
});

test("the server's word about what was undone counts, until somebody answers anew", () => {
  const { session } = setUp();
  session.take([group(1)]);
  session.next();
  const { task } = session;
  const undone = (cat, dog) => [
    { item: 1, concept: 11, answer: cat },
    { item: 1, concept: 12, answer: dog },
  ];
  session.showAgain(task, new Set(["1:11"]), undone(YES, NO));
  assert.equal(session.restore(task, undone(NO, YES)), true);
  assert.deepEqual([...session.chosen], ["1:12"]);
  assert.equal(session.restore(task, undone(SKIP, SKIP)), true);
  assert.deepEqual([...session.chosen], ["1:12"]); // a skip says nothing about what was chosen
  assert.equal(session.restore(task, [{ item: 1, concept: 10, answer: NO }]), true);
  assert.deepEqual([...session.chosen], ["1:12"]);
  session.toggle(task.entries[0]);
  assert.equal(session.restore(task, undone(NO, NO)), false);
  assert.deepEqual([...session.chosen], ["1:12", "1:11"]);
  assert.equal(session.restore(group(2), undone(NO, NO)), false);
});

test("above the topmost concepts there is none that could be wrong", () => {
  const { session } = setUp();
  const tasks = [
    [group(1), "animal"],
    [{ ...group(2), mode: SINGLE, concept: 11 }, "animal"],
    [{ ...group(3, [10]), concept: null, path: [] }, undefined],
    [{ ...group(4, [10]), mode: SINGLE, concept: 10 }, undefined],
  ];
  assert.equal(session.parent, null);
  for (const [task, name] of tasks) {
    session.show(task);
    assert.equal(session.parent?.name, name);
  }
});

test("another mode or name starts anew, and late questions of the former one can be told", () => {
  const { session } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  const { round } = session;
  session.restart();
  assert.notEqual(session.round, round);
  assert.deepEqual([session.task, session.ready], [null, []]);
});

test("a pause of more than a minute is no work", () => {
  const { session, clock } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  const after = (milliseconds) => {
    clock.ticks += milliseconds;
    return session.seconds;
  };
  assert.equal(after(4000), 4);
  clock.ticks += 59_000;
  session.sign();
  assert.equal(session.seconds, 63);
  assert.equal(after(61_000), 63);
  assert.equal(after(2000), 65);
  session.next();
  assert.equal(session.seconds, 0);
});

test("a tab that is loaded again is the same, another one is not, nor a copy of an open one", () => {
  const ofTab = new FakeStorage();
  const { session } = setUp(undefined, ofTab);
  const copy = setUp(undefined, new FakeStorage(Object.fromEntries(ofTab.content))).session;
  assert.notEqual(copy.tab, session.tab);
  session.leave();
  assert.equal(setUp(undefined, ofTab).session.tab, session.tab);
});

test("a question that was begun stays when the mode changes, and nothing is fetched beside it", () => {
  const { session } = setUp();
  session.take([group(1), group(2)]);
  session.next();
  session.toggle(session.task.entries[0]);
  session.mode = GRID;
  session.restart({ keep: true });
  assert.equal(session.task.item.item, 1);
  assert.equal(session.chosen.size, 1);
  assert.equal(session.leftOver, true);
  session.next();
  assert.equal(session.leftOver, false);
});

test("what is kept to be undone does not grow without end", () => {
  const { session } = setUp();
  for (let number = 0; number < 500; number += 1) session.remember({ key: String(number), answers: [] });
  assert.equal(session.past.length, 50);
  assert.equal(session.takeBack().key, "499");
});
