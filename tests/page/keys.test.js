import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { CHOICE_KEYS, COMMANDS, HELP, pressed } from "../../src/ramify/web/static/keys.js";

let openDialog = null;
globalThis.document = { querySelector: () => openDialog };
afterEach(() => {
  openDialog = null;
});

// A key press on an element of a kind, as the browser reports it.
function press(key, { on = "body", ...more } = {}) {
  const target = {
    blurred: false,
    closest: (kinds) => (kinds.split(", ").includes(on) ? target : null),
    blur: () => {
      target.blurred = true;
    },
  };
  return { event: { key, target, ...more }, target };
}
const meaning = (...given) => pressed(press(...given).event);

test("keys by the names they have on the page", () => {
  const names = {
    Enter: "enter",
    " ": "space",
    Backspace: "u",
    Escape: "esc",
    y: "y",
    Y: "y",
    7: "7",
    "/": "/",
    "?": "?",
  };
  for (const [key, name] of Object.entries(names)) assert.equal(meaning(key), name);
});

test("keys without a meaning are the browser's", () => {
  for (const key of ["Tab", "ArrowDown", "Shift", "F5", "PageDown", "Dead"]) assert.equal(meaning(key), null);
});

test("with a modifier, composed, repeated or used up, a key is no command", () => {
  for (const name of ["ctrlKey", "metaKey", "altKey", "isComposing", "repeat", "defaultPrevented"]) {
    assert.equal(meaning("y", { [name]: true }), null);
  }
  assert.equal(meaning("?", { shiftKey: true }), "?");
});

test("what is typed into a field stays there, and escape leaves the field", () => {
  for (const on of ["input", "select", "textarea"]) {
    assert.equal(meaning("y", { on }), null);
    assert.equal(meaning("Enter", { on }), null);
    const { event, target } = press("Escape", { on });
    assert.equal(pressed(event), null);
    assert.equal(target.blurred, true);
  }
});

test("enter and space press the button that has the focus; other keys are commands there too", () => {
  for (const on of ["button", "a", "summary"]) {
    assert.equal(meaning("Enter", { on }), null);
    assert.equal(meaning(" ", { on }), null);
    assert.equal(meaning("y", { on }), "y");
  }
});

test("under an open dialog nothing is answered", () => {
  openDialog = {};
  for (const key of ["Enter", "y", "Escape", "1"]) assert.equal(meaning(key), null);
});

test("a key chooses one thing only", () => {
  assert.equal(CHOICE_KEYS.join(""), "1234567890cdeijkloqstvxz");
  assert.equal(new Set([...CHOICE_KEYS, ...COMMANDS]).size, CHOICE_KEYS.length + COMMANDS.length);
});

test("the help names every command", () => {
  const named = HELP.flatMap(([, rows]) => rows.flatMap(([names]) => names.split(" or ")));
  for (const command of COMMANDS) assert.ok(named.includes(command), command);
});
