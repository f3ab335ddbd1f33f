// Why somebody skips for good: they cannot tell, or the item is broken. It leaves the queue, and Review lists it.

import { button, dialog, h } from "./dom.js";
import { BROKEN, CANNOT_TELL, LONGEST_NOTE } from "./words.js";

const MEANINGS = [
  [CANNOT_TELL, "Cannot tell", "This question is not asked again."],
  [BROKEN, "Broken", "Nothing is asked about this item any more."],
];

export function openFlag(say) {
  const note = h("input", { id: "note", maxlength: LONGEST_NOTE, dir: "auto", autocomplete: "off" });
  const choices = MEANINGS.map(([flag, word, meaning]) =>
    button(
      [h("strong", null, word), h("small", null, meaning)],
      () => {
        box.close();
        say(flag, note.value.trim());
      },
      { class: "flag-choice" },
    ),
  );
  const box = dialog(
    "Flag it",
    h("label", { for: "note" }, "A note, if you like"),
    note,
    h("div", { class: "flag-choices" }, choices),
    h("p", { class: "soft" }, "It is listed under Review, where the flag can be lifted."),
  );
  box.classList.add("flag-dialog");
}
