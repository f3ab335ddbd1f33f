// Uploads: a table of items, or of answers. The server takes in all of it or nothing, and says in a sentence why not.

import { upload } from "./api.js";
import { announce, button, h } from "./dom.js";
import { LARGEST_UPLOAD } from "./words.js";

const CONTENTS = [
  [
    "items",
    "new items",
    "Columns: id, text or picture, and labels; of items that are there already, the labels are updated.",
  ],
  [
    "answers",
    "answers",
    "Columns: id, concept and answer (yes, no, skip), and annotator if you like; twice counts once.",
  ],
];
const ENDINGS = ".csv,.tsv,.xlsx,.jsonl,.parquet";
const MIB = 1048576;

// `changed` is called when something was taken in.
export function importPart(changed) {
  const what = h(
    "select",
    { id: "import-what" },
    CONTENTS.map(([value, text]) => h("option", { value }, text)),
  );
  const file = h("input", { type: "file", id: "import-file", accept: ENDINGS });
  const about = h("p", { class: "soft" });
  const said = h("p", { class: "said", role: "status" });
  const say = (sentence, trouble = false) => {
    said.classList.toggle("trouble", trouble);
    said.textContent = sentence;
    if (trouble) announce(sentence);
  };
  const follow = () => {
    about.textContent = CONTENTS.find(([value]) => value === what.value)[2];
  };
  what.addEventListener("change", follow);
  follow();
  const start = async () => {
    const [chosen] = file.files;
    if (!chosen) return say("Choose a file first.", true);
    if (chosen.size > LARGEST_UPLOAD) {
      const limit = `${LARGEST_UPLOAD / MIB} MiB`;
      return say(
        `${chosen.name} is larger than ${limit}: divide it, or use \`ramify add\` where the project lies.`,
        true,
      );
    }
    say(`Reading ${chosen.name} …`);
    go.disabled = true;
    try {
      const done = await upload("/api/import", { what: what.value, name: chosen.name }, chosen);
      say(done.said.join(" "));
      file.value = "";
      changed();
    } catch (error) {
      say(`Nothing was changed: ${error.message}`, true);
    } finally {
      go.disabled = false;
    }
  };
  const go = button("Upload", start, { class: "strong" });
  return [
    h(
      "div",
      { class: "fields" },
      h("label", { for: "import-what" }, h("span", null, "What"), what),
      h(
        "label",
        { for: "import-file", class: "grow" },
        h("span", null, "Table (.csv, .tsv, .xlsx, .jsonl, .parquet)"),
        file,
      ),
      go,
    ),
    about,
    said,
  ];
}
