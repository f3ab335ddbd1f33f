import assert from "node:assert/strict";
import { test } from "node:test";
import { FEWEST, geometry, interval, learningCurve, SIZE, short, ticks } from "../../src/ramify/web/static/curve.js";
import { useFakeDocument } from "./stand_ins.js";

useFakeDocument();

const near = (value, expected) => assert.ok(Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);

test("ticks are whole tenths, inside, and a handful", () => {
  const expected = [
    [0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0.4, 0.7, [0.4, 0.5, 0.6, 0.7]],
    [0.2, 0.9, [0.2, 0.4, 0.6, 0.8]],
    [0.5, 0.6, [0.5, 0.6]],
    [0.5, 0.5, [0.5]],
  ];
  for (const [low, high, values] of expected) {
    assert.deepEqual(
      ticks(low, high).map((value) => value.toFixed(9)),
      values.map((value) => value.toFixed(9)),
    );
  }
  for (let low = 0; low <= 10; low += 1) {
    for (let high = low; high <= 10; high += 1) {
      const labels = ticks(low / 10, high / 10).map((value) => value.toFixed(1));
      assert.ok(labels.length >= 1 && labels.length <= 6, `${low} to ${high}: ${labels}`);
      assert.equal(new Set(labels).size, labels.length);
    }
  }
});

test("a line goes from the left edge to the right one, and more precision lies higher", () => {
  const { lines, from, to } = geometry([
    { answers: 100, "p@1": 0.42 },
    { answers: 200, "p@1": 0.5 },
    { answers: 300, "p@1": 0.58 },
  ]);
  assert.deepEqual([from, to], [100, 300]);
  const [{ places, last }] = lines;
  near(places[0][0], SIZE.left);
  near(places[1][0], (SIZE.left + SIZE.width - SIZE.right) / 2);
  near(places[2][0], SIZE.width - SIZE.right);
  assert.ok(places[0][1] > places[1][1] && places[1][1] > places[2][1]);
  near(places[0][1] - places[1][1], places[1][1] - places[2][1]);
  assert.equal(last, 0.58);
});

test("everything lies inside, for any values", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = (index) => ((Math.sin(97 * seed + 13 * index) + 1) / 2) ** 2;
    const points = Array.from({ length: 1 + (seed % 7) }, (_, index) => ({
      answers: 10 * index + seed,
      "p@1": random(index),
      "p@3": random(index + 100),
    }));
    const { lines, ticks: marks } = geometry(points);
    const heights = [...marks.map(({ y }) => y), ...lines.flatMap(({ places }) => places.map(([, y]) => y))];
    for (const y of heights) assert.ok(y >= SIZE.top - 1e-9 && y <= SIZE.height - SIZE.bottom + 1e-9);
    for (const [x] of lines.flatMap(({ places }) => places)) assert.ok(x >= SIZE.left && x <= SIZE.width - SIZE.right);
  }
});

test("a line that began later lies where its answers are", () => {
  const { lines, from } = geometry([
    { answers: 0, "p@3": 0.5 },
    { answers: 50, "p@1": 0.4, "p@3": 0.5 },
    { answers: 100, "p@1": 0.6, "p@3": 0.5 },
  ]);
  assert.equal(from, 0);
  const late = lines.find(({ name }) => name === "p@1");
  near(late.places[0][0], (SIZE.left + SIZE.width - SIZE.right) / 2);
});

test("names of lines never lie on each other, and keep the order of the lines", () => {
  const { lines } = geometry([{ answers: 10, "p@1": 0.5, "p@3": 0.501, "p@5": 0.499 }]);
  const labels = lines.toSorted((line, other) => line.label - other.label);
  assert.deepEqual(
    labels.map(({ name }) => name),
    ["p@3", "p@1", "p@5"],
  );
  for (const index of [1, 2]) assert.ok(labels[index].label - labels[index - 1].label >= 11);
});

test("at most three measures are drawn, and nothing that is none", () => {
  const point = { answers: 5, items: 30, "p@1": 0.1, "p@2": 0.2, "p@3": null, "p@4": 0.4, "p@5": 0.5 };
  assert.deepEqual(
    geometry([point]).lines.map(({ name }) => name),
    ["p@1", "p@2"],
  );
  assert.equal(geometry([]), null);
  assert.equal(geometry([{ answers: 5, "p@1": null }]), null);
});

test("one point is a dot, several are a line, and a reader hears the last values", () => {
  const one = learningCurve([{ answers: 12345, "p@1": 0.5 }]);
  assert.equal(one.all("circle").length, 1);
  assert.ok(one.textContent.includes("12k"));
  const two = learningCurve([
    { answers: 10, "p@1": 0.5, "p@3": 0.4 },
    { answers: 20, "p@1": 0.6, "p@3": 0.45 },
  ]);
  assert.equal(two.all("circle").length, 0);
  assert.equal(two.all("polyline").length, 2);
  assert.equal(two.attributes.get("aria-label"), "Leave-one-out estimate after 20 answers: P@1 0.600, P@3 0.450");
  assert.notEqual(...two.all("polyline").map((line) => line.attributes.get("stroke-dasharray")));
});

test("without a point a sentence says when there will be one", () => {
  assert.equal(
    learningCurve([]).textContent,
    "The curve starts some answers after a model was trained, once 30 items are completely known: with fewer, chance would look like a trend.",
  );
  assert.deepEqual([short(9999), short(10000)], ["9999", "10k"]);
});

test("nothing is a trend below thirty items, and a band says how wide it is", () => {
  assert.equal(geometry([{ answers: 9, "p@1": 0.5, items: FEWEST - 1 }]), null);
  const { lines } = geometry([
    { answers: 100, "p@1": 0.5, items: 30 },
    { answers: 200, "p@1": 0.6, items: 60 },
  ]);
  assert.equal(lines[0].band.length, 4);
  assert.equal(lines[0].items, 60);
  const [low, high] = interval(0.5, 30); // statsmodels: proportion_confint(15, 30, method="wilson")
  near(Math.round(low * 1e4), 3315);
  near(Math.round(high * 1e4), 6685);
});
