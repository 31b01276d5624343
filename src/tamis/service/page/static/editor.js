// The editor: errors are underlined as one types, the condition is tried on recent events, and explained for one.

import { address, ask, byId, copyOnClick, element, enable, say, tickets, visible } from "/static/common.js";
import { tree } from "/static/tree.js";

const WAIT_MS = 250;
const condition = byId("condition");
const under = byId("under");
const chosen = byId("event");
const { tried, subscription, admin } = byId("editor").dataset;
const number = new Intl.NumberFormat("en");
let timer = 0;
let running = new AbortController();

// Places are counted in code points, JavaScript's texts in halves of surrogate pairs.
function underline(text, findings) {
  const letters = Array.from(text);
  const kinds = new Array(letters.length + 1).fill("");
  for (const each of [...findings].reverse()) {
    const start = Math.min(each.start ?? 0, letters.length);
    const end = Math.max(start + 1, Math.min(each.end ?? start + 1, letters.length));
    for (let place = start; place < end; place += 1) if (kinds[place] !== "error") kinds[place] = each.severity;
  }
  under.replaceChildren();
  for (let from = 0; from < kinds.length;) {
    let to = from + 1;
    while (to < kinds.length && kinds[to] === kinds[from]) to += 1;
    // An error at the end of the text is underlined below a blank after it.
    const part = letters.slice(from, to).join("") + (to === kinds.length && kinds[from] ? "\u00a0" : "");
    under.append(kinds[from] ? element("mark", { class: kinds[from], text: part }) : part);
    from = to;
  }
  under.append("\n");
  follow();
}

function follow() {
  under.style.height = `${condition.clientHeight + 2}px`;
  under.style.paddingRight = `calc(.75rem + ${condition.offsetWidth - condition.clientWidth - 2}px)`;
  under.scrollTop = condition.scrollTop;
}

function list(findings) {
  byId("findings").replaceChildren(...findings.map((each) => element(
    "li", { class: each.severity }, element("b", { text: each.severity === "error" ? "Error" : "Warning" }),
    visible(` in line ${each.line}, column ${each.column}: ${each.message}${each.hint ? ` (${each.hint})` : ""}`),
  )));
}

const isPasting = () => Boolean(chosen.selectedOptions[0]?.dataset.paste);

async function explain(given, signal) {
  const place = byId("why");
  const about = {};
  try {
    if (isPasting()) { about.event = JSON.parse(byId("pasted").value); about.event_type = given.event_type; } else about.event_id = chosen.value;
    const found = await ask("POST", "/v1/conditions/explain", { condition: given.condition, dialect: given.dialect, ...about }, { signal });
    place.replaceChildren(element("p", { class: "reason", shown: found.reason }), tree(found.tree));
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(element("p", { class: "note", shown: `No explanation: ${error.message}` }));
  }
}

async function count(given, signal) {
  const found = await ask("POST", "/v1/conditions/test", { ...given, last: Number(tried) }, { signal });
  const words = found.events ? ` of the last ${number.format(found.events)} events would match.${found.unknown ? ` It is unknown for ${number.format(found.unknown)}.` : ""}` : "There are no events of this type to try it on.";
  byId("count").replaceChildren(...(found.events ? [element("b", { text: number.format(found.matched) }), words] : [words]));
}

// What is said of a condition is said of a valid one only, and goes when the text changes.
function unsay(text) {
  byId("count").textContent = "";
  byId("why").replaceChildren(element("p", { class: "empty", shown: text }));
}

async function check() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const given = { condition: condition.value, dialect: byId("dialect").value, event_type: byId("event_type").value };
  if (!given.condition.trim()) {
    underline(given.condition, []);
    list([]);
    unsay("Write a condition to see what each of its parts says of the event.");
    return;
  }
  try {
    const { findings } = await ask("POST", "/v1/conditions/lint", given, { signal });
    underline(given.condition, findings);
    list(findings);
    const isWrong = findings.some((each) => each.severity === "error");
    condition.setAttribute("aria-invalid", `${isWrong}`);
    if (isWrong) { unsay("The condition has an error."); return; }
    await Promise.all([count(given, signal), explain(given, signal)]);
  } catch (error) {
    if (error.name !== "AbortError") unsay(`Not tried: ${error.message}`);
  }
}

// The events to explain are of the chosen type.
async function offer() {
  const type = byId("event_type").value;
  const paste = chosen.querySelector("[data-paste]");
  try {
    const { events } = await ask("GET", `/subscriptions/new.json?${new URLSearchParams({ event_type: type })}`);
    if (type !== byId("event_type").value) return; // another one was chosen meanwhile
    const named = events.map(({ id }) => element("option", { value: id, shown: id.length > 60 ? `${id.slice(0, 57)}...` : id }));
    const wasPasting = isPasting();
    chosen.replaceChildren(...named, paste);
    chosen.selectedIndex = wasPasting ? named.length : 0;
    byId("pasting").hidden = !isPasting();
  } catch (error) {
    say(`No events of that type could be had: ${error.message}`, "bad");
  }
  soon();
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(check, WAIT_MS);
}

function fields() {
  const given = Object.fromEntries(new FormData(byId("form")));
  return { ...given, condition: condition.value, priority: Number(given.priority) };
}

async function subscribe() {
  const { condition, dialect, event_type, priority, valid_for, id, label, url } = fields();
  const wanted = { condition, dialect, event_type, priority, valid_for: Number(valid_for) };
  if (id) wanted.id = id;
  if (label) wanted.label = label;
  if (url) wanted.delivery = { kind: "webhook", url };
  const made = await ask("POST", "/v1/subscriptions", wanted);
  const name = made.subscription.id;
  tickets.set(name, made.ticket);
  byId("made-ticket").value = made.ticket;
  byId("made-signing").hidden = !made.secret;
  byId("made-secret").value = made.secret || "";
  byId("made-link").href = address("subscriptions", name);
  byId("editor").hidden = true;
  byId("made").hidden = false;
  byId("made-title").textContent = visible(`Subscribed: ${name}`);
  byId("made-title").focus();
}

function askForTicket() {
  byId("ask-ticket").hidden = false;
  byId("ticket").required = true;
}

async function save() {
  const { condition, dialect, event_type, priority, label } = fields();
  const ticket = byId("ticket").value.trim() || tickets.get(subscription);
  try {
    const wanted = { condition, dialect, event_type, priority, label: label || null };
    await ask("PATCH", `/v1/subscriptions/${encodeURIComponent(subscription)}`, wanted, { ticket });
  } catch (error) {
    if (error.status === 403) { tickets.forget(subscription); askForTicket(); byId("ticket").focus(); }
    throw error;
  }
  if (ticket) tickets.set(subscription, ticket);
  location.assign(address("subscriptions", subscription));
}

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  byId("subscribe").disabled = true;
  try {
    await (subscription === undefined ? subscribe() : save());
  } catch (error) {
    say(`${subscription === undefined ? "Not subscribed" : "Not saved"}: ${error.message}`, "bad");
    byId("subscribe").disabled = false;
  }
});
condition.addEventListener("input", () => { underline(condition.value, []); byId("count").textContent = ""; soon(); });
condition.addEventListener("scroll", follow);
new ResizeObserver(follow).observe(condition);
byId("dialect").addEventListener("change", soon);
byId("event_type").addEventListener("change", offer);
byId("pasted").addEventListener("input", soon);
chosen.addEventListener("change", () => { byId("pasting").hidden = !isPasting(); soon(); });
copyOnClick();
byId("pasting").hidden = !isPasting();
if (subscription !== undefined && admin !== "yes" && !tickets.get(subscription)) askForTicket();
enable([byId("subscribe"), ...document.querySelectorAll("[data-copy]")]);
if (condition.value.trim()) check();
