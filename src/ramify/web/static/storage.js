// What the browser keeps for the page. It may refuse to: the page then works all the same, and forgets.

export class LocalStore {
  constructor(open = () => localStorage) {
    this.open = open;
    this.works = true;
  }

  attempt(act) {
    try {
      return act(this.open());
    } catch {
      this.works = false;
      return null;
    }
  }

  get(name) {
    return this.attempt((store) => store.getItem(name));
  }

  set(name, value) {
    this.attempt((store) => store.setItem(name, value));
  }

  delete(name) {
    this.attempt((store) => store.removeItem(name));
  }

  names(prefix) {
    const all = this.attempt((store) => Array.from({ length: store.length }, (_, index) => store.key(index)));
    return (all ?? []).filter((name) => name.startsWith(prefix)).sort();
  }
}
