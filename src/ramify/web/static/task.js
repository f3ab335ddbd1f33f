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

// What is directly below a concept, by name.
export const below = (concepts, concept) =>
  [...concepts.values()].filter(({ parent }) => parent === concept).map(({ name }) => name);

// What an answer leads to, in words; nothing where the concept is a fine one.
export function follows(concepts, concept, most = 3) {
  const names = below(concepts, concept);
  if (!names.length) return "";
  const more = names.length > most ? ` and ${names.length - most} more` : "";
  return `${names.slice(0, most).join(", ")}${more}`;
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
