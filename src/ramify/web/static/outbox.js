// Answers on their way: kept in localStorage until the server has acknowledged them, sent in order, retried for ever.
// Each carries a key by which the server knows it again, so sending one twice is harmless.

import { Away, newKey, post } from "./api.js";

const LONGEST_WAIT = 8000;

export class Outbox {
  constructor(project, { changed, refused }) {
    this.prefix = `ramify:${project}:outbox:`;
    this.changed = changed;
    this.refused = refused;
    this.handlers = new Map();
    this.kept = true; // whether the browser stores what waits
    this.waiting = this.stored();
    this.problem = null;
    this.sending = false;
    this.wake = () => {};
    for (const event of ["online", "focus"]) addEventListener(event, () => this.wake());
    addEventListener("beforeunload", (event) => {
      if (this.waiting.length && !this.kept) event.preventDefault();
    });
  }

  stored() {
    const found = [];
    try {
      for (let index = 0; index < localStorage.length; index += 1) {
        const name = localStorage.key(index);
        if (name.startsWith(this.prefix)) found.push({ name, ...JSON.parse(localStorage.getItem(name)) });
      }
    } catch {
      this.kept = false;
    }
    return found.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  // Names sort by time of creation; each request has its own, so that two tabs never overwrite each other's.
  add(path, body, done = () => {}) {
    const last = this.waiting.at(-1)?.name.slice(this.prefix.length) ?? "";
    const order = Math.max(Date.now(), (Number.parseInt(last, 10) || 0) + 1);
    const key = newKey();
    const entry = { path, body: { key, ...body } };
    const name = `${this.prefix}${String(order).padStart(16, "0")}:${key}`;
    try {
      localStorage.setItem(name, JSON.stringify(entry));
    } catch {
      this.kept = false;
    }
    this.handlers.set(name, done);
    this.waiting.push({ name, ...entry });
    this.drain();
    return key;
  }

  async drain() {
    this.changed();
    if (this.sending) return;
    this.sending = true;
    let pause = 400;
    while (this.waiting.length) {
      const { name, path, body } = this.waiting[0];
      let result = null;
      let refusal = null;
      try {
        result = await post(path, body);
      } catch (error) {
        if (error instanceof Away) {
          this.problem = error;
          this.changed();
          await new Promise((resolve) => {
            this.wake = resolve;
            setTimeout(resolve, pause);
          });
          pause = Math.min(LONGEST_WAIT, pause * 2);
          continue;
        }
        refusal = error.message;
      }
      pause = 400;
      this.problem = null;
      this.waiting.shift();
      try {
        localStorage.removeItem(name);
      } catch {
        this.kept = false;
      }
      const done = this.handlers.get(name);
      this.handlers.delete(name);
      if (refusal === null) done?.(result);
      else this.refused(refusal, body);
      this.changed();
    }
    this.sending = false;
    this.changed();
  }

  get empty() {
    return this.waiting.length === 0;
  }
}
