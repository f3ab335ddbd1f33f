// Names that nobody else has.

export function newKey() {
  if (globalThis.crypto?.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing where the page is not on https or localhost
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
