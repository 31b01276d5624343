// An explanation as a tree, as tamis.report.tree draws it.

import { element } from "/static/common.js";

const VERDICTS = { true: ["✓", "yes", "true"], false: ["✗", "no", "false"], null: ["?", "open", "unknown"] };
const SHORT = ["and", "or", "not", "xor", "is_true", "is_not_true", "is_false", "is_not_false"];

function label(part) {
  if (!part.parts?.length || !part.operator) return part.text;
  if (part.operator === "at_least") return `AT LEAST ${part.text.replace(/^at_least\(/, "").split(",")[0]} OF`;
  return SHORT.includes(part.operator) ? part.operator.toUpperCase().replaceAll("_", " ") : part.text;
}

function item(part) {
  const [mark, style, word] = VERDICTS[String(part.verdict)];
  const values = Object.entries(part.values || {}).filter(([name]) => name !== part.text).map(([name, value]) => `${name} = ${value}`);
  const shown = element("span", { class: `part ${style}` }, element("b", { title: word, text: mark }), element("bdi", { shown: label(part) }));
  if (values.length) shown.append(element("small", { shown: values.join(", ") }));
  const made = element("li", {}, shown);
  if (part.parts?.length) made.append(element("ul", {}, ...part.parts.map(item)));
  return made;
}

export const tree = (root) => element("ul", { class: "tree" }, item(root));
