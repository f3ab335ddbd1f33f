// What follows from a task, as the server sends it, before anything is drawn.

import { GRID, GROUP, SINGLE, YES } from "./words.js";

// A group of one child is a yes/no question.
export const isSingle = (task) => task.mode === SINGLE || (task.mode === GROUP && task.entries.length === 1);
export const entryKey = (entry) => `${entry.item}:${entry.concept}`;

export function sameEntries(some, others) {
  const keys = new Set(others.map(entryKey));
  return some.length === keys.size && some.every((entry) => keys.has(entryKey(entry)));
}

// The entries that answers call yes, where a task lets several be chosen.
export function chosenBy(task, answers) {
  const chosen = answers.filter(({ answer }) => answer === YES).map(entryKey);
  return new Set(isSingle(task) ? [] : chosen);
}

// The names that lead to what is asked; in a group they end above its choices, and may be none at the top.
export function namesAbove(task) {
  return isSingle(task) && task.mode === GROUP ? [...task.path, task.entries[0].name] : task.path;
}

// The question for those who hear it; `keys` are those of the choices.
export function spoken(task, keys) {
  const path = namesAbove(task).join(", ");
  if (task.mode === GRID) return `Which of ${task.entries.length} are ${path}?`;
  if (isSingle(task)) return `${path}?`;
  const choices = task.entries.map((entry, index) => `${keys[index] ?? ""} ${entry.name}`.trim()).join(", ");
  return `${path || "Which of these"}: ${choices}`;
}
