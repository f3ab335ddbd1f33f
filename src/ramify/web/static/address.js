// Which view is shown, and its filters, as they stand in the address after "#": so that back, forward and links work.

export const VIEWS = ["ask", "browse", "review", "project"];

// What an address says; null where it says nothing of ours.
export function read(hash) {
  const [view, search = ""] = hash.replace(/^#/, "").split("?");
  if (!VIEWS.includes(view)) return null;
  return { view, filters: Object.fromEntries(new URLSearchParams(search)) };
}

export function write(view, filters = {}) {
  const given = Object.entries(filters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#${view}${search ? `?${search}` : ""}`;
}

// A new step that back returns from; none where the address is the same.
export function go(view, filters = {}) {
  const next = write(view, filters);
  if (next !== location.hash) history.pushState(null, "", next);
}
