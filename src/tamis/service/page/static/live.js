// Parts of a page marked `data-live` follow the service: the page is asked for again, and what differs is exchanged.

import { localise } from "/static/times.js";

const SECONDS = 2;
let failures = 0;

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (answer.redirected) { location.reload(); return; } // signed out
  if (!answer.ok) throw new Error(`${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  localise(fresh); // or every time would differ
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    const isUsed = part.contains(document.activeElement) || part.matches(":hover") && getSelection()?.toString();
    if (now && !isUsed && now.outerHTML !== part.outerHTML) part.replaceWith(document.importNode(now, true));
  }
}

async function tick() {
  if (!document.hidden) {
    try { await refresh(); failures = 0; } catch { failures += 1; }
    document.body.classList.toggle("lost", failures > 1);
  }
  setTimeout(tick, 1000 * SECONDS * Math.min(8, 1 + failures));
}

setTimeout(tick, 1000 * SECONDS);
