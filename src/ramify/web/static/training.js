// The model: which one is asked, how a training goes, and a button that starts one.

import { post } from "./api.js";
import { FEWEST } from "./curve.js";
import { ago, announce, button, h, icon, lasting, lastingSince, percent } from "./dom.js";

// How far a training is, and how long it will take; or why the last one failed.
export function trainingNote(training) {
  if (training?.running) {
    const { doing, share, left } = training;
    const known = typeof share === "number";
    const done = known
      ? ` (${doing}, ${percent(share)} done${left === null ? "" : `, about ${lasting(left)} left`})`
      : "";
    return h(
      "div",
      { class: "training" },
      h("p", null, icon("wait"), ` Training for ${lastingSince(training.since)}${done}; go on answering.`),
      known
        ? h("progress", { max: 1, value: share, "aria-label": `Training: ${doing}, ${percent(share)} done` })
        : null,
    );
  }
  if (!training?.error) return null;
  return h("p", { class: "trouble" }, icon("wrong"), ` The last training failed: ${training.error}`);
}

export function modelLine({ model, training }, changed) {
  const start = async () => {
    try {
      const result = await post("/api/train", {});
      announce(result.started ? "Training has started." : (result.reason ?? "No training was started."));
    } catch (error) {
      announce(error.message);
    }
    changed();
  };
  const about = model && [model.learner, model.at && ago(model.at)].filter(Boolean).join(", ");
  const described = model
    ? [h("strong", null, `Version ${model.version}`), h("span", { class: "soft" }, ` ${about}`)]
    : h("span", { class: "soft" }, "None yet: questions are drawn at random.");
  return h(
    "div",
    { class: "model-line" },
    h("p", null, described),
    button("Train", start, { class: "small", disabled: Boolean(training?.running) }),
  );
}

// Of the view of the project: also how names were read, and how good the model thinks it is.
export function trainingPart(status, changed) {
  const { model, training } = status;
  const enough = model?.estimate.items >= FEWEST;
  const estimate = Object.entries(enough ? model.estimate : {}).filter(([name]) => name.startsWith("p@"));
  return [
    modelLine(status, changed),
    trainingNote(training),
    estimate.length > 0 &&
      h(
        "p",
        { class: "soft" },
        `By its own leave-one-out estimate: ${estimate.map(([name, value]) => `${name.toUpperCase()} ${value.toFixed(3)}`).join(", ")}`,
        `, from ${model.estimate.items} completely known items.`,
      ),
    model?.names && h("p", { class: "soft" }, `Names: ${model.names}.`),
    h(
      "p",
      { class: "soft" },
      "A training takes in everything that is known, in a process of its own; the model of now answers until it is done.",
    ),
  ];
}
