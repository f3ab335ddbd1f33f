// How far the project is: budget, model, learning curve, and counts on the taxonomy tree.

import { post } from "./api.js";
import { learningCurve } from "./curve.js";
import { ago, announce, button, byId, h, icon, svg } from "./dom.js";

const number = (value) => value.toLocaleString("en-GB");

function answered(status) {
  const { answers, budget } = status;
  return h(
    "section",
    null,
    h("h2", { class: "small-title" }, "Answers"),
    h(
      "p",
      { class: "figure" },
      h("strong", null, number(answers)),
      budget ? ` of ${number(budget)}` : " given",
      h("span", { class: "soft" }, ` · ${number(status.unknown)} entries open`),
    ),
    budget
      ? h("progress", {
          max: budget,
          value: Math.min(answers, budget),
          "aria-label": `${answers} of ${budget} answers`,
        })
      : null,
  );
}

function model(status, changed) {
  const { model: current, training } = status;
  const start = async () => {
    try {
      const result = await post("/api/train", {});
      announce(result.started ? "Training has started." : (result.reason ?? "No training was started."));
    } catch (error) {
      announce(error.message);
    }
    changed();
  };
  const note = training?.running
    ? h("p", { class: "training" }, icon("wait"), ` Training since ${ago(training.since)}; go on answering.`)
    : training?.error
      ? h("p", { class: "trouble" }, icon("wrong"), ` The last training failed: ${training.error}`)
      : null;
  return h(
    "section",
    null,
    h("h2", { class: "small-title" }, "Model"),
    h(
      "div",
      { class: "model-line" },
      h(
        "p",
        null,
        current
          ? [
              h("strong", null, current.version === null ? "Loading …" : `Version ${current.version}`),
              h(
                "span",
                { class: "soft" },
                ` ${[current.learner, current.at && ago(current.at)].filter(Boolean).join(", ")}`,
              ),
            ]
          : h("span", { class: "soft" }, "None yet: questions are drawn at random."),
      ),
      button("Train", start, { class: "small", disabled: Boolean(training?.running) }),
    ),
    note,
  );
}

function curve(status) {
  const gains = Object.entries(status.next_100 ?? {}).filter(([, gain]) => typeof gain === "number");
  const signed = (gain) => `${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(3)}`;
  return h(
    "section",
    null,
    h("h2", { class: "small-title" }, "Learning curve", h("span", { class: "soft" }, " leave-one-out estimate")),
    learningCurve(status.curve),
    gains.length > 0 &&
      h(
        "p",
        { class: "more-answers" },
        "100 more answers would bring about ",
        gains
          .slice(0, 3)
          .map(([name, gain], index) => [
            index > 0 && ", ",
            h("strong", null, `${signed(gain)} ${name.toUpperCase()}`),
          ]),
        ".",
      ),
  );
}

function counts({ yes, no, unknown }) {
  const all = yes + no + unknown || 1;
  const part = (name, before, share) =>
    svg("rect", { class: name, x: `${(100 * before) / all}%`, width: `${(100 * share) / all}%`, height: "100%" });
  return svg("svg", { class: "counts", "aria-hidden": "true" }, part("part-yes", 0, yes), part("part-no", yes, no));
}

function tree(status, concepts, browse) {
  const of = new Map(status.concepts.map((one) => [one.concept, one]));
  const rows = [...concepts.values()]
    .filter((concept) => of.has(concept.concept))
    .map((concept) => {
      const row = of.get(concept.concept);
      const depth = Math.min(6, concept.path.split(" > ").length - 1);
      return h(
        "tr",
        { class: `depth-${depth}` },
        h(
          "th",
          { scope: "row" },
          button(concept.name, () => browse(concept.concept), { class: "link", title: `Browse ${concept.path}` }),
          counts(row),
        ),
        [row.yes, row.no, row.unknown].map((count) => h("td", null, number(count))),
      );
    });
  return h(
    "section",
    null,
    h("h2", { class: "small-title" }, "Concepts"),
    h(
      "div",
      { class: "tree", tabindex: 0, role: "region", "aria-label": "Counts of each concept" },
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col" }, h("span", { class: "unseen" }, "Concept")),
            ["yes", "no", "open"].map((title) => h("th", { scope: "col" }, title)),
          ),
        ),
        h("tbody", null, rows),
      ),
    ),
  );
}

// Who answered how much, and how often they agree with others about the same entries.
function people(status) {
  const found = status.annotators ?? [];
  if (found.length < 2) return null;
  const row = (one) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, one.name),
      h("td", null, number(one.yes + one.no)),
      h(
        "td",
        null,
        one.agreement === null || one.agreement === undefined ? "–" : `${Math.round(one.agreement * 100)} %`,
      ),
    );
  return h(
    "section",
    { class: "people" },
    h("h2", { class: "small-title" }, "People"),
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h("tr", null, h("th"), h("th", { scope: "col" }, "answers"), h("th", { scope: "col" }, "agreement")),
      ),
      h("tbody", null, found.slice(0, 20).map(row)),
    ),
  );
}

export function drawProgress(status, concepts, { browse, changed }) {
  const place = byId("progress");
  const scrolled = place.querySelector(".tree")?.scrollTop ?? 0;
  const inside = [...place.querySelectorAll("button, [tabindex]")].indexOf(document.activeElement);
  place.replaceChildren(
    answered(status),
    model(status, changed),
    curve(status),
    tree(status, concepts, browse),
    people(status) ?? "",
  );
  place.querySelector(".tree").scrollTop = scrolled;
  if (inside >= 0) place.querySelectorAll("button, [tabindex]")[inside]?.focus({ preventScroll: true });
}
