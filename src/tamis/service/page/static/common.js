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

// `text` is JSON that somebody wrote, and goes as it is: parsing would round its numbers.
export async function ask(method, path, body, { ticket, signal, text = body === undefined ? undefined : JSON.stringify(body) } = {}) {
  const headers = {};
  if (text !== undefined) headers["Content-Type"] = "application/json";
  if (ticket) headers["Tamis-Ticket"] = ticket;
  const answer = await fetch(path, { method, headers, signal, body: text });
  const answered = await answer.text();
  let said = null;
  try { said = answered ? JSON.parse(answered) : null; } catch { /* whoever answered is not the service */ }
  if (!answer.ok) throw new Problem(answer.status, said);
  return said;
}

// As links.py has it: a name that no path can hold goes into the query.
export function address(folder, id) {
  if (["new", "edit", "by-id", ".", ".."].includes(id) || id.endsWith(".json")) {
    return `/${folder}/by-id?${new URLSearchParams({ id })}`;
  }
  return `/${folder}/${encodeURIComponent(id.toWellFormed ? id.toWellFormed() : id)}`;
}

// As tamis.report.markup has it: characters that nobody sees, or that turn others around, are spelled out.
export function visible(text) {
  return `${text}`.replace(/(?![ \n\t])[\p{C}\p{Z}]/gu, (found) => {
    const code = found.codePointAt(0).toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
}

// `text` is taken letter by letter; `shown` is what somebody wrote, for people to see.
export function element(name, { text, shown, ...attributes } = {}, ...inner) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (shown !== undefined) made.textContent = visible(shown);
  made.append(...inner);
  return made;
}

// Buttons are disabled in the page: before their script listens they would take a click and do nothing.
export function enable(buttons) {
  for (const button of buttons) button.disabled = false;
}

// Whether the page's dialog was answered with yes.
export async function confirmed() {
  const dialog = byId("ask");
  dialog.returnValue = "no";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "yes";
}

export function copyOnClick() {
  document.addEventListener("click", async (event) => {
    const field = byId(event.target.closest("[data-copy]")?.dataset.copy);
    if (!field) return;
    field.select();
    try { await navigator.clipboard.writeText(field.value); event.target.textContent = "Copied"; } catch { /* it is selected */ }
  });
}

export function say(text, kind) {
  const place = byId("said");
  place.textContent = visible(text);
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
