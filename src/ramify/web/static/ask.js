// Asking: which question is on the screen, what is chosen, what happens next. The question shown is never swapped away.

import { post, Refused } from "./api.js";
import { announce, button, byId, h, icon, recall, remember } from "./dom.js";
import { CHOICE_KEYS } from "./keys.js";
import { entryKey, isSingle, questionView } from "./question.js";

const IN_HAND = 3; // questions: one shown, the others ready
const MODES = ["group", "single", "grid"];
const LOOK_AGAIN = 10000;
const LEASE = 9 * 60 * 1000; // the server's is ten minutes

function sameEntries(some, others) {
  const keys = new Set(others.map(entryKey));
  return some.length === keys.size && some.every((one) => keys.has(entryKey(one)));
}

export class Asking {
  constructor({ annotator, outbox, concepts, saved, status, warn }) {
    this.annotator = annotator;
    this.outbox = outbox;
    this.concepts = concepts; // stable id -> concept
    this.saved = saved; // called when the server has taken something
    this.status = status; // the newest status, or null
    this.warn = warn;
    const stored = recall("ramify:mode");
    this.mode = MODES.includes(stored) ? stored : "group";
    this.ready = [];
    this.past = []; // what was answered since the page was opened, for undo at once
    this.task = null;
    this.note = "Looking for the next question …";
    this.fetching = false;
    this.round = 0; // changes with the mode, so that late questions of the former one are dropped
    setInterval(() => {
      if (!this.task) this.refill();
    }, LOOK_AGAIN);
  }

  // -- which question ---------------------------------------------------------------------------------------------

  // Only when everything is saved: else the server would hand out again what is answered but still on its way.
  async refill() {
    if (this.fetching || !this.outbox.empty || this.ready.length + (this.task ? 1 : 0) >= IN_HAND) return;
    this.fetching = true;
    const round = this.round;
    try {
      const found = await post("/api/next", { annotator: this.annotator(), mode: this.mode, count: IN_HAND });
      if (round === this.round && this.outbox.empty) this.take(found);
    } catch (error) {
      this.note = error instanceof Refused ? error.message : "Waiting for the server …";
      if (!this.task) this.show(null);
    } finally {
      this.fetching = false;
      if (round !== this.round) this.refill();
    }
  }

  // A question that lay ready for too long may be somebody else's by now. Only this browser's clock counts here.
  dropStale() {
    this.ready = this.ready.filter((task) => !(Date.now() - task.taken > LEASE));
  }

  take(found) {
    this.dropStale();
    const held = new Set([this.task, ...this.ready].filter(Boolean).flatMap((task) => task.entries.map(entryKey)));
    for (const task of found) {
      if (task.entries.some((entry) => held.has(entryKey(entry)))) continue;
      for (const entry of task.entries) held.add(entryKey(entry));
      this.ready.push({ ...task, taken: Date.now() });
      for (const item of [task.item, ...(task.items ?? [])]) if (item?.picture) new Image().src = item.picture; // so that it shows at once
    }
    if (!this.task) {
      this.note = null;
      this.show(this.ready.shift() ?? null);
    }
    byId("question").dataset.ready = this.ready.length;
  }

  show(task, chosen = new Set(), quiet = false) {
    this.task = task;
    this.chosen = chosen;
    this.guess = false;
    this.doubt = false;
    this.draw();
    if (quiet || !task || byId("ask").hidden) return;
    byId("question").querySelector(".question")?.focus({ preventScroll: true });
    if (innerWidth < 760) byId("question").scrollIntoView({ block: "start" });
  }

  setMode(mode) {
    if (mode === this.mode) return;
    this.mode = mode;
    remember("ramify:mode", mode);
    this.restart();
    announce(`Mode: ${mode}`);
  }

  restart() {
    this.round += 1;
    this.ready = [];
    this.note = "Looking for the next question …";
    this.show(null);
    this.refill();
  }

  // -- answering --------------------------------------------------------------------------------------------------

  answer(answers, said) {
    const { task, chosen } = this;
    const key = this.send(answers, { task, chosen });
    this.note = this.outbox.problem ? "Waiting for the server …" : "Looking for the next question …";
    this.dropStale();
    this.show(this.ready.shift() ?? null);
    announce(this.task ? `${said}. Next: ${this.spoken()}` : said);
    return key;
  }

  // Also used to correct labels elsewhere; those are undone in their turn but bring no question back.
  send(answers, memory = {}, settles = false) {
    const past = { ...memory, answers };
    past.key = this.outbox.add("/api/answers", { annotator: this.annotator(), answers, settles }, (result) => {
      this.saved(result);
      this.refill();
    });
    this.past.push(past);
    return past.key;
  }

  forget(key) {
    this.past = this.past.filter((one) => one.key !== key);
  }

  every(answer) {
    return this.task.entries.map(({ item, concept }) => ({ item, concept, answer }));
  }

  undo() {
    const last = this.past.pop();
    const before = this.task;
    if (last?.task) {
      if (before) this.ready.unshift(before);
      this.show(last.task, last.chosen);
      announce(`Undone. ${this.spoken()}`);
    }
    this.outbox.add("/api/undo", { annotator: this.annotator() }, (result) => {
      this.saved(result);
      if (!result.undone.length) announce("There is nothing left to undo.");
      else if (!last) this.bringBack(result);
      else if (!sameEntries(result.undone, last.answers)) {
        this.warn("Undone is what you answered last in another window.");
      } else if (!last.task) announce("The correction is undone.");
      this.refill();
    });
  }

  bringBack(result) {
    if (!result.task) {
      announce("Undone.");
      return;
    }
    const yes = result.undone.filter((one) => one.answer === "yes").map(entryKey);
    if (this.task) this.ready.unshift(this.task);
    this.show(result.task, new Set(isSingle(result.task) ? [] : yes));
    announce(`Undone. ${this.spoken()}`);
  }

  get parent() {
    const concept = this.concepts.get(this.task.entries[0].concept);
    return this.concepts.get(this.task.mode === "group" ? this.task.concept : concept?.parent) ?? null;
  }

  spoken() {
    const { task } = this;
    const path = task.path.join(", ");
    if (task.mode === "grid") return `Which of ${task.entries.length} are ${path}?`;
    if (isSingle(task)) return `${path}?`;
    const listed = task.entries.map((entry, index) => `${CHOICE_KEYS[index] ?? ""} ${entry.name}`).join(", ");
    return `${path}: ${listed}`;
  }

  actions = {
    toggle: (entry) => {
      const key = entryKey(entry);
      if (!this.chosen.delete(key)) this.chosen.add(key);
      this.doubt = false;
      announce(`${entry.name} ${this.chosen.has(key) ? "yes" : "not chosen"}`);
      this.redraw();
    },
    confirm: () => {
      if (!this.chosen.size && this.task.exhaustive && this.task.mode === "group") {
        this.doubt = true;
        announce(`None of these? Is the label ${this.parent?.name} wrong here? w: yes, escape: no.`);
        this.redraw();
        return;
      }
      const answers = this.task.entries.map((entry) => ({
        item: entry.item,
        concept: entry.concept,
        answer: this.chosen.has(entryKey(entry)) ? "yes" : "no",
      }));
      this.answer(answers, `${this.chosen.size} yes`);
    },
    single: (answer) => this.answer(this.every(answer), answer),
    skip: () => this.answer(this.every("skip"), "Skipped"),
    wrong: () => {
      if (!this.parent || this.task.mode === "grid") return;
      this.answer(
        [{ item: this.task.item.item, concept: this.parent.concept, answer: "no" }],
        `${this.parent.name} is wrong here`,
      );
    },
    back: () => {
      this.doubt = false;
      this.redraw();
    },
    guess: () => {
      this.guess = !this.guess;
      this.redraw();
      if (this.guess && isSingle(this.task)) announce(byId("question").querySelector(".guess")?.textContent ?? "");
    },
    undo: () => this.undo(),
  };

  press(name) {
    if (name === "u") return this.undo();
    if (name === "m") return this.setMode(MODES[(MODES.indexOf(this.mode) + 1) % MODES.length]);
    if (!this.task) return undefined;
    const { actions, task } = this;
    const single = isSingle(task);
    if (name === "esc" || (this.doubt && name === "n")) return actions.back();
    if (name === "space") return actions.skip();
    if (name === "w" || (this.doubt && name === "y")) return actions.wrong();
    if (name === "g") return actions.guess();
    if (single && name === "y") return actions.single("yes");
    if (single && name === "n") return actions.single("no");
    if (!single && name === "enter") return actions.confirm();
    const entry = single ? undefined : task.entries[CHOICE_KEYS.indexOf(name)];
    return entry && actions.toggle(entry);
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

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
          "aria-pressed": String(mode === this.mode),
        }),
      ),
      h("kbd", { title: "next mode" }, "m"),
    );
    const view = this.task && {
      chosen: this.chosen,
      guess: this.guess,
      doubt: this.doubt,
      parentName: this.task.mode === "grid" ? null : this.parent?.name,
    };
    const shown = this.task ? questionView(this.task, view, this.actions) : this.empty();
    shown.setAttribute("tabindex", "-1");
    shown.setAttribute("role", "region");
    shown.setAttribute("aria-labelledby", "asked");
    byId("question").replaceChildren(modes, shown);
    byId("question").dataset.ready = this.ready.length;
  }

  empty() {
    if (this.note) {
      return h("div", { class: "card question empty" }, h("p", { class: "soft" }, icon("wait"), " ", this.note));
    }
    const status = this.status();
    const spent = status?.budget && status.answers >= status.budget;
    const sentence = spent
      ? `The budget of ${status.budget} answers is used up.`
      : "There is nothing left to ask you in this mode.";
    return h(
      "div",
      { class: "card question empty" },
      h("h1", null, spent ? "Well done." : "All done for now."),
      h("p", null, sentence),
      h(
        "p",
        { class: "soft" },
        "Questions that others are answering come back if they do not. This page looks again by itself.",
      ),
      h(
        "div",
        { class: "main-actions" },
        button("Look again", () => this.refill(), { class: "primary" }),
        button("Undo", () => this.undo(), { class: "strong" }, "u"),
      ),
    );
  }
}
