// Asking: what keys and buttons do with the question on the screen, which is never swapped away.

import { post, Refused } from "./api.js";
import { announce, button, byId, h, icon } from "./dom.js";
import { openFlag } from "./flag.js";
import { CHOICE_KEYS } from "./keys.js";
import { likeliest, lookAtWords } from "./marking.js";
import { questionView } from "./question.js";
import { LOOKING, session, WAITING } from "./session.js";
import { chosenBy, isSingle, sameEntries, spoken } from "./task.js";
import { GRID, GROUP, MODES, NO, SINGLE, SKIP, YES } from "./words.js";

const IN_HAND = 3; // questions: one shown, the others ready
const LOOK_AGAIN = 10000;
const ABOUT = {
  [GROUP]: "One item, all open choices at once",
  [SINGLE]: "One item, one choice: yes or no",
  [GRID]: "Twelve items, one choice: those it applies to",
};
const NARROW = 760; // pixels

// What ends a question waits until the question can have been read: by key, mouse or finger.
const onceRead =
  (act) =>
  (...values) => {
    if (!session.unread) act(...values);
  };

export class Asking {
  // `saved` is called when the server has taken something, `warn` shows a sentence.
  constructor({ saved, warn }) {
    this.saved = saved;
    this.warn = warn;
    setInterval(() => {
      if (!session.task) this.refill();
    }, LOOK_AGAIN);
  }

  // -- which question -------------------------------------------------------------------------------------------------

  // Only when everything is saved: else the server would hand out again what is answered but still on its way.
  async refill() {
    const { round, annotator, mode } = session;
    if (session.fetching || session.leftOver || !session.outbox?.empty) return;
    if (session.ready.length + (session.task ? 1 : 0) >= IN_HAND) return;
    session.fetching = true;
    session.answered.clear();
    let overtaken = false; // by an answer that was saved meanwhile: its question was handed out again
    try {
      const tasks = await post("/api/next", { annotator, mode, count: IN_HAND, tab: session.tab });
      overtaken = tasks.some(({ entries }) => entries.some(({ item }) => session.answered.has(item)));
      if (round === session.round && session.outbox.empty && !overtaken) this.take(tasks);
    } catch (error) {
      session.note = error instanceof Refused ? error.message : WAITING;
      if (!session.task) this.draw();
    } finally {
      session.fetching = false;
      if (round !== session.round || overtaken) this.refill();
    }
  }

  take(tasks) {
    const items = session.take(tasks).flatMap((task) => [task.item, ...(task.items ?? [])]);
    for (const item of items) if (item?.picture) new Image().src = item.picture; // so that it shows at once
    if (!session.task) {
      session.note = null;
      session.next();
      this.appear();
    }
    byId("question").dataset.ready = session.ready.length;
  }

  setMode(mode) {
    if (mode === session.mode) return;
    session.mode = mode;
    const keep = session.chosen.size > 0 && session.touched;
    this.restart({ keep });
    announce(keep ? `Mode: ${mode}, from the next question on` : `Mode: ${mode}`);
  }

  restart({ keep = false } = {}) {
    session.restart({ keep });
    this.draw();
    this.refill();
  }

  // -- answering ------------------------------------------------------------------------------------------------------

  answer(answers, said, about = {}) {
    const { task, chosen, seconds } = session;
    this.send(answers, { task, chosen }, false, { seconds, ...about });
    session.note = session.outbox.problem ? WAITING : LOOKING;
    session.next();
    this.appear();
    announce(session.task ? `${said}. Next: ${spoken(session.task, CHOICE_KEYS)}` : said);
  }

  // Also used to correct labels elsewhere; those are undone in their turn but bring no question back.
  send(answers, question = {}, settles = false, about = {}) {
    const { annotator, outbox } = session;
    const key = outbox.add("/api/answers", { annotator, answers, settles, ...about }, () => {
      this.saved();
      this.refill();
    });
    session.remember({ key, answers, ...question });
  }

  undo() {
    const last = session.takeBack();
    if (last?.task) this.appear("Undone");
    session.outbox.add("/api/undo", { annotator: session.annotator, tab: session.tab }, (result) => {
      this.saved();
      this.undone(last, result);
      this.refill();
    });
  }

  // After a reload only the server knows what was answered; else it confirms what is shown already.
  undone(last, { undone, task }) {
    if (!undone.length) announce("There is nothing left to undo.");
    else if (!last && task) {
      session.showAgain(task, chosenBy(task, undone), undone);
      this.appear("Undone");
    } else if (!last) announce("Undone.");
    else if (!sameEntries(undone, last.answers)) this.warn("Undone is what you answered last in another window.");
    else if (!last.task) announce("The correction is undone.");
    else if (session.restore(last.task, undone)) this.redraw();
  }

  actions = {
    toggle: (entry) => {
      announce(`${entry.name} ${session.toggle(entry) ? YES : "not chosen"}`);
      this.redraw();
    },
    confirm: onceRead(() => {
      const { chosen, task, parent } = session;
      if (!chosen.size && task.exhaustive && task.mode === GROUP && parent) {
        session.doubt = true;
        const doubt = task.above?.at(-1)?.source === "imported" ? "Is the label" : "Does";
        const what = doubt === "Does" ? "not apply" : "wrong";
        announce(`None of these? ${doubt} ${parent.name} ${what} here? w: yes, escape: no.`);
        this.redraw();
        return;
      }
      this.answer(session.answers(), `${chosen.size} yes`);
    }),
    single: onceRead((answer) => this.answer(session.answers(answer), answer)),
    skip: onceRead(() => this.answer(session.answers(SKIP), "Skipped")),
    wrong: onceRead(() => {
      const { task, parent } = session;
      if (!parent || task.mode === GRID) return;
      this.answer([{ item: task.item.item, concept: parent.concept, answer: NO }], `${parent.name} is wrong here`);
    }),
    flag: () => {
      if (session.task.mode === GRID) return;
      openFlag((flag, note) => this.answer(session.answers(SKIP), `Flagged: ${flag}`, { flag, note }));
    },
    back: () => {
      session.doubt = false;
      this.redraw();
    },
    guess: () => {
      session.guess = !session.guess;
      this.redraw();
      if (session.guess && isSingle(session.task))
        announce(byId("question").querySelector(".guess")?.textContent ?? "");
    },
    words: async () => {
      const { task } = session;
      if (task.mode === GRID || !task.item.text) return;
      if (session.words) session.words = null;
      else {
        try {
          const asked = task.entries.map(({ concept }) => concept);
          const words = await lookAtWords(task.item.item, asked);
          if (session.task !== task) return;
          session.words = { ...words, chosen: likeliest(words)[0] };
        } catch (error) {
          session.words = { pieces: [], concepts: [], note: error.message };
        }
      }
      this.redraw();
      if (session.words) announce(byId("question").querySelector(".speaking").textContent);
    },
    wordsFor: (concept) => {
      session.words.chosen = concept;
      this.redraw();
    },
    undo: () => this.undo(),
  };

  press(name) {
    if (name === "u") return this.undo();
    if (name === "m") return this.setMode(session.nextMode);
    if (!session.task) return undefined;
    const { actions } = this;
    const { task, doubt } = session;
    const single = isSingle(task);
    if (name === "esc" || (doubt && name === "n")) return actions.back();
    if (name === "space") return actions.skip();
    if (name === "w" || (doubt && name === "y")) return actions.wrong();
    if (name === "g") return actions.guess();
    if (name === "f") return actions.flag();
    if (name === "h") return actions.words();
    if (single && name === "y") return actions.single(YES);
    if (single && name === "n") return actions.single(NO);
    if (!single && name === "enter") return actions.confirm();
    const entry = single ? undefined : task.entries[CHOICE_KEYS.indexOf(name)];
    return entry && actions.toggle(entry);
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  // Another question than before: it gets the focus, and is said where `why` it comes is given.
  appear(why = null) {
    this.draw();
    if (why) announce(`${why}. ${spoken(session.task, CHOICE_KEYS)}`);
    if (!session.task || byId("ask").hidden) return;
    byId("question").querySelector(".question")?.focus({ preventScroll: true });
    if (innerWidth < NARROW) byId("question").scrollIntoView({ block: "start" });
  }

  // The same question again: the focus stays where it was.
  redraw() {
    const focusable = () => [...byId("question").querySelectorAll("button, input, .question")];
    const at = focusable().indexOf(document.activeElement);
    const find = byId("question").querySelector(".find")?.value;
    this.draw();
    const field = byId("question").querySelector(".find");
    if (find && field) {
      field.value = find;
      field.dispatchEvent(new Event("input"));
    }
    if (at >= 0) focusable()[at]?.focus({ preventScroll: true });
  }

  draw() {
    const modes = h(
      "div",
      { class: "modes", role: "group", "aria-label": "Mode" },
      MODES.map((mode) =>
        button(mode[0].toUpperCase() + mode.slice(1), () => this.setMode(mode), {
          "aria-pressed": String(mode === session.mode),
          title: ABOUT[mode],
        }),
      ),
      h("kbd", { title: "next mode" }, "m"),
    );
    const shown = session.task ? questionView(session, this.actions) : this.empty();
    shown.setAttribute("tabindex", "-1");
    shown.setAttribute("role", "region");
    shown.setAttribute("aria-labelledby", "asked");
    byId("question").replaceChildren(modes, shown);
    const text = shown.querySelector(".media.text.large"); // a long one is scrolled, by keys too
    if (text && text.scrollHeight > text.clientHeight) text.setAttribute("tabindex", "0");
    byId("question").dataset.ready = session.ready.length;
  }

  empty() {
    const { note, status } = session;
    if (note) return h("div", { class: "card question empty" }, h("p", { class: "soft" }, icon("wait"), " ", note));
    const spent = status?.budget && status.answers >= status.budget;
    const known = status?.unknown === 0;
    const waiting = (status?.disagreements ?? 0) + (status?.contradictions ?? 0) + (status?.flagged ?? 0);
    const review = waiting > 0 && !spent && !known;
    let sentence = "There is nothing left to ask you in this mode.";
    if (spent) sentence = `The budget of ${status.budget} answers is used up.`;
    else if (known) sentence = "Everything is known: there is nothing left to ask anybody.";
    return h(
      "div",
      { class: "card question empty" },
      h("h1", null, spent ? "Well done." : "All done for now."),
      h("p", null, sentence),
      status?.out > 0 &&
        !spent &&
        !known &&
        h(
          "p",
          { class: "soft" },
          "Questions that others are answering come back if they do not. This page looks again by itself.",
        ),
      review && h("p", { class: "soft" }, "What waits under Review is not asked until somebody settles it there."),
      h(
        "div",
        { class: "main-actions" },
        button("Look again", () => this.refill(), { class: "primary" }),
        button("Undo", () => this.undo(), { class: "strong" }, "u"),
      ),
    );
  }
}
