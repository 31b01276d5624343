// Declaring an event type, checking before what that would refuse, and dropping one that nothing needs.

import { address, ask, byId, confirmed, element, enable, say, visible } from "/static/common.js";

const form = byId("declare");
const MOST_SHOWN = 20;

async function send(isCheck) {
  const name = byId("name").value;
  byId("refused").replaceChildren();
  try {
    const path = `/v1/event-types/${encodeURIComponent(name)}${isCheck ? "?dry_run=true" : ""}`;
    const { refused } = await ask("PUT", path, undefined, { text: byId("content").value });
    if (!isCheck) { location.assign(address("event-types", name)); return; }
    say(refused.length ? `It would refuse ${refused.length} subscription${refused.length === 1 ? "" : "s"}:` : "It is valid, and refuses no subscription.", refused.length ? "bad" : "good");
    byId("refused").replaceChildren(...refused.slice(0, MOST_SHOWN).map(({ id, detail }) => element(
      "li", { class: "error" }, element("a", { href: address("subscriptions", id), class: "id" }, element("bdi", { shown: id })), visible(`: ${detail}`),
    )));
  } catch (error) {
    say(`${isCheck ? "Not valid" : "Not declared"}: ${error.message}`, "bad");
  }
}

async function drop(name) {
  if (!await confirmed()) return;
  try {
    await ask("DELETE", `/v1/event-types/${encodeURIComponent(name)}`);
    location.assign("/event-types");
  } catch (error) {
    say(`Not dropped: ${error.message}`, "bad");
  }
}

for (const button of document.querySelectorAll("[data-drop]")) {
  button.addEventListener("click", () => drop(button.dataset.drop));
  enable([button]);
}
form.addEventListener("submit", (event) => { event.preventDefault(); send(false); });
byId("check").addEventListener("click", () => { if (form.reportValidity()) send(true); });
enable(form.querySelectorAll("button"));
