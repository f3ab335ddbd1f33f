// The page, put together: which view is shown, what a key does, and when what is drawn again.

import { go, read, VIEWS, write } from "./address.js";
import { get } from "./api.js";
import { Asking } from "./ask.js";
import { Browsing } from "./browse.js";
import { button, byId, dialog, h, icon } from "./dom.js";
import { openHelp } from "./help.js";
import { drawHistory } from "./history.js";
import { openItem } from "./item.js";
import { pressed } from "./keys.js";
import { Managing } from "./managing.js";
import { askName, drawName } from "./name.js";
import { drawProblems, drawSaved, hideNotice, notice } from "./notices.js";
import { Outbox } from "./outbox.js";
import { drawProgress } from "./progress.js";
import { Reviewing } from "./review.js";
import { session } from "./session.js";
import { YES } from "./words.js";

const KEY_VIEWS = { a: "ask", b: "browse", r: "review", p: "project" };
const LOOK = 10000; // between looks at the progress while nothing happens
const LOOK_AT_TRAINING = 2000;
const START_AGAIN = 3000;

const asking = new Asking({ saved: () => refresh(150), warn: notice });
const send = (answers, settles, about) => asking.send(answers, {}, settles, about);
const settled = () => session.outbox.settled();
const reviewing = new Reviewing({ send, settled });
const managing = new Managing({ changed: () => refresh(400) });
let browsing; // made when the concepts are known

async function changeName() {
  const before = session.annotator;
  await askName();
  drawName();
  if (session.annotator === before) return;
  session.past = [];
  asking.restart();
  refresh();
}

// -- progress and history -------------------------------------------------------------------------------------------

let soon = 0;
let refreshing = false;
function refresh(delay = 0) {
  clearTimeout(soon);
  soon = setTimeout(async () => {
    if (refreshing) {
      refresh(300);
      return;
    }
    refreshing = true;
    try {
      [session.status] = await Promise.all([get("/api/status"), drawHistory(session.annotator, change)]);
      await followTaxonomy();
      drawStatus();
      if (session.status.training?.running && document.visibilityState === "visible") refresh(LOOK_AT_TRAINING);
    } catch {
      // The server is away: the outbox says so, and the next look comes by itself.
    } finally {
      refreshing = false;
    }
  }, delay);
}

// Somebody changed the taxonomy: what is shown of it follows, and questions about it are asked for anew.
const named = (concepts) =>
  JSON.stringify(concepts.map(({ concept, path, description }) => [concept, path, description]));
let known = null;
async function followTaxonomy() {
  const now = named(session.status.concepts);
  if (known === null) known = named([...session.concepts.values()]);
  if (now === known) return;
  if (session.replaceConcepts(await get("/api/taxonomy"))) managing.renew();
  browsing.renew();
  asking.restart({ keep: session.chosen.size > 0 && session.touched });
  known = now;
}

function drawStatus() {
  const { status } = session;
  drawProblems(status.problems);
  managing.draw();
  drawProgress(status, session.concepts, {
    browse: (concept) => {
      show("browse", {});
      browsing.choose(concept);
    },
    changed: () => refresh(400),
  });
  const open =
    (status.disagreements ?? 0) + (status.contradictions ?? 0) + (status.coarse_wrong ?? 0) + (status.flagged ?? 0);
  byId("to-review").hidden = !open;
  byId("to-review").textContent = String(open);
  byId("to-review").title = `${open} to review`;
}

// Change an answer: the item with those entries on top; of several items, one is chosen first.
function change(items, answered, yes = new Set()) {
  const first = [...new Set(answered)];
  const open = (item) => openItem(item.item, { send, settled, first, own: true, closed: () => refresh() });
  if (items.length === 1) {
    open(items[0]);
    return;
  }
  const choices = items.map((item) =>
    button(
      [
        item.picture
          ? h("img", { src: item.picture, alt: item.id, class: "media found-size" })
          : h("span", { class: "clip", dir: "auto" }, item.text ?? item.id),
        yes.has(item.item) && h("span", { class: "mark" }, icon(YES), YES),
      ],
      () => {
        box.close();
        open(item);
      },
      { class: "found-open" },
    ),
  );
  const box = dialog("Which one?", h("div", { class: "which" }, choices));
}

// -- views and keys -------------------------------------------------------------------------------------------------

// Shows a view; with filters of an address these, else those it had.
function show(name, filters = null) {
  session.view = name;
  for (const view of VIEWS) byId(view).hidden = view !== name;
  for (const tab of document.querySelectorAll("nav [data-view]")) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (name === "browse" && filters) browsing.restore(filters);
  else if (name === "browse") browsing.load();
  if (name === "review") reviewing.load();
  if (name === "project") managing.load();
  if (name === "ask") byId("question").querySelector(".question")?.focus({ preventScroll: true });
  else byId("main").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

// A view that somebody chose is a step in the address.
function visit(name) {
  go(name, name === "browse" ? browsing.filters : {});
  show(name);
}

function followAddress() {
  const wanted = read(location.hash);
  if (wanted) show(wanted.view, wanted.filters);
}

function onKey(event) {
  const name = pressed(event);
  if (name === null) return;
  const { view } = session;
  const find = view === "browse" ? browsing.fields.query : byId("question").querySelector(".find");
  if (name === "?") openHelp();
  else if (name === "/" && find) find.focus();
  else if (KEY_VIEWS[name]) visit(KEY_VIEWS[name]);
  else if (name === "esc" && view !== "ask") visit("ask");
  else if (view === "ask") asking.press(name);
  else if (name === "u" && view !== "project") {
    asking.undo();
    settled().then(() => (view === "browse" ? browsing : reviewing).load());
  } else if (view !== "browse" || !browsing.press(name)) return;
  event.preventDefault();
}

// -- start ----------------------------------------------------------------------------------------------------------

async function start() {
  if (location.search) history.replaceState(null, "", location.pathname + location.hash); // the token is in a cookie now, not in the address
  try {
    const [project, concepts] = await Promise.all([get("/api/project"), get("/api/taxonomy")]);
    session.project = project;
    session.replaceConcepts(concepts);
  } catch (error) {
    notice(error.message);
    setTimeout(start, START_AGAIN);
    return;
  }
  hideNotice();
  byId("title").textContent = session.project.title;
  byId("title").title = session.project.about;
  document.title = `${session.project.title} · Ramify`;
  if (!session.annotator) await askName();
  drawName();
  session.outbox = new Outbox(session.project.project, {
    changed: () => {
      if (drawSaved()) asking.refill();
    },
    refused: (sentence, body) => {
      session.forget(body.key);
      notice(`An answer was not accepted: ${sentence}`);
    },
  });
  browsing = new Browsing({ concepts: session.concepts, send, settled });
  for (const [name, open] of Object.entries({ annotator: changeName, help: openHelp })) {
    byId(name).addEventListener("click", (event) => {
      if (event.detail > 0) byId(name).blur(); // as all buttons do: enter and space stay commands
      open();
    });
  }
  for (const tab of document.querySelectorAll("nav [data-view]")) {
    tab.addEventListener("click", () => visit(tab.dataset.view));
  }
  document.addEventListener("keydown", onKey);
  for (const sign of ["keydown", "pointerdown", "pointermove", "wheel"]) {
    document.addEventListener(sign, () => session.sign(), { passive: true });
  }
  addEventListener("pagehide", () => session.leave());
  addEventListener("popstate", followAddress);
  session.reached = drawSaved;
  asking.draw();
  if (read(location.hash)) followAddress();
  else history.replaceState(null, "", write("ask"));
  refresh();
  session.outbox.drain(); // what a former visit left; then questions are asked for
  setInterval(() => {
    if (document.visibilityState === "visible") refresh();
  }, LOOK);
}

start();
