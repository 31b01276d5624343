// Renewing, pausing and cancelling, with the ticket that this browser keeps or that is asked for.

import { ask, byId, enable, say, tickets } from "/static/common.js";

const actions = byId("actions");
if (actions) {
  const id = actions.dataset.subscription;
  const isAdmin = actions.dataset.admin === "yes";
  const path = `/v1/subscriptions/${encodeURIComponent(id)}`;
  const WORDS = {
    renew: "It lasts as long from now as a new one would.",
    pause: "It is left out of matching until it is resumed.",
    resume: "It is matched again.",
    cancel: "It ends now and cannot be taken up again.",
  };
  const CALLS = {
    renew: ["POST", `${path}/renew`, {}], pause: ["POST", `${path}/pause`],
    resume: ["POST", `${path}/resume`], cancel: ["DELETE", path],
  };

  const tell = () => { byId("held").textContent = tickets.get(id) ? "This browser has its ticket." : isAdmin ? "As an administrator you need no ticket." : ""; };

  function confirmed(what, needsTicket) {
    const dialog = byId("ask");
    byId("ask-title").textContent = what === "cancel" ? "Cancel this subscription?" : "Its ticket is needed";
    byId("ask-words").textContent = WORDS[what];
    byId("ask-ticket").hidden = !needsTicket;
    byId("ticket").required = needsTicket;
    byId("ticket").value = "";
    byId("ask-yes").textContent = what === "cancel" ? "Cancel subscription" : "Continue";
    dialog.returnValue = "no";
    dialog.showModal();
    byId(needsTicket ? "ticket" : "ask-no").focus();
    return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
  }

  async function act(what) {
    let ticket = tickets.get(id);
    const needsTicket = !ticket && !isAdmin;
    if ((needsTicket || what === "cancel") && !await confirmed(what, needsTicket)) return;
    if (needsTicket) ticket = byId("ticket").value.trim();
    try {
      const [method, where, body] = CALLS[what];
      await ask(method, where, body, { ticket });
      if (what === "cancel") { tickets.forget(id); location.assign("/subscriptions"); return; }
      if (needsTicket) tickets.set(id, ticket);
      location.reload();
    } catch (error) {
      if (error.status === 403 && !needsTicket && !isAdmin) tickets.forget(id);
      say(`That did not work: ${error.message}`, "bad");
      tell();
    }
  }

  actions.addEventListener("click", (event) => {
    const what = event.target.closest("[data-do]")?.dataset.do;
    if (what) act(what);
  });
  enable(actions.querySelectorAll("[data-do]"));
  tell();
}
