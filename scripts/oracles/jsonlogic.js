// Decides rules of JSONLogic by json-logic-js; input and output are those of cel.go.
const jsonLogic = require(process.argv[2] + "/node_modules/json-logic-js");
const [events, ...rules] = require("fs").readFileSync(0, "utf-8").trim().split("\n").map((line) => JSON.parse(line));

for (const rule of rules) {
  let matches = null;
  try {
    const parsed = JSON.parse(rule);
    matches = [...events.keys()].filter((place) => jsonLogic.truthy(jsonLogic.apply(parsed, events[place])));
  } catch (error) {
    matches = null;
  }
  console.log(JSON.stringify(matches));
}
