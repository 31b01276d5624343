// Tokens and tenants: making, changing, revoking.

import { ask, byId, confirmed, copyOnClick, enable, say } from "/static/common.js";

byId("make")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = new FormData(byId("make"));
  const wanted = { roles: given.getAll("roles"), label: given.get("label") };
  if (given.get("tenant")) wanted.tenant = given.get("tenant");
  try {
    const made = await ask("POST", "/v1/tokens", wanted);
    byId("made-token").value = made.token;
    byId("made").hidden = false;
    byId("making").hidden = true;
    byId("made-title").focus();
    say("", "");
  } catch (error) {
    say(`No token was made: ${error.message}`, "bad");
  }
});

async function revoke(button) {
  if (!await confirmed()) return;
  try {
    await ask("DELETE", `/v1/tokens/${encodeURIComponent(button.dataset.revoke)}`);
    button.closest("tr").remove();
    say("The token is revoked.", "good");
  } catch (error) {
    say(`Not revoked: ${error.message}`, "bad");
  }
}

const amount = (name) => (byId(name).value === "" ? null : Number(byId(name).value));

byId("rights-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const named = byId("operators").value.split(",").map((each) => each.trim()).filter(Boolean);
  const operators = named.length === 1 && named[0] === "none" ? [] : named.length ? named : null;
  const numbers = ["subscriptions", "requests_per_second", "events_per_second", "matches_per_minute"];
  const conformity = byId("conformity").value;
  const rights = { ...Object.fromEntries(numbers.map((name) => [name, amount(name)])), operators, conformity };
  try {
    const name = event.target.dataset.name || byId("name").value;
    await ask("PUT", `/v1/tenants/${encodeURIComponent(name)}`, rights);
    location.assign("/tenants");
  } catch (error) {
    say(`Not saved: ${error.message}`, "bad");
  }
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-revoke]");
  if (button) revoke(button);
});
copyOnClick();
enable(document.querySelectorAll("main button"));
