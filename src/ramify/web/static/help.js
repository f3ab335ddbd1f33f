// All keys, in a dialog.

import { dialog, h } from "./dom.js";
import { HELP } from "./keys.js";
import { markdown } from "./markdown.js";
import { session } from "./session.js";

const keyNames = (names) => names.split(" or ").map((name, index) => [index > 0 && " or ", h("kbd", null, name)]);

export function openHelp() {
  const sections = HELP.map(([title, rows]) =>
    h(
      "section",
      null,
      h("h3", null, title),
      h(
        "dl",
        null,
        rows.map(([names, meaning]) => h("div", null, h("dt", null, keyNames(names)), h("dd", null, meaning))),
      ),
    ),
  );
  const more = h(
    "p",
    { class: "soft" },
    "Every answer is saved at once. If the server goes away, your answers are kept in this browser and sent when it is back. Scripts can take part too: ",
    h("a", { href: "/docs" }, "HTTP API"),
    ".",
  );
  const keys = h("input", { type: "checkbox", id: "single-keys", ...(session.keys && { checked: true }) });
  keys.addEventListener("change", () => {
    session.keys = keys.checked;
  });
  const { guidelines } = session.project;
  dialog(
    "Keys",
    guidelines && h("details", { open: true }, h("summary", null, "Guidelines"), markdown(guidelines)),
    h("p", { class: "keys-switch" }, keys, h("label", { for: "single-keys" }, "Single keys are commands")),
    h("div", { class: "help" }, sections),
    more,
  );
}
