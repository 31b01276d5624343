"""The library under attack: what is enormous, deep or made to backtrack ends in an answer or a typed error.

Bounds are on CPU time in another process, some fifty times what it takes, and on memory, so that what explodes
fails and a busy machine does not.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tamis import Matcher
from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.events.reading import read_json_lines

ROOT = Path(__file__).resolve().parent.parent
CPU_SECONDS = 100
MEMORY_BYTES = 4 << 30
TYPED = EventType.from_dict({"name": "attacked", "attributes": {"a": "int", "s": "string", "l": "array<int>"}})
TYPES = {"typed": TYPED, "schemaless": EventType()}
PATTERNS = {
    "LIKE with hundreds of %": "s LIKE '" + "%a" * 400 + "%b'",
    "LIKE with hundreds of % and _": "s LIKE '" + "%_" * 300 + "b'",
    "nested repetition": "s RLIKE '(a+)+$'",
    "overlapping alternatives": "s RLIKE '^(a|aa)+b'",
    "optional many times": "s RLIKE '^" + "a?" * 100 + "a" * 100 + "b'",
}


def deep(levels: int) -> bytes:
    return b'{"id": "deep", "a":' + b"[" * levels + b"]" * levels + b"}"


def matched(matcher: Matcher, lines: bytes) -> Iterator[list[str]]:
    for batch in read_json_lines(lines, matcher.event_type):
        yield matcher.match_pairs(batch).columns()[1].to_pylist()


def patterns(event_type: EventType) -> None:
    """No pattern backtracks on a text of a megabyte."""
    matcher = Matcher(event_type)
    for name, condition in PATTERNS.items():
        matcher.add(name, condition)
    assert matcher.match({"s": "a" * 1_000_000}) == ["nested repetition"]
    others = PATTERNS.keys() - {"nested repetition", "optional many times"}
    assert matcher.match({"s": "a" * 1_000_000 + "b"}) == sorted(others)
    assert not matcher.explain("nested repetition", {"s": "a" * 100_000 + "b"}).matched


def deep_events(event_type: EventType) -> None:
    """Deep events are dead letters, alone and among others; a deep value of Python's matches nothing."""
    matcher = Matcher(event_type)
    matcher.add("one", "a = 1")
    assert [*matched(matcher, deep(100_000))] == []
    found = [id for ids in matched(matcher, b"\n".join([b'{"a":1}', deep(100_000)] * 300)) for id in ids]
    assert found == ["one"] * 300
    value: object = 1
    for _ in range(100_000):
        value = [value]
    assert matcher.match({"a": value}) == []


def many_attributes(event_type: EventType) -> None:
    """An event may have a million attributes, as a dict; as a line it is too long and set aside."""
    matcher = Matcher(event_type)
    matcher.add("one", "a = 1")
    event = {f"x{number}": number for number in range(1_000_000)} | {"a": 1}
    assert matcher.match(event) == ["one"]
    reader = read_json_lines(json.dumps(event).encode(), matcher.event_type)
    assert [*reader] == [] and len(reader.dead_letters) == 1
    lines = [json.dumps({f"x{line}_{k}": k for k in range(1_000)} | {"a": 1}).encode() for line in range(500)]
    assert sum(len(ids) for ids in matched(matcher, b"\n".join(lines))) == 500


def long_conditions(event_type: EventType) -> None:
    """What is beyond the limits is refused, with few problems and a short message."""
    matcher = Matcher(event_type)
    for text in (
        f"a IN ({','.join(map(str, range(1_000_000)))})",
        " AND ".join(["a = 1"] * 100_000),
        "(" * 10_000 + "a = 1" + ")" * 10_000,
        "a = " + "9" * 1_000_000,
        "s LIKE '" + "%a" * 100_000 + "'",
        f"size(array({','.join(['1'] * 100_000)})) = 1",
    ):
        try:
            matcher.add("long", text)
        except ConditionError as error:
            assert len(str(error)) < 20_000
        else:
            raise AssertionError(text[:80])


ATTACKS: dict[str, Callable[[EventType], None]] = {
    each.__name__: each for each in (patterns, deep_events, many_attributes, long_conditions)
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_it_ends_within_bounds(attack: str, name: str) -> None:
    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    ended = subprocess.run(
        [sys.executable, "-m", "tests.test_attacks", attack, name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=bound,
        check=False,
    )
    assert ended.returncode == 0, f"ended with {ended.returncode}: {ended.stderr[-3_000:]}"


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](TYPES[sys.argv[2]])
