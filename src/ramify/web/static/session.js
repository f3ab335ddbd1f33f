// Session: all that the page knows while it is open. Modules read and change it here; what is drawn follows from it.

import { LocalStore } from "./storage.js";
import { chosenBy, entryKey, sameEntries } from "./task.js";
import { newKey } from "./unique.js";
import { GROUP, LONGEST_SCREEN, MODES, NO, YES } from "./words.js";

const NAME = "ramify:annotator";
const MODE = "ramify:mode";
const LEASE = 9 * 60 * 1000; // milliseconds; the server's is ten minutes
const KEYS = "ramify:keys";
const EXAMPLES = "ramify:examples";
const TAB = "ramify:tab";
const MOST_PAST = 50; // requests kept with their questions; the server knows the older ones
const PAUSE = 60 * 1000; // milliseconds without a sign of life: a pause, which is no work
const UNREAD = 250; // milliseconds in which nobody can have read a question

export const LOOKING = "Looking for the next question …";
export const WAITING = "Waiting for the server …";

export class Session {
  #annotator;
  #mode;

  constructor({
    store = new LocalStore(),
    tabStore = new LocalStore(() => sessionStorage),
    ticks = () => performance.now(),
    date = () => Date.now(),
  } = {}) {
    this.store = store;
    this.tabStore = tabStore;
    this.tab = tabStore.get(TAB) ?? newKey(); // tells two windows of one name apart
    tabStore.delete(TAB); // a tab that is made as a copy of this one gets a name of its own
    this.ticks = ticks; // never set back, for moments on the screen
    this.date = date; // goes on while the machine sleeps, for leases

    this.project = null; // what is served: its identity, name and version
    this.concepts = new Map(); // by stable id, in reading order
    this.status = null; // the newest
    this.outbox = null; // what is on its way to the server
    this.view = "ask";
    this.away = null; // why the server cannot be reached
    this.reached = () => {}; // called when that changes

    this.#annotator = store.get(NAME) ?? "";
    this.#mode = MODES.find((mode) => mode === store.get(MODE)) ?? GROUP;

    this.ready = []; // questions to come
    this.past = []; // requests since the page was opened, the last one first to be undone
    this.fetching = false;
    this.answered = new Set(); // items, since questions were last fetched
    this.round = 0; // changes with mode and annotator, so that late questions of the former ones are dropped
    this.note = LOOKING; // why there is no question
    this.show(null);
  }

  get annotator() {
    return this.#annotator;
  }

  set annotator(name) {
    this.#annotator = name;
    this.store.set(NAME, name);
  }

  get mode() {
    return this.#mode;
  }

  set mode(mode) {
    this.#mode = mode;
    this.store.set(MODE, mode);
  }

  // Whether single keys are commands: who dictates or types by accident may want none.
  get keys() {
    return this.store.get(KEYS) !== "off";
  }

  set keys(on) {
    this.store.set(KEYS, on ? "on" : "off");
  }

  get examples() {
    return this.store.get(EXAMPLES) !== "closed";
  }

  set examples(open) {
    this.store.set(EXAMPLES, open ? "open" : "closed");
  }

  // The taxonomy as it is now, in the same map: others hold it. Says whether it is another one.
  replaceConcepts(concepts) {
    const before = JSON.stringify([...this.concepts.values()]);
    this.concepts.clear();
    for (const concept of concepts) this.concepts.set(concept.concept, concept);
    return before !== JSON.stringify(concepts);
  }

  // Before the page goes: whoever reloads it is the same tab.
  leave() {
    this.tabStore.set(TAB, this.tab);
  }

  reach(error) {
    const changed = Boolean(error) !== Boolean(this.away);
    this.away = error;
    if (changed) this.reached();
  }

  get nextMode() {
    return MODES[(MODES.indexOf(this.mode) + 1) % MODES.length];
  }

  // -- questions ------------------------------------------------------------------------------------------------------

  show(task, { chosen = new Set(), said = [] } = {}) {
    this.task = task;
    this.chosen = chosen; // keys of entries
    this.said = said; // the answers that were taken back, where there are any
    this.touched = false;
    this.guess = false; // whether the model's guess is shown
    this.words = null; // which words speak for which concept, and for which of these they are marked
    this.doubt = false; // whether none was chosen where one has to apply
    this.since = this.ticks();
    this.busy = 0; // milliseconds of work on this question
    this.lastSign = this.since;
  }

  // Somebody is there: a key, the mouse. What lies between two signs is work, unless it is long.
  sign() {
    const now = this.ticks();
    const passed = now - this.lastSign;
    if (passed < PAUSE) this.busy += passed;
    this.lastSign = now;
  }

  // How long somebody was busy with the question.
  get seconds() {
    this.sign();
    return Math.min(LONGEST_SCREEN, Math.round(this.busy / 100) / 10);
  }

  // The second of two quick presses was meant for the question before.
  get unread() {
    return this.ticks() - this.since < UNREAD;
  }

  // New questions, to be shown in their turn; returns those that were not at hand already.
  take(tasks) {
    this.dropStale();
    const held = new Set([this.task, ...this.ready].filter(Boolean).flatMap((task) => task.entries.map(entryKey)));
    const fresh = [];
    for (const task of tasks) {
      if (task.entries.some((entry) => held.has(entryKey(entry)))) continue;
      for (const entry of task.entries) held.add(entryKey(entry));
      fresh.push({ ...task, taken: this.date() });
    }
    this.ready.push(...fresh);
    return fresh;
  }

  next() {
    this.dropStale();
    this.show(this.ready.shift() ?? null);
  }

  // A question that lay ready for too long may be somebody else's by now. Only this browser's clock counts here.
  dropStale() {
    this.ready = this.ready.filter((task) => !(this.date() - task.taken > LEASE));
  }

  // Begins anew; a question that somebody has begun to answer stays, and the next one is of the new mode.
  restart({ keep = false } = {}) {
    this.round += 1;
    this.ready = [];
    this.note = LOOKING;
    if (!keep) this.show(null);
  }

  // Whether the question on the screen was left from another mode: nothing is fetched until it is answered.
  get leftOver() {
    return this.task !== null && this.task.mode !== this.mode;
  }

  // The concept above the asked ones, which may be wrong itself; none above the topmost ones.
  get parent() {
    if (!this.task) return null;
    const asked = this.concepts.get(this.task.entries[0].concept);
    return this.concepts.get(this.task.mode === GROUP ? this.task.concept : asked?.parent) ?? null;
  }

  // -- answers --------------------------------------------------------------------------------------------------------

  toggle(entry) {
    const key = entryKey(entry);
    if (!this.chosen.delete(key)) this.chosen.add(key);
    this.touched = true;
    this.doubt = false;
    return this.chosen.has(key);
  }

  // The chosen entries are yes, the others no; or the same answer for all.
  answers(answer = null) {
    return this.task.entries.map((entry) => ({
      item: entry.item,
      concept: entry.concept,
      answer: answer ?? (this.chosen.has(entryKey(entry)) ? YES : NO),
    }));
  }

  remember(request) {
    for (const { item } of request.answers) this.answered.add(item);
    this.past.push(request);
    if (this.past.length > MOST_PAST) this.past.shift();
  }

  forget(key) {
    this.past = this.past.filter((request) => request.key !== key);
  }

  // The last request, if there is one; its question, if it had one, is shown as it was left.
  takeBack() {
    const last = this.past.pop() ?? null;
    if (last?.task) this.showAgain(last.task, last.chosen, last.answers);
    return last;
  }

  // The question that it pushes aside comes next.
  showAgain(task, chosen, said) {
    if (this.task) this.ready.unshift(this.task);
    this.show(task, { chosen: new Set(chosen), said });
  }

  // What the server took back counts, unless somebody has begun to answer anew; says whether anything was restored.
  restore(task, undone) {
    if (this.task !== task || this.touched) return false;
    this.said = undone;
    const answered = sameEntries(undone, task.entries) && undone.every(({ answer }) => answer === YES || answer === NO);
    if (answered) this.chosen = chosenBy(task, undone);
    return true;
  }
}

export const session = new Session();
