// What the scripts of all pages share: asking the service, addresses, and tickets that this browser keeps.

const KEY = "tamis.tickets";

export const byId = (id) => document.getElementById(id);

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || `the service answered ${status}`);
    this.status = status;
    this.problems = body?.problems || [];
  }
}

export async function ask(method, path, body, { ticket, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (ticket) headers["Tamis-Ticket"] = ticket;
  const answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  let said = null;
  try { said = text ? JSON.parse(text) : null; } catch { /* whoever answered is not the service */ }
  if (!answer.ok) throw new Problem(answer.status, said);
  return said;
}

// As addresses.py has it: a name that no path can hold goes into the query.
export function address(folder, id) {
  if (["new", "by-id", ".", ".."].includes(id) || id.endsWith(".json")) {
    return `/${folder}/by-id?${new URLSearchParams({ id })}`;
  }
  return `/${folder}/${encodeURIComponent(id.toWellFormed ? id.toWellFormed() : id)}`;
}

export function element(name, { text, ...attributes } = {}, ...inner) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  made.append(...inner);
  return made;
}

export function say(text, kind) {
  const place = byId("said");
  place.textContent = text;
  place.className = kind;
}

function all() {
  try { return JSON.parse(localStorage.getItem(KEY)) || {}; } catch { return {}; }
}

const named = (subscription) => `${document.body.dataset.tenant}/${subscription}`;

export const tickets = {
  get: (subscription) => all()[named(subscription)],
  set(subscription, ticket) {
    try { localStorage.setItem(KEY, JSON.stringify({ ...all(), [named(subscription)]: ticket })); } catch { /* full */ }
  },
  forget(subscription) {
    const rest = all();
    delete rest[named(subscription)];
    try { localStorage.setItem(KEY, JSON.stringify(rest)); } catch { /* not allowed */ }
  },
};
