// Downloads: labels, answers and predictions, in the formats that `ramify export` and `ramify predict` write.

import { download } from "./api.js";
import { announce, button, h } from "./dom.js";
import { session } from "./session.js";

const CONTENTS = [
  ["labels", "all labels", "a row for each item and concept: yes, no or unknown, and why"],
  ["known", "known labels", "the same, without what is unknown"],
  ["answers", "answers", "every answer ever given: who, when, and whether it was taken back"],
  ["predictions", "predictions", "the fine labels of each item and their probabilities, known ones as they are"],
];
const FORMATS = ["csv", "jsonl", "parquet"];

// Lets the browser keep bytes as a file.
function keep(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000); // the browser has begun to write by then
}

export function exportPart() {
  const option = (value, text) => h("option", { value }, text);
  const what = h(
    "select",
    { id: "export-what" },
    CONTENTS.map(([value, text]) => option(value, text)),
  );
  const format = h(
    "select",
    { id: "export-format" },
    FORMATS.map((value) => option(value, `.${value}`)),
  );
  const safe = h("input", { type: "checkbox", id: "export-safe" });
  const about = h("p", { class: "soft" });
  const said = h("p", { class: "said", role: "status" });
  const follow = () => {
    about.textContent = `Holds ${CONTENTS.find(([value]) => value === what.value)[2]}.`;
    safe.disabled = format.value !== "csv";
  };
  for (const field of [what, format]) field.addEventListener("change", follow);
  follow();
  const start = async () => {
    const name = `${session.project.name}-${what.value}.${format.value}`;
    said.classList.remove("trouble");
    said.textContent = `Writing ${name} …`;
    go.disabled = true;
    try {
      const safely = safe.checked && !safe.disabled ? "true" : "";
      keep(await download("/api/export", { what: what.value, format: format.value, safe: safely }), name);
      said.textContent = `${name} is in your downloads.`;
    } catch (error) {
      said.classList.add("trouble");
      said.textContent = error.message;
      announce(error.message);
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Download", start, { class: "strong" });
  return [
    h(
      "div",
      { class: "fields" },
      h("label", { for: "export-what" }, h("span", null, "What"), what),
      h("label", { for: "export-format" }, h("span", null, "Format"), format),
      go,
    ),
    about,
    h(
      "p",
      { class: "check-line" },
      safe,
      h("label", { for: "export-safe" }, "Safe for spreadsheets: nothing in it is taken for a formula (.csv)"),
    ),
    said,
  ];
}
