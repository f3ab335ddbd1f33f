// Answers on their way: kept by the browser until the server has acknowledged them, sent in order, retried for ever.
// Each carries a key by which the server knows it again, so sending one twice is harmless.

import { Away, post } from "./api.js";
import { LocalStore } from "./storage.js";
import { newKey } from "./unique.js";

const SHORTEST_WAIT = 400;
const LONGEST_WAIT = 8000;
const pauseFor = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Outbox {
  constructor(
    project,
    { changed, refused, send = post, store = new LocalStore(), pause = pauseFor, page = globalThis },
  ) {
    this.prefix = `ramify:${project}:outbox:`;
    this.changed = changed; // called whenever `waiting` or `problem` may be others
    this.refused = refused; // called with the server's sentence and what was sent
    this.send = send;
    this.store = store;
    this.pause = pause;
    this.handlers = new Map();
    this.waiting = this.stored();
    this.problem = null; // why the first one still waits
    this.sending = false;
    this.settling = []; // who waits until everything is saved
    this.wake = () => {};
    for (const event of ["online", "focus"]) page.addEventListener(event, () => this.wake());
    page.addEventListener("beforeunload", (event) => {
      if (this.waiting.length && !this.store.works) event.preventDefault();
    });
  }

  stored() {
    return this.store.names(this.prefix).flatMap((name) => {
      try {
        return [{ name, ...JSON.parse(this.store.get(name)) }];
      } catch {
        return []; // damaged: it can never be sent
      }
    });
  }

  get empty() {
    return this.waiting.length === 0;
  }

  settled() {
    return this.empty ? Promise.resolve() : new Promise((resolve) => this.settling.push(resolve));
  }

  // Names sort by time of creation; each request has its own, so that two tabs never overwrite each other's.
  add(path, body, done = () => {}) {
    const last = this.waiting.at(-1)?.name.slice(this.prefix.length) ?? "";
    const order = Math.max(Date.now(), (Number.parseInt(last, 10) || 0) + 1);
    const key = newKey();
    const request = { path, body: { key, ...body } };
    const name = `${this.prefix}${String(order).padStart(16, "0")}:${key}`;
    this.store.set(name, JSON.stringify(request));
    this.handlers.set(name, done);
    this.waiting.push({ name, ...request });
    this.drain();
    return key;
  }

  async drain() {
    this.changed();
    if (this.sending) return;
    this.sending = true;
    try {
      while (!this.empty) await this.sendFirst();
    } finally {
      this.sending = false;
    }
    for (const resolve of this.settling.splice(0)) resolve();
    this.changed();
  }

  async sendFirst() {
    const { name, path, body } = this.waiting[0];
    let outcome;
    for (let wait = SHORTEST_WAIT; ; wait = Math.min(LONGEST_WAIT, 2 * wait)) {
      try {
        const result = await this.send(path, body);
        outcome = () => this.handlers.get(name)?.(result);
        break;
      } catch (error) {
        if (!(error instanceof Away)) {
          outcome = () => this.refused(error.message, body);
          break;
        }
        this.problem = error;
        this.changed();
        const woken = new Promise((resolve) => {
          this.wake = resolve;
        });
        await Promise.race([woken, this.pause(wait)]);
      }
    }
    this.problem = null;
    this.waiting.shift();
    this.store.delete(name);
    try {
      outcome();
    } finally {
      this.handlers.delete(name);
    }
    this.changed();
  }
}
