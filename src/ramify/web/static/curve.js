// The learning curve as inline SVG: leave-one-out precision against answers given.

import { h, svg } from "./dom.js";

const WIDTH = 300;
const HEIGHT = 150;
const LEFT = 34;
const RIGHT = 34;
const TOP = 10;
const BOTTOM = 24;
const DASHES = [null, "5 4", "2 3"]; // lines differ by more than colour

function ticks(low, high) {
  const rough = (high - low) / 3 || 0.1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step);
}

const short = (number) => (number >= 10000 ? `${Math.round(number / 1000)}k` : String(number));

export function learningCurve(points) {
  const names = [...new Set(points.flatMap((point) => Object.keys(point)))]
    .filter((name) => /^p@\d+$/i.test(name))
    .slice(0, 3);
  const known = names
    .map((name) => [name, points.filter((point) => typeof point[name] === "number")])
    .filter(([, found]) => found.length);
  if (!known.length) {
    return h("p", { class: "soft" }, "The curve starts when a model has been trained and some answers are given.");
  }
  const all = known.flatMap(([name, found]) => found.map((point) => point[name]));
  const answers = known[0][1].map((point) => point.answers);
  const [from, to] = [Math.min(...answers), Math.max(Math.max(...answers), Math.min(...answers) + 1)];
  const [low, high] = [
    Math.max(0, Math.floor(Math.min(...all) * 10 - 0.2) / 10),
    Math.min(1, Math.ceil(Math.max(...all) * 10 + 0.2) / 10),
  ];
  const x = (value) => LEFT + ((value - from) / (to - from)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const grid = ticks(low, high).map((value) => [
    svg("line", { class: "grid-line", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { x: LEFT - 6, y: y(value) + 3, "text-anchor": "end" }, value.toFixed(1)),
  ]);
  let lowest = -Infinity;
  const ends = new Map(
    known
      .map(([name, found]) => [name, y(found.at(-1)[name])])
      .sort((one, other) => one[1] - other[1])
      .map(([name, at]) => {
        lowest = Math.max(at, lowest + 11); // labels must not lie on each other
        return [name, lowest];
      }),
  );
  const lines = known.map(([name, found], index) => [
    svg("polyline", {
      class: `line line-${index}`,
      "stroke-dasharray": DASHES[index],
      points: found.map((point) => `${x(point.answers).toFixed(1)},${y(point[name]).toFixed(1)}`).join(" "),
    }),
    found.length === 1 &&
      svg("circle", { class: `dot line-${index}`, cx: x(found[0].answers), cy: y(found[0][name]), r: 3 }),
    svg("text", { class: "line-name", x: WIDTH - RIGHT + 4, y: ends.get(name) + 3 }, name.toUpperCase()),
  ]);
  const last = known.map(([name, found]) => `${name.toUpperCase()} ${found.at(-1)[name].toFixed(3)}`).join(", ");
  return svg(
    "svg",
    {
      class: "curve",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": `Leave-one-out estimate after ${to} answers: ${last}`,
    },
    grid,
    lines.flat().filter(Boolean),
    svg("text", { x: LEFT, y: HEIGHT - 6 }, short(from)),
    svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, `${short(to)} answers`),
  );
}
