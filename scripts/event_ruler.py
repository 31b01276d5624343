"""Lets event-ruler, the public engine of EventBridge, decide the corpus of patterns and events in the tests.

    python scripts/event_ruler.py JARS [--random COUNT --seed SEED]

JARS is a folder with event-ruler and what it needs (jackson-core, jackson-databind, jackson-annotations,
fastdoubleparser) from Maven Central. The verdicts in the corpus are replaced by those of the engine; `--random`
adds patterns that are made up.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "language" / "dialects" / "eventbridge_corpus.jsonl"
EVENTS_OF_A_PATTERN = 6
PROGRAM = """
import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import software.amazon.event.ruler.Machine;

public class Decide {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode one = json.readTree(line);
      Machine machine = Machine.builder().build();
      List<Boolean> verdicts = new ArrayList<>();
      try {
        for (JsonNode pattern : one.get("patterns")) machine.addRule("rule", pattern.asText());
        for (JsonNode event : one.get("events"))
          verdicts.add(!machine.rulesForJSONEvent(event.asText()).isEmpty());
        out.println(json.writeValueAsString(verdicts));
      } catch (IOException | RuntimeException error) {
        out.println("null");
      }
    }
  }
}
"""


def decide(cases: list[dict[str, Any]], jars: Path) -> list[list[bool] | None]:
    """The verdicts of the engine on the events of each case; None where it refuses the pattern."""
    asked = []
    for case in cases:
        pattern = case["pattern"]
        patterns = [json.dumps(each) for each in pattern] if isinstance(pattern, list) else [case["pattern"]]
        texts = [each if isinstance(each, str) else json.dumps(each) for each in patterns]
        asked.append(json.dumps({"patterns": texts, "events": [json.dumps(each) for each in case["events"]]}))
    path = ":".join(str(jar.resolve()) for jar in sorted(jars.glob("*.jar")))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "Decide.java"
        program.write_text(PROGRAM, "utf-8")
        command = ["java", "-cp", path, str(program)]
        answer = subprocess.run(command, input="\n".join(asked), capture_output=True, check=True, text=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("jars", type=Path)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.language.dialects.eventbridge_cases import random_event, random_pattern

    [jar] = given.jars.glob("event-ruler-*.jar")
    version = re.sub(r"event-ruler-(.*)\.jar", r"\1", jar.name)
    cases = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()[1:]]
    random = Random(given.seed)
    for _ in range(given.random):
        pattern = random_pattern(random, random.randint(0, 2))
        cases.append({"pattern": pattern, "events": [random_event(random) for _ in range(EVENTS_OF_A_PATTERN)]})
    for case, verdicts in zip(cases, decide(cases, given.jars), strict=True):
        case["verdicts"] = verdicts
    lines = [{"engine": f"event-ruler {version}"}, *cases]
    CORPUS.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    refused = sum(case["verdicts"] is None for case in cases)
    pairs = sum(len(case["verdicts"] or ()) for case in cases)
    print(f"{len(cases)} patterns, {refused} refused, {pairs} pairs")


if __name__ == "__main__":
    main()
