// The feed goes on while one looks: matches come as server-sent events, and wait while it is paused.

import { address, ask, byId, element, enable } from "/static/common.js";
import { timeElement } from "/static/times.js";

const MOST_ROWS = 200;
const MOST_WAITING = 1000;
const SECONDS = 2;
const UNSETTLED = ["waiting", "retrying", "replaying", "pending"].map((state) => `[data-delivery] .${state}`).join();
const place = byId("live");

if (place) {
  const rows = document.querySelector("#matches tbody");
  const button = byId("pause");
  const number = new Intl.NumberFormat("en");
  let waiting = [];
  let isPaused = false;
  let arrived = 0;
  let isOpen = false;
  let wasOpen = false;

  const link = (folder, id) => element("a", { class: "id", href: address(folder, id) }, element("bdi", { shown: id }));
  const cut = (text) => element("code", { class: "cut", shown: text.length > 160 ? `${text.slice(0, 157)}...` : text });

  // As the macros `described` and `kept` have it.
  function named(match) {
    const { subscription_id, label, condition } = match;
    const cell = [link("subscriptions", subscription_id)];
    if (label) cell.push(element("span", { class: "label" }, element("bdi", { shown: label })));
    if (condition) cell.push(cut(condition));
    return cell;
  }
  const event = ({ event_id, attributes }) => [link("events", event_id), ...(attributes ? [cut(JSON.stringify(attributes))] : [])];

  // As the macro `notifications` has it; without a webhook the cell is empty.
  function fillDelivery(cell, { seq, delivery: { state, reason } }) {
    cell.dataset.delivery = seq;
    if (reason) cell.title = reason; else cell.removeAttribute("title");
    cell.replaceChildren(...(state === "pull" ? [] : [element("span", { class: `state ${state}`, text: state })]));
    return cell;
  }

  function show(match) {
    const why = element("a", { href: address("notifications", match.id), text: "why" });
    why.append(element("span", { class: "hidden", text: ` did number ${match.seq} match` }));
    const cells = [
      ["number wide", number.format(match.seq)], ["", timeElement(match.matched_at)], ["", ...named(match)], ["", ...event(match)],
      ["number wide", `${match.revision}`], ["number wide", number.format(match.batch)], ["", why],
    ];
    const row = element("tr", { class: "new" });
    for (const [style, ...inner] of cells) row.append(element("td", style ? { class: style } : {}, ...inner));
    row.insertBefore(fillDelivery(element("td"), match), row.cells[4]);
    rows.prepend(row);
    while (rows.rows.length > MOST_ROWS) rows.lastElementChild.remove();
    byId("none").hidden = true;
  }

  function tell() {
    if (isPaused) place.textContent = `Paused; ${waiting.length >= MOST_WAITING ? "over " : ""}${waiting.length} waiting.`;
    else place.textContent = isOpen ? `Live${arrived ? `; ${number.format(arrived)} came since this page was opened` : ""}.` : wasOpen ? "Connection lost; trying again …" : "Connecting …";
  }

  const query = new URLSearchParams({ after: place.dataset.after, describe: true });
  if (place.dataset.subscription) query.set("subscription", place.dataset.subscription);
  const source = new EventSource(`/v1/notifications/stream?${query}`);
  source.addEventListener("open", () => { isOpen = wasOpen = true; tell(); });
  source.addEventListener("error", () => { isOpen = false; tell(); });
  source.addEventListener("notification", (event) => {
    const match = JSON.parse(event.data);
    arrived += 1;
    if (isPaused) { waiting.push(match); if (waiting.length > MOST_WAITING) waiting.shift(); } else show(match);
    tell();
  });
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? "Resume" : "Pause";
    button.setAttribute("aria-pressed", `${isPaused}`);
    if (!isPaused) { waiting.forEach(show); waiting = []; }
    tell();
  });

  // A match comes before its delivery: as long as one shown is under way, ask what became of it.
  async function follow() {
    if (!document.hidden && rows.querySelector(UNSETTLED)) {
      const wanted = new URLSearchParams({ ...Object.fromEntries(query), newest: true, limit: MOST_ROWS });
      try {
        const { items } = await ask("GET", `/v1/notifications?${wanted}`);
        for (const match of items) {
          const cell = rows.querySelector(`[data-delivery="${match.seq}"]`);
          if (cell) fillDelivery(cell, match);
        }
      } catch { /* the stream says that the connection is lost, and this is tried again */ }
    }
    setTimeout(follow, 1000 * SECONDS);
  }
  setTimeout(follow, 1000 * SECONDS);
  enable([button]);
  addEventListener("pagehide", () => source.close());
}
