// Who answers: asked for once, shown at the top, and changed there.

import { button, byId, h } from "./dom.js";
import { markdown } from "./markdown.js";
import { session } from "./session.js";
import { LONGEST_NAME } from "./words.js";

// What somebody reads in the first minute.
function introduction() {
  if (session.annotator) return null;
  const { title, about, guidelines } = session.project;
  return [
    h("h1", { dir: "auto" }, title),
    about && h("p", { dir: "auto" }, about),
    h(
      "p",
      { class: "soft" },
      "You see items and say what applies: all choices for one item, one yes or no at a time, or twelve items at once. Every answer is saved at once and can be undone.",
    ),
    guidelines && h("details", null, h("summary", null, "Guidelines"), markdown(guidelines)),
  ];
}

export function askName() {
  return new Promise((resolve) => {
    const field = h("input", {
      id: "name",
      dir: "auto",
      maxlength: LONGEST_NAME,
      autocomplete: "name",
      required: true,
      value: session.annotator,
    });
    const form = h(
      "form",
      { method: "dialog" },
      h("label", { for: "name" }, "Your name is kept with your answers, so that others can ask you about them."),
      field,
      h(
        "div",
        { class: "main-actions" },
        h("button", { class: "primary" }, "Start ", h("kbd", null, "enter")),
        session.annotator && button("Cancel", () => box.close(), { class: "strong" }, "esc"),
      ),
    );
    const box = h(
      "dialog",
      { class: "name-dialog", "aria-label": "Who is answering?" },
      ...(introduction() ?? []).filter(Boolean),
      h("h2", null, "Who is answering?"),
      form,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = field.value.replace(/\p{Cc}/gu, "").trim();
      if (!name) return;
      session.annotator = name;
      box.close();
    });
    box.addEventListener("cancel", (event) => {
      if (!session.annotator) event.preventDefault();
    });
    box.addEventListener("close", () => {
      box.remove();
      if (session.annotator) resolve();
    });
    document.body.append(box);
    box.showModal();
    field.select();
  });
}

export function drawName() {
  const { annotator } = session;
  byId("annotator").replaceChildren(
    h("span", { class: "avatar", dir: "auto", "aria-hidden": "true" }, [...annotator][0]?.toUpperCase() ?? "?"),
    h("span", { class: "unseen" }, "You are "),
    h("span", { class: "clip", dir: "auto" }, annotator),
    h("span", { class: "unseen" }, ". Change the name."),
  );
}
