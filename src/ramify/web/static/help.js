// All keys, in a dialog.

import { dialog, h } from "./dom.js";
import { HELP } from "./keys.js";

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
  dialog("Keys", h("div", { class: "help" }, sections), more);
}
