// Publishes what is written, and follows the first few events until the stream has matched them.

import { address, ask, byId, element, enable, say } from "/static/common.js";

const MOST_FOLLOWED = 10;
const WAIT_MS = 400;
const MOST_WAITS = 150;
const pause = () => new Promise((resolve) => setTimeout(resolve, WAIT_MS));
const link = (folder, id) => element("a", { href: address(folder, id), class: "id" }, element("bdi", { shown: id }));

function outcome(found) {
  if (found.dead_letter) return [element("p", { class: "problem", shown: `It could not be matched: ${found.dead_letter.reason}` })];
  if (!found.matches.length) return [element("p", { class: "empty", text: "No subscription matched it." })];
  const list = element("ul", { class: "plain" });
  for (const match of found.matches) {
    const why = element("a", { href: address("notifications", match.id), text: "why" });
    list.append(element("li", {}, link("subscriptions", match.subscription_id), " ", why, element("code", { class: "cut", shown: match.condition ?? "" })));
  }
  const words = `It matched ${found.next ? "more than " : ""}${found.matches.length} subscription${found.matches.length === 1 ? "" : "s"}:`;
  return [element("p", { text: words }), list];
}

async function follow(id, place) {
  for (let waits = 0; waits < MOST_WAITS && place.isConnected; waits += 1) {
    try {
      const found = await ask("GET", `/events/by-id.json?${new URLSearchParams({ id })}`);
      if (found.is_done || found.dead_letter) { place.replaceChildren(...outcome(found)); return; }
    } catch (error) {
      place.replaceChildren(element("p", { class: "problem", shown: error.message }));
      return;
    }
    await pause();
  }
  place.replaceChildren(element("p", { class: "empty", text: "The stream has not come to it yet; its page will show what it matched." }));
}

byId("form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = byId("publish");
  button.disabled = true;
  say("", "");
  try {
    const query = new URLSearchParams({ event_type: byId("event_type").value });
    const { ids, repeated } = await ask("POST", `/v1/events?${query}`, undefined, { text: byId("content").value });
    const again = repeated ? `; ${repeated} of them came before under the same id` : "";
    const followed = ids.slice(0, MOST_FOLLOWED).map((id) => (
      [id, element("div", {}, element("p", { class: "empty", text: "Waiting for the stream …" }))]
    ));
    const shown = followed.map(([id, place]) => element("article", { class: "card" }, element("h3", {}, link("events", id)), place));
    const words = `Published ${ids.length} event${ids.length === 1 ? "" : "s"}${again}.${ids.length > MOST_FOLLOWED ? ` The first ${MOST_FOLLOWED}:` : ""}`;
    byId("results").replaceChildren(element("p", { id: "published", text: words }), ...shown);
    for (const [id, place] of followed) follow(id, place);
  } catch (error) {
    say(`Not published: ${error.message}`, "bad");
  }
  button.disabled = false;
});
if (byId("publish")) enable([byId("publish")]);
