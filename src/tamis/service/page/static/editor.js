// The editor: errors are underlined as one types, the condition is tried on recent events, and explained for one.

import { address, ask, byId, element, say, tickets } from "/static/common.js";
import { tree } from "/static/tree.js";

const WAIT_MS = 250;
const condition = byId("condition");
const under = byId("under");
const chosen = byId("event");
const tried = Number(byId("editor").dataset.tried);
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
    ` in line ${each.line}, column ${each.column}: ${each.message}${each.hint ? ` (${each.hint})` : ""}`,
  )));
}

const isPasting = () => Boolean(chosen.selectedOptions[0]?.dataset.paste);

async function explain(given, signal) {
  const place = byId("why");
  const about = {};
  try {
    if (isPasting()) { about.event = JSON.parse(byId("pasted").value); about.event_type = given.event_type; } else about.event_id = chosen.value;
    const found = await ask("POST", "/v1/conditions/explain", { condition: given.condition, ...about }, { signal });
    place.replaceChildren(element("p", { class: "reason", text: found.reason }), tree(found.tree));
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(element("p", { class: "note", text: `No explanation: ${error.message}` }));
  }
}

async function count(given, signal) {
  const found = await ask("POST", "/v1/conditions/test", { ...given, last: tried }, { signal });
  const words = found.events ? ` of the last ${number.format(found.events)} events would match.` : "There are no events of this type to try it on.";
  byId("count").replaceChildren(...(found.events ? [element("b", { text: number.format(found.matched) }), words] : [words]));
}

async function judge() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const given = { condition: condition.value, event_type: byId("event_type").value };
  if (!given.condition.trim()) { underline(given.condition, []); list([]); byId("count").textContent = ""; return; }
  try {
    const { findings } = await ask("POST", "/v1/conditions/lint", given, { signal });
    underline(given.condition, findings);
    list(findings);
    const isWrong = findings.some((each) => each.code === "syntax");
    condition.setAttribute("aria-invalid", `${isWrong}`);
    if (isWrong) { byId("count").textContent = ""; return; }
    await Promise.all([count(given, signal), explain(given, signal)]);
  } catch (error) {
    if (error.name !== "AbortError") byId("count").textContent = `Not tried: ${error.message}`;
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(judge, WAIT_MS);
}

async function subscribe(event) {
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(byId("form")));
  const wanted = { condition: condition.value, event_type: fields.event_type, valid_for: Number(fields.valid_for), priority: Number(fields.priority) };
  if (fields.id) wanted.id = fields.id;
  if (fields.label) wanted.label = fields.label;
  if (fields.url) wanted.delivery = { kind: "webhook", url: fields.url };
  byId("subscribe").disabled = true;
  try {
    const made = await ask("POST", "/v1/subscriptions", wanted);
    const { id } = made.subscription;
    tickets.set(id, made.ticket);
    byId("made-ticket").value = made.ticket;
    byId("made-signing").hidden = !made.secret;
    byId("made-secret").value = made.secret || "";
    byId("made-link").href = address("subscriptions", id);
    byId("editor").hidden = true;
    byId("made").hidden = false;
    byId("made-title").textContent = `Subscribed: ${id}`;
    byId("made-title").focus();
  } catch (error) {
    say(`Not subscribed: ${error.message}`, "bad");
    byId("subscribe").disabled = false;
  }
}

condition.addEventListener("input", () => { underline(condition.value, []); soon(); });
condition.addEventListener("scroll", follow);
new ResizeObserver(follow).observe(condition);
byId("event_type").addEventListener("change", soon);
byId("pasted").addEventListener("input", soon);
chosen.addEventListener("change", () => { byId("pasting").hidden = !isPasting(); soon(); });
byId("form").addEventListener("submit", subscribe);
document.addEventListener("click", async (event) => {
  const field = byId(event.target.closest("[data-copy]")?.dataset.copy);
  if (!field) return;
  field.select();
  try { await navigator.clipboard.writeText(field.value); event.target.textContent = "Copied"; } catch { /* it is selected */ }
});
byId("pasting").hidden = !isPasting();
if (condition.value.trim()) judge();
