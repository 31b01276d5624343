// Buttons that replay what went wrong, and resume webhooks.

import { ask, enable, say } from "/static/common.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-replay]");
  if (!button) return;
  button.disabled = true;
  try {
    const { body, done } = button.dataset;
    const said = await ask("POST", button.dataset.replay, body && JSON.parse(body));
    if (done === "reload") { location.reload(); return; }
    button.textContent = "Replayed";
    const left = said?.left ? `; ${said.left} are not, because their receiver refused or they are not kept any more` : "";
    say(said?.replayed === undefined ? "It is tried again." : `${said.replayed} are tried again${left}.`, "good");
  } catch (error) {
    button.disabled = false;
    say(`That did not work: ${error.message}`, "bad");
  }
});
enable(document.querySelectorAll("[data-replay]"));
