// Talking to the server. Refused: the request is wrong and will stay so. Away: it may work later.

import { session } from "./session.js";

export class Refused extends Error {}
export class Away extends Error {
  locked = false; // a person has to do something: open the link with the token, or reload
}

const PATIENCE = 20000;

// Whoever asks, whether the server can be reached is told at the top.
async function request(path, options) {
  try {
    const content = await exchange(path, options);
    session.reach(null);
    return content;
  } catch (error) {
    session.reach(error instanceof Away ? error : null);
    throw error;
  }
}

async function exchange(path, options = {}) {
  const headers = { ...options.headers, ...(session.project && { "X-Ramify-Project": session.project.project }) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
  } catch {
    throw new Away("The server does not answer.");
  }
  const content = await response.json().catch(() => null);
  if (response.ok && content !== null) return content;
  const sentence = content?.error ?? `The server answered ${response.status}.`;
  // Without the token, or on another project, the answer is fine and must be kept: it waits for the right server.
  const waits = response.ok || response.status >= 500 || [401, 408, 409, 429].includes(response.status);
  if (!waits) throw new Refused(sentence);
  throw Object.assign(new Away(sentence), { locked: [401, 409].includes(response.status) });
}

export function get(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(given).toString();
  return request(search ? `${path}?${search}` : path);
}

export const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
