"""Whatever the product does small needs no kernel; whatever it does large needs none that warming did not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES

pytestmark = pytest.mark.slow

ROOT = EXAMPLES.parent
COUNTED = """
import sys
from tamis import kernels
from tamis.cli import main
sys.argv = ["tamis", *sys.argv[1:]]
try:
    main()
finally:
    sys.stderr.write(f"compiled {kernels.compilations.count}")
"""
AFTER = """
import json, tempfile
from tamis import Matcher, kernels, warm
warm.load()
loaded = kernels.compilations.count
event_type = {"name": "t", "attributes": {"a": "int", "b": "string", "c": "double", "d": "timestamp"}}
matcher = Matcher(event_type, engine="bitslice")  # what "auto" compares with is not loaded before it is needed
text = "a < {n} AND b = 'b{k}' OR c BETWEEN {n} AND {n}.5 OR b LIKE 'x{n}%'"
matcher.add_many((str(n), text.format(n=n, k=n % 7)) for n in range(5_000))
events = [{"a": n % 90, "b": f"b{n % 9}", "c": n / 3} for n in range(3_000)]
pairs = [matcher.match_batch(events[:rows]).num_rows for rows in (1, 5, 100, 3_000)]
with tempfile.TemporaryDirectory() as folder:
    matcher.publish(folder + "/s")
    pairs.append(Matcher.open(folder + "/s", engine="bitslice").match_batch(events).num_rows)
print(json.dumps([pairs, kernels.compilations.count - loaded]))
"""


def run(*command: str, kernels: Path | None = None) -> subprocess.CompletedProcess[str]:
    named = {} if kernels is None else {"TAMIS_KERNELS": str(kernels)}
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | named
    done = subprocess.run(
        [sys.executable, *command], cwd=EXAMPLES, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("program", ["snippet", "conditions_1000"])
def test_small_programs_compile_nothing(program: str, tmp_path: Path) -> None:
    done = run("-m", "benchmarks.start_programs", program, str(tmp_path), kernels=tmp_path / "kernels")
    said = json.loads(done.stdout)
    assert said["compiled"] == 0
    assert said["pairs"] > 0
    assert not done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "match --subscriptions cameras.jsonl --events events.jsonl --event-type camera.json",
        "lint cameras.jsonl --event-type camera.json",
        "test cameras_test.yaml",
        "explain --subscriptions cameras.jsonl --id warranty --events events.jsonl --event e3 "
        "--event-type camera.json",
    ],
)
def test_small_commands_compile_nothing(command: str, tmp_path: Path) -> None:
    done = run("-c", COUNTED, *command.split(), kernels=tmp_path / "kernels")
    assert done.stderr.endswith("compiled 0")


def test_after_loading_nothing_is_compiled() -> None:
    (alone, few, some, many, opened), compiled = json.loads(run("-c", AFTER).stdout)
    assert compiled == 0
    assert 0 < alone < few < some < many == opened


COMPARED = """
import json, tempfile
from tamis import Matcher, kernels, warm
from tamis.engines import auto
warm.load()
warm._candidates_of_auto()
loaded = kernels.compilations.count
auto._SECONDS_BEFORE_COMPARING = auto._SECONDS_BEFORE_COMPILING = 0.0
auto._SAMPLE_FORMULAS = 2_000  # less than there are, so that a sample of them is compared first
event_type = {"name": "t", "attributes": {"a": "int", "b": "string", "c": "double", "d": "timestamp"}}
text = "a < {n} AND b = 'b{k}' OR c BETWEEN {n} AND {n}.5 OR b LIKE 'x{n}%'"
events = [{"a": n % 90, "b": f"b{n % 9}", "c": n / 3} for n in range(600)]
with tempfile.TemporaryDirectory() as folder:
    built = Matcher(event_type)
    built.add_many((str(n), text.format(n=n, k=n % 7)) for n in range(5_000))
    built.publish(folder + "/s")
    compared = []
    for matcher in (built, Matcher.open(folder + "/s")):
        matcher.match_batch(events)
        for segment in matcher._collection.state.segments:
            segment.index.settle()
        compared.append(matcher.stats()["choices"][0]["events"])
print(json.dumps([compared, kernels.compilations.count - loaded]))
"""


def test_what_auto_compares_with_is_compiled_by_warming() -> None:
    compared, compiled = json.loads(run("-c", COMPARED).stdout)
    assert compiled == 0
    assert all(compared)


def test_what_compiles_for_long_says_so_once(tmp_path: Path) -> None:
    program = "from tamis.language.bulk import compile_conditions as c; c(['a < 1']); c(['b = 2 OR a IN (1, 2)'])"
    done = run("-c", program, kernels=tmp_path / "kernels")
    (line,) = done.stderr.splitlines()
    assert str(tmp_path / "kernels") in line
    assert "tamis warm" in line
