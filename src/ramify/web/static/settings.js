// Settings: how questions are chosen and handed out, who learns, and what people who answer should know.

import { get, post } from "./api.js";
import { announce, h } from "./dom.js";
import { LONGEST_GUIDELINES } from "./words.js";

const number = (field) => (field.value.trim() === "" ? null : Number(field.value));

// `changed` is called when something was set.
export function settingsPart(changed) {
  const place = h("div", null, h("p", { class: "soft" }, "…"));
  load(place, changed);
  return [place];
}

async function load(place, changed) {
  try {
    place.replaceChildren(form(await get("/api/settings"), changed));
  } catch (error) {
    place.replaceChildren(h("p", { class: "trouble" }, error.message));
  }
}

function chooser(id, names, current) {
  return h(
    "select",
    { id },
    names.map((name) => h("option", { value: name, selected: name === current }, name)),
  );
}

function form(settings, changed) {
  const whole = (id, value, attributes = {}) =>
    h("input", { type: "number", id, min: 1, step: 1, value: value ?? "", inputmode: "numeric", ...attributes });
  const fields = {
    strategy: chooser("set-strategy", settings.strategies, settings.strategy),
    audit: whole("set-audit", Math.round(settings.audit * 100), { min: 0, max: 100, required: true }),
    gold: whole("set-gold", Math.round(settings.gold * 100), { min: 0, max: 100, required: true }),
    overlap: whole("set-overlap", settings.overlap, { max: 100, required: true }),
    budget: whole("set-budget", settings.budget, { placeholder: "none" }),
    train_every: whole("set-train-every", settings.train_every, { placeholder: "as needed" }),
    learner: chooser("set-learner", settings.learners, settings.learner),
    guidelines: h(
      "textarea",
      { id: "set-guidelines", rows: 8, maxlength: LONGEST_GUIDELINES, dir: "auto", spellcheck: "true" },
      settings.guidelines,
    ),
  };
  const line = (name, title, about) =>
    h("label", { for: fields[name].id }, h("span", null, title), fields[name], h("small", { class: "soft" }, about));
  const said = h("p", { class: "said", role: "status" });
  const save = async () => {
    const wanted = {
      strategy: fields.strategy.value,
      audit: Number(fields.audit.value) / 100,
      gold: Number(fields.gold.value) / 100,
      overlap: Number(fields.overlap.value),
      budget: number(fields.budget),
      train_every: number(fields.train_every),
      learner: fields.learner.value,
      guidelines: fields.guidelines.value,
    };
    said.classList.remove("trouble");
    try {
      const now = await post("/api/settings", wanted);
      const trained = now.learner === settings.learner ? "" : ` ${now.learner} learns from the next training on.`;
      settings.learner = now.learner;
      said.textContent = `Saved: it holds from the next question on.${trained}`;
      changed();
    } catch (error) {
      said.classList.add("trouble");
      said.textContent = `Nothing was changed: ${error.message}`;
      announce(said.textContent);
    }
  };
  const made = h(
    "form",
    { class: "settings" },
    h(
      "div",
      { class: "settings-grid" },
      line("strategy", "Strategy", "who chooses the questions"),
      line("audit", "Audit, in %", "of the questions are drawn at random, to tell how good the labels are"),
      line("gold", "Gold questions, in %", "have an answer that somebody settled, to tell how often people are right"),
      line("overlap", "People for each question", "their agreement is told where it is more than one"),
      line("budget", "Budget", "answers after which nothing is asked any more; empty: no end"),
      line("learner", "Learner", "learns from the next training on"),
      line("train_every", "Train again after", "so many answers; empty: as the learner needs it"),
    ),
    line(
      "guidelines",
      "Guidelines, in Markdown",
      "Their first heading is the title of this page, their first paragraph says what it is for.",
    ),
    h("p", { class: "settings-end" }, h("button", { class: "strong" }, "Save settings"), said),
  );
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
  return made;
}
