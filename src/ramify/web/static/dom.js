// Building the page. Everything that comes from a project becomes a text node or an attribute, never markup.

import { NO, SKIP, UNKNOWN, YES } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);
export const byId = (id) => document.getElementById(id);
export const key = (name) => h("kbd", null, name);

// What people named or wrote, which may run from right to left, whatever stands around it.
export const bdi = (text) => h("bdi", { dir: "auto" }, text);

// A button that shows its key. A click by mouse gives the focus back, so that enter and space stay commands.
export function button(label, onclick, properties = {}, keyName = null) {
  const act = (event) => {
    if (event.detail > 0) event.currentTarget.blur();
    onclick(event);
  };
  return h("button", { type: "button", onclick: act, ...properties }, label, keyName && [" ", key(keyName)]);
}

const PATHS = {
  [YES]: "M3 8.5 6.5 12 13 4.5",
  [NO]: "M4 4l8 8M12 4l-8 8",
  [UNKNOWN]: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.2 8.700 8 9.200 8 10M8 12.800v.1",
  [SKIP]: "M3 4l5 4-5 4zM12.500 4v8",
  wrong: "M8 2 14.500 13.500H1.500zM8 6.500v3M8 11.600v.1",
  zoom: "M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9M10.300 10.300 14 14",
  eye: "M1.500 8s2.500-4.500 6.500-4.500S14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8zM8 6.500a1.500 1.500 0 1 1 0 3 1.500 1.500 0 0 1 0-3",
  undo: "M6 3 2.500 6.500 6 10M2.500 6.500H10a3.500 3.500 0 0 1 0 7H7",
  flag: "M3.500 14V2.500M3.500 3h8.500l-2 3 2 3H3.500",
  wait: "M8 2a6 6 0 1 0 6 6",
};

export function icon(name) {
  return svg(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("path", { d: PATHS[name] }),
  );
}

// Yes, no or unknown as a sign and a word: never by colour alone.
// What is known of an entry and why, or why nothing is.
export function entryMark({ state, source, disputed, contradicted }) {
  const open = (disputed && "people disagree") || (contradicted && "contradicts others");
  const reason = open || (source !== UNKNOWN && source);
  return [
    h("span", { class: `state state-${state}` }, icon(state), state),
    reason && h("span", { class: "soft source" }, reason),
  ];
}

export function bar(share) {
  const percent = `${Math.round(share * 1000) / 10}%`;
  return svg("svg", { class: "bar", "aria-hidden": "true" }, svg("rect", { width: percent, height: "100%" }));
}

export const percent = (share) => (share === null || share === undefined ? "" : `${Math.round(share * 100)} %`);

// What an item looks like: its picture, else its text, else its name.
export function itemView(item, kind = "large") {
  if (item.picture) {
    const image = h("img", {
      class: `media ${kind}`,
      src: item.picture,
      alt: item.text || `Item ${item.id}`,
      draggable: "false",
    });
    image.addEventListener("error", () =>
      image.replaceWith(
        h("p", { class: `media ${kind} missing` }, "The picture of ", bdi(item.id), " cannot be shown."),
      ),
    );
    return kind === "large" && item.text
      ? h("figure", null, image, h("figcaption", { dir: "auto" }, item.text))
      : image;
  }
  return h("blockquote", { class: `media text ${kind}`, dir: "auto" }, item.text || item.id);
}

// An item by itself: its text, or its picture as large as the window, and by a click as large as it is.
export function openWhole(item) {
  if (!item.picture) {
    dialog(item.id, itemView(item));
    return;
  }
  const image = h("img", { src: item.picture, alt: item.text || `Item ${item.id}`, class: "whole" });
  const larger = button("Actual size", () => {
    const actual = image.classList.toggle("actual");
    larger.setAttribute("aria-pressed", String(actual));
  });
  larger.setAttribute("aria-pressed", "false");
  const box = dialog(item.id, larger, h("div", { class: "picture-frame", tabindex: 0 }, image));
  box.classList.add("picture-dialog");
}

export function announce(sentence) {
  const live = byId("live");
  live.textContent = "";
  setTimeout(() => {
    live.textContent = sentence;
  }, 30); // an unchanged text would not be read again
}

export function dialog(title, ...content) {
  const close = button("Close", () => box.close(), { class: "quiet close" }, "esc");
  const box = h(
    "dialog",
    { "aria-label": title },
    h("header", null, h("h2", null, title), close),
    content.filter(Boolean),
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => {
    if (event.target === box) box.close();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

const passed = (since) => Math.max(0, Date.now() / 1000 - since);

// How long it lasts by now.
export function span(seconds) {
  if (seconds < 60) return "less than a minute";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const ago = (since) => (passed(since) < 60 ? "just now" : `${span(passed(since))} ago`);
export const lastingSince = (since) => span(passed(since));

// A time that is an estimate: of work, which has no days.
export function lasting(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
