// Buttons that replay what went wrong.

import { ask, say } from "/static/common.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-replay]");
  if (!button) return;
  button.disabled = true;
  try {
    await ask("POST", button.dataset.replay);
    button.textContent = "Replayed";
    say("It is tried again.", "good");
  } catch (error) {
    button.disabled = false;
    say(`That did not work: ${error.message}`, "bad");
  }
});
