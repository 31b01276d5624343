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
WITH_JSON = """
import typer
from tamis.cli.options import Json
app = typer.Typer()
@app.command()
def sample(json: Json = False) -> None:
    from tamis.language.bulk import compile_conditions
    compile_conditions(["a < 1"])
app()
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


SMALL_WORK = """
import json, sys
import tamis
from tamis import Matcher, SequenceMatcher, kernels
from tamis.language.condition import normalise
from tamis.routing.overlap import OverlapIndex
WORK
print(json.dumps([answer, kernels.compilations.count]))
"""
SMALL = {
    "an operator": """
tamis.operator("slow_one", ["int"], "int", batch=False)(lambda x: x)
matcher = Matcher({"name": "t", "attributes": {"a": "int"}})
matcher.add("s", "a > 1 AND slow_one(a) = 2")
answer = matcher.match({"a": 2})
""",
    "a sequence": """
matcher = SequenceMatcher({"name": "s", "attributes": {"time": "timestamp", "user": "string", "kind": "int"}})
matcher.add("s", "kind = 1 AS a THEN kind > a.kind WITHIN INTERVAL '10' MINUTE BY user")
times = ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"]
answer = len(matcher.feed([{"time": time, "user": "u", "kind": 1 + kind} for kind, time in enumerate(times)]))
""",
    "a hundred keys of sequences": """
matcher = SequenceMatcher({"name": "s", "attributes": {"time": "timestamp", "user": "string", "kind": "int"}})
for n in range(10):
    matcher.add(f"s{n}", f"kind = {n} AS a THEN kind > {n} WITHIN INTERVAL '1' HOUR BY user")
rows = [("2026-01-01T00:00:00Z", 3), ("2026-01-01T00:01:00Z", 5)]
events = [{"time": time, "user": f"u{n}", "kind": kind} for time, kind in rows for n in range(100)]
answer = len(matcher.feed(events))
""",
    "overlap": """
index = OverlapIndex()
index.add("a", "t", normalise("price < 3"))
answer = index.overlapping("t", normalise("price < 2"))
""",
    "publish": """
matcher = Matcher()
matcher.add("a", "price < 3")
matcher.publish(sys.argv[1])
answer = Matcher.open(sys.argv[1]).match({"price": 2})
""",
    "publish again and again": """
matcher = Matcher()
for n in range(20):
    matcher.add(f"s{n}", f"price < {n} OR brand LIKE 'x{n}%' AND seller IN ('a', 'b')")
    matcher.publish(sys.argv[1])
matcher.remove("s19")
matcher.remove_many(["s18"])
opened = Matcher.open(sys.argv[1])
parts = opened.match_parts([{"price": n} for n in range(9)], schedule="shortest-first")
answer = [matcher.match({"price": 17}), opened.match({"price": 17}), sum(1 for _ in parts)]
""",
    "merge": """
matcher = Matcher()
matcher.add_many((str(n), f"price < {n}") for n in range(100))
matcher.merge()
answer = matcher.match({"price": 50})
""",
    "publish and merge what calls an operator": """
tamis.operator("slow_one", ["int"], "int", batch=False)(lambda x: x)
matcher = Matcher({"name": "t", "attributes": {"a": "int"}})
for n in range(20):
    matcher.add(f"s{n}", f"a > 1 AND slow_one(a) > {n}")
    matcher.publish(sys.argv[1])
answer = [matcher.match({"a": 3}), Matcher.open(sys.argv[1]).match({"a": 19})]
""",
}


REACHED = """
import json
from tamis import kernels, warm
from tamis.spark.kernel_loading import product_kernels
kernels.compilations.announce = lambda _message: None
for step in warm.STEPS:
    warm.run_step(step)
product = product_kernels()
reached = {each for each in product if each.overloads}
left = [*reached]
while left:  # a kernel that only kernels call is in the code of those that call it
    function = left.pop().py_func
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        if kernels.is_kernel(called) and called not in reached:
            reached.add(called)
            left.append(called)
missed = [each.py_func for each in product if each not in reached]
print(json.dumps([f"{each.__module__}.{each.__name__}" for each in missed]))
"""
NOT_WARMED = {
    "tamis.engines.selectivity.node_selectivities": "only the laboratory calls it",
}
"""Kernels that no step of the warm-up calls, and why; by the beginnings of their names."""


def run(*command: str, kernels: Path | None = None) -> subprocess.CompletedProcess[str]:
    named = {} if kernels is None else {"TAMIS_KERNELS": str(kernels)}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path} | named
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
        "show --engines --subscriptions cameras.jsonl --events events.jsonl",
        "explain --subscriptions cameras.jsonl --id warranty --events events.jsonl --event e3 "
        "--event-type camera.json",
    ],
)
def test_small_commands_compile_nothing(command: str, tmp_path: Path) -> None:
    done = run("-c", COUNTED, *command.split(), kernels=tmp_path / "kernels")
    assert done.stderr.endswith("compiled 0")


@pytest.mark.parametrize("program", SMALL)
def test_small_work_compiles_nothing(program: str, tmp_path: Path) -> None:
    done = run(
        "-c", SMALL_WORK.replace("WORK", SMALL[program]), str(tmp_path / "snapshot"), kernels=tmp_path / "kernels"
    )
    answer, compiled = json.loads(done.stdout)
    assert compiled == 0
    assert answer


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


def test_the_notice_is_a_line_of_json_where_the_others_are(tmp_path: Path) -> None:
    done = run("-c", WITH_JSON, "--json", kernels=tmp_path / "kernels")
    (line,) = map(json.loads, done.stderr.splitlines())
    assert line["kind"] == "warning"
    assert "tamis warm" in line["message"]


def test_every_kernel_of_the_product_is_compiled_by_warming() -> None:
    missed = json.loads(run("-c", REACHED).stdout)
    unreached = {name for name in missed if not name.startswith(tuple(NOT_WARMED))}
    assert not unreached, "a step of tamis.warm must call them, or NOT_WARMED say why none does"
