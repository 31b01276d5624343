"""Lets the public engine of a dialect decide the conditions and events that the tests compare with.

    python scripts/dialect_verdicts.py DIALECT FOLDER [--random COUNT] [--seed SEED]

FOLDER has the engine: for cel a Go module that requires cel.dev/cel-go, for jsonlogic `node_modules` with
json-logic-js, for percolator the jars of org.opensearch:opensearch, transport-netty4-client, percolator-client and
log4j-core. The conditions are those of tests/language/dialects/DIALECT_cases.py, and COUNT made-up ones; the
verdicts go to DIALECT_corpus.jsonl beside it. For eventbridge see event_ruler.py.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "scripts" / "oracles"


def command_of(dialect: str, folder: Path) -> tuple[list[str], str]:
    """What to run, in the folder, and the version of the engine."""
    if dialect == "cel":
        shutil.copy(PROGRAMS / "cel.go", folder / "main.go")
        subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True)
        [version] = re.findall(r"cel.dev/cel-go v(\S+)", (folder / "go.mod").read_text("utf-8"))
        return ["go", "run", "."], f"cel-go {version}"
    if dialect == "jsonlogic":
        package = json.loads((folder / "node_modules/json-logic-js/package.json").read_text("utf-8"))
        return ["node", str(PROGRAMS / "jsonlogic.js"), str(folder)], f"json-logic-js {package['version']}"
    [jar] = folder.glob("opensearch-[0-9]*.jar")
    path = f"{folder}/*"
    return ["java", "-cp", path, str(PROGRAMS / "Percolate.java")], f"OpenSearch {jar.stem.partition('-')[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dialect", choices=["cel", "jsonlogic", "percolator"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    cases = importlib.import_module(f"tests.language.dialects.{given.dialect}_cases")
    random = Random(given.seed)
    conditions = list(
        dict.fromkeys([*cases.conditions(), *(cases.random_condition(random) for _ in range(given.random))])
    )
    lines = [cases.EVENTS, *conditions]
    if given.dialect == "percolator":
        lines = [json.dumps(cases.MAPPING), [json.dumps(event) for event in cases.EVENTS], *conditions]
    folder = given.folder.resolve()
    command, engine = command_of(given.dialect, folder)
    asked = "".join(json.dumps(line) + "\n" for line in lines)
    answer = subprocess.run(command, cwd=folder, input=asked, stdout=subprocess.PIPE, check=True, text=True)
    verdicts = [json.loads(line) for line in answer.stdout.splitlines()]
    rows = [{"condition": each, "matches": found} for each, found in zip(conditions, verdicts, strict=True)]
    corpus = [{"engine": engine, "events": cases.EVENTS}, *rows]
    path = ROOT / "tests" / "language" / "dialects" / f"{given.dialect}_corpus.jsonl"
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in corpus), "utf-8")
    refused = sum(found is None for found in verdicts)
    print(
        f"{engine}: {len(rows)} conditions, {refused} refused, {len(cases.EVENTS) * (len(rows) - refused)} pairs"
    )


if __name__ == "__main__":
    main()
