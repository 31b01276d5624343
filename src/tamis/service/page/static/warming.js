// While the stream warms up, the head of every page says so; this takes the words away once it is ready.

const SECONDS = 1;

async function look() {
  if (!document.hidden) {
    try {
      const answer = await fetch("/ready");
      if (answer.ok) { document.getElementById("warming")?.remove(); return; }
    } catch { /* the service is away; it will be back */ }
  }
  setTimeout(look, 1000 * SECONDS);
}

setTimeout(look, 1000 * SECONDS);
