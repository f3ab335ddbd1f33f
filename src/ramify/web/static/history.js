// The last ten answers, to click and change.

import { get } from "./api.js";
import { button, byId, h, icon, itemView } from "./dom.js";

const SHOWN = 10;
const EVENTS = 200; // one answer in the group or grid mode is many events

// The events of one request belong together.
export function grouped(events) {
  const groups = [];
  for (const event of events) {
    const name = event.key ?? `${event.at}`;
    const last = groups.at(-1);
    if (last && last.name === name) last.events.push(event);
    else groups.push({ name, events: [event] });
  }
  return groups;
}

function summary(events) {
  const names = (answer) =>
    events.filter((event) => event.answer === answer).map((event) => event.path.split(" > ").at(-1));
  const unique = (list) => [...new Set(list)];
  const yes = names("yes");
  const no = names("no");
  const items = new Set(events.map((event) => event.item.item)).size;
  if (items > 1) return { sign: "yes", text: `${unique([...yes, ...no])[0] ?? "skipped"}: ${yes.length} of ${items}` };
  if (yes.length) return { sign: "yes", text: unique(yes).join(", ") };
  if (no.length) return { sign: "no", text: `no ${unique(no).join(", ")}` };
  return { sign: "skip", text: "skipped" };
}

export async function drawHistory(annotator, open) {
  const place = byId("history");
  const events = await get("/api/history", { annotator, limit: EVENTS });
  const groups = grouped(events.filter((event) => event.answer !== "undo")).slice(0, SHOWN);
  if (!groups.length) {
    place.replaceChildren();
    return;
  }
  const cards = groups.map(({ events: ofOne }) => {
    const { sign, text } = summary(ofOne);
    const undone = ofOne.every((event) => event.undone);
    const items = [...new Map(ofOne.map((event) => [event.item.item, event.item])).values()];
    const label = [
      h(
        "span",
        { class: "past-media" },
        items.slice(0, 1).map((item) => itemView(item, "past-size")),
      ),
      h(
        "span",
        { class: "past-text" },
        icon(undone ? "undo" : sign),
        h("span", null, text),
        undone && h("small", null, "undone"),
      ),
    ];
    const properties = { class: `past ${undone ? "past-undone" : ""}`, title: `${text}: click to change` };
    return h(
      "li",
      null,
      button(
        label,
        () =>
          open(
            items,
            ofOne.map((event) => event.concept),
          ),
        properties,
      ),
    );
  });
  place.replaceChildren(
    h("h2", { class: "small-title" }, "Your last answers", h("span", { class: "soft" }, " click one to change it")),
    h("ol", null, cards),
  );
}
