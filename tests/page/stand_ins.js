// What a browser has and node has not, as small as the tests of the page's modules need it.

export class FakeStorage {
  constructor(content = {}) {
    this.content = new Map(Object.entries(content));
  }
  get length() {
    return this.content.size;
  }
  key(index) {
    return [...this.content.keys()][index] ?? null;
  }
  getItem(name) {
    return this.content.get(name) ?? null;
  }
  setItem(name, value) {
    this.content.set(name, String(value));
  }
  removeItem(name) {
    this.content.delete(name);
  }
}

class FakeElement {
  constructor(tag) {
    this.tag = tag;
    this.attributes = new Map();
    this.children = [];
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  addEventListener() {}
  append(...children) {
    this.children.push(...children);
  }
  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }
  all(tag) {
    const below = this.children.flatMap((child) => child.all?.(tag) ?? []);
    return this.tag === tag ? [this, ...below] : below;
  }
}

export function useFakeDocument() {
  globalThis.document = {
    createElement: (tag) => new FakeElement(tag),
    createElementNS: (_, tag) => new FakeElement(tag),
    querySelector: () => null,
  };
}

// Lets everything happen that waits for nothing but its turn.
export const turns = () => new Promise((resolve) => setImmediate(resolve));
