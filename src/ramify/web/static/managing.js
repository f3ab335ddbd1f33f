// The project, for whoever serves it: training, files in and out, concepts, settings, people. Each part has a file of its own.

import { ConceptsPart } from "./concepts.js";
import { byId, h } from "./dom.js";
import { exportPart } from "./exporting.js";
import { importPart } from "./importing.js";
import { peoplePart } from "./people.js";
import { session } from "./session.js";
import { settingsPart } from "./settings.js";
import { trainingPart } from "./training.js";

const part = (name, title, content) =>
  h("section", { class: `card part part-${name}`, "aria-label": title }, h("h2", null, title), content);

export class Managing {
  // `changed` is called when the project is no longer what it was.
  constructor({ changed }) {
    this.changed = changed;
    this.training = h("div");
  }

  load() {
    this.concepts = new ConceptsPart(this.changed);
    byId("project").replaceChildren(
      h("h1", { class: "unseen" }, "The project"),
      part("training", "Training", this.training),
      part("export", "Download", exportPart()),
      part("import", "Upload", importPart(this.changed)),
      part("concepts", "Concepts", this.concepts.view),
      part("settings", "Settings", settingsPart(this.changed)),
      part("people", "People", peoplePart()),
    );
    this.draw();
  }

  // Somebody changed the taxonomy.
  renew() {
    this.concepts?.renew();
  }

  // What changes by itself while one looks; the focus stays on the button.
  draw() {
    if (!session.status) return;
    const focused = this.training.contains(document.activeElement);
    this.training.replaceChildren(...trainingPart(session.status, this.changed).filter(Boolean));
    if (focused) this.training.querySelector("button")?.focus({ preventScroll: true });
  }
}
