// Talking to the server. Refused: the request is wrong and will stay so. Away: it may work later.

import { session } from "./session.js";

export class Refused extends Error {}
export class Away extends Error {
  locked = false; // a person has to do something: open the link with the token, or reload
}

const PATIENCE = 20000; // milliseconds
const LONG_PATIENCE = 3600000; // for files, which may take a while

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

async function exchange(path, { patience = PATIENCE, read = (response) => response.json(), ...options } = {}) {
  const headers = { ...options.headers, ...(session.project && { "X-Ramify-Project": session.project.project }) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(patience), cache: "no-store" });
  } catch {
    throw new Away("The server does not answer.");
  }
  const content = await (response.ok ? read(response) : response.json()).catch(() => null);
  if (response.ok && content !== null) return content;
  const sentence = content?.error ?? `The server answered ${response.status}.`;
  // Without the token, or on another project, the answer is fine and must be kept: it waits for the right server.
  const waits = response.ok || response.status >= 500 || [401, 408, 409, 429].includes(response.status);
  if (!waits) throw new Refused(sentence);
  throw Object.assign(new Away(sentence), { locked: [401, 409].includes(response.status) });
}

// What is empty stays out; of a list, each value goes in.
function address(path, query) {
  const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const search = new URLSearchParams(
    given.filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
  return search.size ? `${path}?${search}` : path;
}

export const get = (path, query = {}) => request(address(path, query));

// The bytes of a file, which is whole when it is there.
export const download = (path, query) =>
  request(address(path, query), { patience: LONG_PATIENCE, read: (response) => response.blob() });

export const upload = (path, query, file) =>
  request(address(path, query), {
    method: "POST",
    patience: LONG_PATIENCE,
    headers: { "Content-Type": "application/octet-stream" },
    body: file,
  });

export const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
