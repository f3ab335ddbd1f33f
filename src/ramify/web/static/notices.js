// What stands at the top: whether everything is saved, and what somebody should know.

import { announce, button, byId, h, icon } from "./dom.js";
import { session } from "./session.js";
import { YES } from "./words.js";

const KEPT = "Your answers are kept in this browser and sent when the server takes them.";

export function notice(sentence) {
  byId("notice").hidden = false;
  byId("notice").replaceChildren(
    icon("wrong"),
    h("span", null, sentence),
    button("Dismiss", hideNotice, { class: "small quiet" }),
  );
}

export function hideNotice() {
  byId("notice").hidden = true;
}

// What went wrong at the server stays in sight until it is mended there.
export function drawProblems(problems = []) {
  const place = byId("problems");
  const sentences = problems.map(({ what }) => what);
  if (place.dataset.shown === JSON.stringify(sentences)) return; // drawn again, it would be read again
  place.dataset.shown = JSON.stringify(sentences);
  place.hidden = !sentences.length;
  place.replaceChildren(
    icon("wrong"),
    h(
      "ul",
      null,
      sentences.map((sentence) => h("li", null, sentence)),
    ),
  );
}

// Returns whether everything is saved.
export function drawSaved() {
  const { waiting } = session.outbox;
  const problem = session.outbox.problem ?? session.away; // nothing may be on its way, and still nothing be saved
  const place = byId("saved");
  const before = place.dataset.state;
  const state = problem ? "retrying" : waiting.length ? "saving" : "saved";
  const kept = waiting.length ? `Retrying · ${waiting.length} kept here` : "No connection · retrying";
  const text = { retrying: kept, saving: "Saving …", saved: "Saved" }[state];
  if (text !== place.textContent) {
    place.dataset.state = state;
    place.className = `saved saved-${state}`;
    place.replaceChildren(icon(state === "saved" ? YES : "wait"), h("span", null, text));
    place.title = problem ? `${problem.message} ${KEPT}` : "";
    if (state === "retrying" && before !== state) announce(`${problem.message} ${KEPT}`);
    if (state !== "retrying" && before === "retrying") announce("The server is back.");
  }
  if (problem?.locked) notice(`${problem.message}. ${KEPT}`);
  return state === "saved";
}
