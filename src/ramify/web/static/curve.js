// The learning curve as inline SVG: leave-one-out precision against answers given.

import { h, svg } from "./dom.js";

export const SIZE = { width: 300, height: 150, left: 34, right: 34, top: 10, bottom: 24 };
const MOST_LINES = 3;
export const FEWEST = 30; // completely known items below which nothing is shown as a trend
const LETTERING = 11; // pixels between the names of two lines at least
const DASHES = [null, "5 4", "2 3"]; // lines differ by more than colour

// Whole tenths from low to high, six of them at most.
export function ticks(low, high) {
  const step = high - low > 0.5 + 1e-9 ? 0.2 : 0.1;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step);
}

export const short = (number) => (number >= 10000 ? `${Math.round(number / 1000)}k` : String(number));

// Points of former versions do not say from how many items they come.
const enough = ({ items }) => items === undefined || items >= FEWEST;

// Where a share lies that was measured on so many items, 95 times of 100 (Wilson).
export function interval(share, items) {
  if (!items) return [share, share];
  const z = 1.96;
  const middle = (share + (z * z) / (2 * items)) / (1 + (z * z) / items);
  const half = (z / (1 + (z * z) / items)) * Math.sqrt((share * (1 - share)) / items + (z * z) / (4 * items * items));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

// Where everything lies: of each line its places and its last value, the ticks, and the answers it goes from and to.
export function geometry(points) {
  const measures = [...new Set(points.flatMap((point) => Object.keys(point)))].filter((name) => /^p@\d+$/i.test(name));
  const series = measures
    .slice(0, MOST_LINES)
    .map((name) => ({ name, points: points.filter((point) => typeof point[name] === "number" && enough(point)) }))
    .filter((line) => line.points.length);
  if (!series.length) return null;
  const values = series.flatMap((line) => line.points.map((point) => point[line.name]));
  const answers = series.flatMap((line) => line.points.map((point) => point.answers));
  const from = Math.min(...answers);
  const to = Math.max(...answers, from + 1);
  const low = Math.max(0, Math.floor(Math.min(...values) * 10 - 0.2) / 10);
  const high = Math.min(1, Math.ceil(Math.max(...values) * 10 + 0.2) / 10);
  const { width, height, left, right, top, bottom } = SIZE;
  const x = (value) => left + ((value - from) / (to - from)) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low || 1)) * (height - top - bottom);
  const clamped = (value) => y(Math.min(high, Math.max(low, value)));
  const bandOf = ({ name, points: listed }) => {
    const known = listed.filter(({ items }) => items);
    const edge = (side) => known.map((point) => [x(point.answers), clamped(interval(point[name], point.items)[side])]);
    return known.length > 1 ? [...edge(1), ...edge(0).reverse()] : [];
  };
  const lines = series.map((line) => {
    const places = line.points.map((point) => [x(point.answers), y(point[line.name])]);
    const newest = line.points.at(-1);
    return {
      name: line.name,
      places,
      band: bandOf(line),
      last: newest[line.name],
      items: newest.items,
      label: places.at(-1)[1],
    };
  });
  let lowest = -Infinity;
  for (const line of lines.toSorted((line, other) => line.label - other.label)) {
    line.label = Math.max(line.label, lowest + LETTERING); // names must not lie on each other
    lowest = line.label;
  }
  return { lines, from, to, ticks: ticks(low, high).map((value) => ({ value, y: y(value) })) };
}

const listed = (places) => places.map((place) => place.map((value) => value.toFixed(1)).join(",")).join(" ");

function drawLine({ name, places, band, label }, index) {
  const [[x, y]] = places;
  return [
    index === 0 && band.length > 0 && svg("polygon", { class: "band", points: listed(band) }),
    svg("polyline", {
      class: `line line-${index}`,
      "stroke-dasharray": DASHES[index],
      points: listed(places),
    }),
    places.length === 1 && svg("circle", { class: `dot line-${index}`, cx: x, cy: y, r: 3 }),
    svg("text", { class: "line-name", x: SIZE.width - SIZE.right + 4, y: label + 3 }, name.toUpperCase()),
  ];
}

export function learningCurve(points) {
  const curve = geometry(points);
  if (!curve) {
    return h(
      "p",
      { class: "soft" },
      `The curve starts some answers after a model was trained, once ${FEWEST} items are completely known: with fewer, chance would look like a trend.`,
    );
  }
  const { lines, from, to } = curve;
  const [start, end, ground] = [SIZE.left, SIZE.width - SIZE.right, SIZE.height - 6];
  const last = lines.map((line) => `${line.name.toUpperCase()} ${line.last.toFixed(3)}`).join(", ");
  const count = lines[0].items ? `, from ${lines[0].items} items` : "";
  const label = `Leave-one-out estimate after ${to} answers${count}: ${last}`;
  return svg(
    "svg",
    { class: "curve", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": label },
    curve.ticks.map(({ value, y }) => [
      svg("line", { class: "grid-line", x1: start, x2: end, y1: y, y2: y }),
      svg("text", { x: start - 6, y: y + 3, "text-anchor": "end" }, value.toFixed(1)),
    ]),
    lines.map(drawLine),
    svg("text", { x: start, y: ground }, short(from)),
    svg("text", { x: end, y: ground, "text-anchor": "end" }, `${short(to)} answers`),
  );
}
