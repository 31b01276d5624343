// Times in the zone of the reader. Pages have them in UTC, which stays where no script runs, and in the title.

const two = (number) => `${number}`.padStart(2, "0");
const date = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
const minute = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
const clock = (at) => `${minute(at)}:${two(at.getSeconds())}`;
const day = (at) => `${two(at.getDate())} ${at.toLocaleString("en", { month: "short" })}`;
const FORMS = { date, day, minute, clock };

// A `<time>` has two spans; the labels and hints of charts name the form in which they begin.
export function localise(root) {
  for (const each of root.querySelectorAll("time[datetime]")) {
    const at = new Date(each.dateTime);
    each.title = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
    each.children[0].textContent = date(at);
    each.children[1].textContent = clock(at);
  }
  for (const each of root.querySelectorAll("[data-at]")) {
    const text = FORMS[each.dataset.form](new Date(each.dataset.at));
    each.textContent = text + each.textContent.slice(text.length);
  }
}

export function timeElement(text) {
  const made = document.createElement("time");
  made.dateTime = text;
  made.append(document.createElement("span"), " ", document.createElement("span"));
  const holder = document.createElement("div");
  holder.append(made);
  localise(holder);
  return made;
}

localise(document);
document.getElementById("zone").textContent = `Times are in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
