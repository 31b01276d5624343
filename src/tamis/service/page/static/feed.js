// The feed goes on while one looks: matches come as server-sent events, and wait while it is paused.

import { address, byId, element } from "/static/common.js";

const MOST_ROWS = 200;
const MOST_WAITING = 1000;
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

  const link = (folder, id) => element("a", { href: address(folder, id), class: "id" }, element("bdi", { text: id }));
  function time(text) {
    const [day, hour] = new Date(text).toISOString().slice(0, 19).split("T");
    return element("time", { datetime: text }, element("span", { text: day }), " ", element("span", { text: hour }));
  }

  function show(match) {
    const why = element("a", { href: address("notifications", match.id), text: "why" });
    why.append(element("span", { class: "hidden", text: ` did number ${match.seq} match` }));
    const cells = [
      ["number", number.format(match.seq)], ["", time(match.matched_at)], ["", link("subscriptions", match.subscription_id)],
      ["", link("events", match.event_id)], ["number wide", `${match.revision}`], ["number wide", number.format(match.batch)], ["", why],
    ];
    const row = element("tr", { class: "new" });
    for (const [style, inner] of cells) row.append(element("td", style ? { class: style } : {}, inner));
    rows.prepend(row);
    while (rows.rows.length > MOST_ROWS) rows.lastElementChild.remove();
    byId("none").hidden = true;
  }

  function tell() {
    if (isPaused) place.textContent = `Paused; ${waiting.length >= MOST_WAITING ? "over " : ""}${waiting.length} waiting.`;
    else place.textContent = isOpen ? `Live${arrived ? `; ${number.format(arrived)} came since this page was opened` : ""}.` : wasOpen ? "Connection lost; trying again …" : "Connecting …";
  }

  const query = new URLSearchParams({ after: place.dataset.after });
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
    button.textContent = isPaused ? "Go on" : "Pause";
    button.setAttribute("aria-pressed", `${isPaused}`);
    if (!isPaused) { waiting.forEach(show); waiting = []; }
    tell();
  });
  addEventListener("pagehide", () => source.close());
}
