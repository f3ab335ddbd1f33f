// Which key does what. Children get digits, then the letters that no command uses.

import { session } from "./session.js";

export const COMMANDS = "ynwugmabrfhp";
export const CHOICE_KEYS = [
  ..."1234567890",
  ...[..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !COMMANDS.includes(letter)),
];

export const HELP = [
  [
    "Answering",
    [
      ["1 – 9, 0, letters", "choose or unchoose: the key is printed on each button"],
      ["enter", "save: the chosen ones are yes, the rest is no"],
      ["y", "yes (one question at a time)"],
      ["n", "no (one question at a time)"],
      ["w", "the coarse label itself is wrong here"],
      ["space", "skip: it comes again later, at the back"],
      ["f", "flag it: you cannot tell, or the item is broken"],
      ["u or backspace", "undo, as often as you like, even after a reload"],
      ["g", "show what the model guesses"],
      ["h", "highlight the words of a text that speak for a choice"],
    ],
  ],
  [
    "Getting around",
    [
      ["m", "next mode: group, single, grid"],
      ["a", "ask: the questions"],
      ["b", "browse all items, correct labels"],
      ["r", "review: what people should look at again"],
      ["p", "project: files, settings, people, training"],
      ["/", "search (browse), or find a choice in a long list"],
      ["?", "this help"],
      ["tab", "from one control to the next; enter and space then press it"],
      ["esc", "close, or go back to the question"],
    ],
  ],
  [
    "Browsing",
    [
      ["j", "the next item"],
      ["k", "the item before"],
      ["x", "choose or unchoose the item"],
      ["y", "yes, for the chosen ones or else this item"],
      ["n", "no, likewise"],
      ["u", "undo all of that at once"],
    ],
  ],
];

// The command a key press means, or null where it belongs to a field, a dialog or the browser.
export function pressed(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  if (document.querySelector("dialog[open]")) return null;
  const target = event.target;
  if (target.closest?.("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return null;
  }
  if ((event.key === "Enter" || event.key === " ") && target.closest?.("button, a, summary")) return null;
  if (event.repeat) return null; // a key held down must not answer the next question
  const names = { Enter: "enter", " ": "space", Backspace: "u", Escape: "esc" };
  const name = names[event.key] ?? event.key.toLowerCase();
  if (name.length === 1 && !session.keys) return null;
  return name.length === 1 || Object.values(names).includes(name) ? name : null;
}
