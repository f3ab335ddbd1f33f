// The page: who answers, which view is shown, what a key does, and whether everything is saved.

import { get, setProject } from "./api.js";
import { Asking } from "./ask.js";
import { Browsing } from "./browse.js";
import { announce, button, byId, dialog, h, icon, recall, remember } from "./dom.js";
import { drawHistory } from "./history.js";
import { openItem } from "./item.js";
import { HELP, pressed } from "./keys.js";
import { Outbox } from "./outbox.js";
import { drawProgress } from "./progress.js";
import { Reviewing } from "./review.js";

const NAME = "ramify:annotator";
const VIEWS = { a: "ask", b: "browse", r: "review" };
const KEPT = "Your answers are kept in this browser and sent when the server takes them.";
const LOOK = 10000; // between looks at the progress while nothing happens

let annotator = recall(NAME) ?? "";
let view = "ask";
let status = null;
let outbox, asking, browsing, reviewing, concepts;
const resting = []; // who waits until everything is saved

// -- who answers ----------------------------------------------------------------------------------------------------

function askName() {
  return new Promise((resolve) => {
    const field = h("input", { id: "name", maxlength: 64, autocomplete: "name", required: true, value: annotator });
    const form = h(
      "form",
      { method: "dialog" },
      h("label", { for: "name" }, "Your name is kept with your answers, so that others can ask you about them."),
      field,
      h("button", { class: "primary" }, "Start ", h("kbd", null, "enter")),
    );
    const box = h(
      "dialog",
      { class: "name-dialog", "aria-label": "Who is answering?" },
      h("h2", null, "Who is answering?"),
      form,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = field.value.replace(/\p{Cc}/gu, "").trim();
      if (!name) return;
      annotator = name;
      remember(NAME, name);
      box.close();
    });
    box.addEventListener("cancel", (event) => {
      if (!annotator) event.preventDefault();
    });
    box.addEventListener("close", () => {
      box.remove();
      if (annotator) resolve();
    });
    document.body.append(box);
    box.showModal();
    field.select();
  });
}

function drawName() {
  byId("annotator").replaceChildren(
    h("span", { class: "avatar", "aria-hidden": "true" }, [...annotator][0]?.toUpperCase() ?? "?"),
    h("span", { class: "clip" }, annotator),
  );
  byId("annotator").setAttribute("aria-label", `You are ${annotator}. Change the name.`);
}

async function changeName() {
  const before = annotator;
  await askName();
  drawName();
  if (annotator === before) return;
  asking.past = [];
  asking.restart();
  refresh();
}

// -- saved or not ---------------------------------------------------------------------------------------------------

let shown = { state: "", text: "" };
function drawSaved() {
  const { problem, waiting } = outbox;
  const state = problem ? "retrying" : waiting.length ? "saving" : "saved";
  const text = { retrying: `Retrying · ${waiting.length} kept here`, saving: "Saving …", saved: "Saved" }[state];
  if (text !== shown.text) {
    byId("saved").className = `saved saved-${state}`;
    byId("saved").replaceChildren(icon(state === "saved" ? "yes" : "wait"), h("span", null, text));
    byId("saved").title = problem ? `${problem.message} ${KEPT}` : "";
    if (state === "retrying" && shown.state !== state) announce(`${problem.message} ${KEPT}`);
    if (state !== "retrying" && shown.state === "retrying") announce("The server is back.");
    shown = { state, text };
  }
  if (problem?.locked) notice(`${problem.message}. ${KEPT}`);
  if (state === "saved") {
    for (const resolve of resting.splice(0)) resolve();
    asking?.refill();
  }
}

const settled = () => (outbox.empty ? Promise.resolve() : new Promise((resolve) => resting.push(resolve)));

function notice(sentence) {
  byId("notice").hidden = false;
  byId("notice").replaceChildren(
    icon("wrong"),
    h("span", null, sentence),
    button(
      "Dismiss",
      () => {
        byId("notice").hidden = true;
      },
      { class: "small quiet" },
    ),
  );
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
      const [found] = await Promise.all([get("/api/status", { annotator }), drawHistory(annotator, change)]);
      status = found;
      drawProgress(status, concepts, {
        browse: (concept) => {
          show("browse");
          browsing.choose(concept);
        },
        changed: () => refresh(400),
      });
      const open = (status.disagreements ?? 0) + (status.contradictions ?? 0) + (status.coarse_wrong ?? 0);
      byId("to-review").hidden = !open;
      byId("to-review").textContent = String(open);
      byId("to-review").title = `${open} to review`;
    } catch {
      // The server is away: the outbox says so, and the next look comes by itself.
    } finally {
      refreshing = false;
    }
  }, delay);
}

// Change an answer: the item with those entries on top; of several items, one is chosen first.
function change(items, answered) {
  const open = (item) => openItem(item.item, { send, settled, first: [...new Set(answered)], closed: () => refresh() });
  if (items.length === 1) {
    open(items[0]);
    return;
  }
  const box = dialog(
    "Which one?",
    h(
      "div",
      { class: "which" },
      items.map((item) =>
        button(
          item.picture
            ? h("img", { src: item.picture, alt: item.id, class: "media found-size" })
            : h("span", { class: "clip" }, item.text ?? item.id),
          () => {
            box.close();
            open(item);
          },
          { class: "found-open" },
        ),
      ),
    ),
  );
}

const send = (answers, memory, settles) => asking.send(answers, memory, settles);

// -- views and keys -------------------------------------------------------------------------------------------------

function show(name) {
  view = name;
  for (const other of Object.values(VIEWS)) byId(other).hidden = other !== name;
  for (const tab of document.querySelectorAll("nav [data-view]")) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (name === "browse") browsing.load();
  if (name === "review") reviewing.load();
  if (name === "ask") byId("question").querySelector(".question")?.focus({ preventScroll: true });
  else byId("main").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

function help() {
  dialog(
    "Keys",
    h(
      "div",
      { class: "help" },
      HELP.map(([title, rows]) =>
        h(
          "section",
          null,
          h("h3", null, title),
          h(
            "dl",
            null,
            rows.map(([name, meaning]) =>
              h(
                "div",
                null,
                h(
                  "dt",
                  null,
                  name.split(/(?: or )/).map((one, index) => [index > 0 && " or ", h("kbd", null, one)]),
                ),
                h("dd", null, meaning),
              ),
            ),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "soft" },
      "Every answer is saved at once. If the server goes away, your answers are kept in this browser and sent when it is back. Scripts can take part too: ",
      h("a", { href: "/docs" }, "HTTP API"),
      ".",
    ),
  );
}

function onKey(event) {
  const name = pressed(event);
  if (name === null) return;
  const find = view === "browse" ? browsing.fields.query : byId("question").querySelector(".find");
  if (name === "?") help();
  else if (name === "/" && find) find.focus();
  else if (VIEWS[name]) show(VIEWS[name]);
  else if (name === "esc" && view !== "ask") show("ask");
  else if (view === "ask") asking.press(name);
  else if (name === "u") {
    asking.undo();
    settled().then(() => (view === "browse" ? browsing : reviewing).load?.());
  } else return;
  event.preventDefault();
}

// -- start ----------------------------------------------------------------------------------------------------------

async function start() {
  if (location.search) history.replaceState(null, "", location.pathname); // the token is in a cookie now, not in the address
  let project;
  try {
    const [served, listed] = await Promise.all([get("/api/project"), get("/api/taxonomy")]);
    project = served;
    concepts = new Map(listed.map((concept) => [concept.concept, concept]));
  } catch (error) {
    notice(error.message);
    setTimeout(start, 3000);
    return;
  }
  byId("notice").hidden = true;
  setProject(project.project);
  byId("project").textContent = project.name;
  document.title = `${project.name} · Ramify`;
  if (!annotator) await askName();
  drawName();
  outbox = new Outbox(project.project, {
    changed: drawSaved,
    refused: (sentence, body) => {
      asking.forget(body.key);
      notice(`An answer was not accepted: ${sentence}`);
    },
  });
  asking = new Asking({
    annotator: () => annotator,
    outbox,
    concepts,
    status: () => status,
    warn: notice,
    saved: () => refresh(150),
  });
  browsing = new Browsing({ concepts, send, settled });
  reviewing = new Reviewing({ send, settled });
  byId("annotator").addEventListener("click", changeName);
  byId("help").addEventListener("click", help);
  for (const tab of document.querySelectorAll("nav [data-view]")) {
    tab.addEventListener("click", () => show(tab.dataset.view));
  }
  document.addEventListener("keydown", onKey);
  asking.draw();
  refresh();
  outbox.drain(); // what a former visit left; then questions are asked for
  setInterval(() => {
    if (document.visibilityState === "visible") refresh();
  }, LOOK);
}

start();
