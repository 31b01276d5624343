"""An event matches the same conditions alone, in any batch, in any order, wherever the process runs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis import EventType, Matcher
from tamis.events import EventBatch
from tamis.events.reading import read_events
from tests.worlds import WORLDS, World, random_event, schemaless, typed, world

ROOT = Path(__file__).resolve().parent.parent
ZONES = ("UTC", "America/St_Johns", "Pacific/Apia", "Asia/Kathmandu")


def matcher_of(here: World, seed: int, count: int) -> Matcher:
    matcher = Matcher(here.event_type)
    conditions = here.accepted(random.Random(seed), count)
    assert matcher.add_many([(f"s{place}", each.text) for place, each in enumerate(conditions)]) == []
    return matcher


def matched(matcher: Matcher, events: Any) -> list[set[str]]:
    """The subscriptions that each event satisfies."""
    batch = EventBatch.of(events, matcher.event_type)
    found: list[set[str]] = [set() for _ in range(batch.rows)]
    pairs = matcher.match_batch(batch)
    for row, id_ in zip(pairs["event_id"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True):
        found[row].add(id_)
    return found


def take(events: Any, rows: list[int]) -> Any:
    return events.take(rows) if isinstance(events, pa.Table) else [events[row] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_alone_and_in_any_batch(name: str) -> None:
    here = world(name)
    matcher = matcher_of(here, 51, 120)
    random_ = random.Random(52)
    events = here.draw_events(random_, 40)
    together = matched(matcher, events)
    assert sum(map(len, together)) > 40
    for row in range(40):
        assert matched(matcher, take(events, [row])) == [together[row]], f"event {row} alone"
    for _ in range(8):
        rows = [random_.randrange(40) for _ in range(random_.choice((2, 7, 40, 90)))]
        assert matched(matcher, take(events, rows)) == [together[row] for row in rows], rows


@pytest.mark.parametrize("name", WORLDS)
def test_one_by_one_is_the_batch(name: str) -> None:
    here = world(name)
    matcher = matcher_of(here, 53, 60)
    events = here.draw_events(random.Random(54), 15)
    dicts = events.to_pylist() if isinstance(events, pa.Table) else events
    assert [set(matcher.match(event)) for event in dicts] == matched(matcher, events)


@pytest.mark.slow
def test_rows_of_a_table_and_dictionaries_are_the_same_events() -> None:
    here = typed()
    matcher = matcher_of(here, 55, 150)
    table = here.draw_events(random.Random(56), 40)
    expected = matched(matcher, table)
    assert matched(matcher, table.to_pylist()) == expected
    assert matched(matcher, table.to_batches(max_chunksize=40)[0]) == expected
    assert matched(matcher, pa.concat_tables([table.slice(0, 13), table.slice(13)])) == expected
    sliced = pa.concat_tables([table.slice(30), table]).combine_chunks().slice(10)
    assert matched(matcher, sliced) == expected


def test_a_column_of_another_kind_beside_it_changes_nothing() -> None:
    """Mixed kinds in one attribute: no value decides how the others are read."""
    matcher = Matcher()
    texts = ["a = 1", "a = '1'", "a", "a > 0.5", "a LIKE '1%'", "a IS NULL", "exists(a, x -> x = 1)", "a.b = 1"]
    matcher.add_many([(text, text) for text in texts])
    values: list[Any] = [1, 1.0, "1", True, None, [1], {"b": 1}, 10**30, float("nan"), [], "true", 2**63]
    events = [{"a": value} for value in values]
    alone = [set(matcher.match(event)) for event in events]
    assert alone[:7] == [
        {"a = 1", "a > 0.5"},
        {"a = 1", "a > 0.5"},
        {"a = '1'", "a LIKE '1%'"},
        {"a"},
        {"a IS NULL"},
        {"exists(a, x -> x = 1)"},
        {"a.b = 1"},
    ]
    random_ = random.Random(57)
    for _ in range(20):
        rows = [random_.randrange(len(events)) for _ in range(9)]
        assert matched(matcher, [events[row] for row in rows]) == [alone[row] for row in rows]


# --- the place where the process runs --------------------------------------------------------------------------


@pytest.fixture
def zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_in_any_time_zone_of_the_process(name: str, zones: Any) -> None:
    here = world(name)
    results = []
    for zone in ZONES:
        zones(zone)
        matcher = matcher_of(here, 58, 80)
        events = here.draw_events(random.Random(59), 20)
        dicts = events.to_pylist() if isinstance(events, pa.Table) else events
        results.append((matched(matcher, events), matched(matcher, dicts)))
    assert all(found == results[0] for found in results)


_TIMES = EventType.from_dict(
    {
        "name": "times",
        "time_zone": "America/New_York",
        "attributes": {"t": "timestamp", "w": "timestamp_ntz", "d": "date"},
    }
)
_TIME_LINES = (
    *(
        '{"t": "2024-03-10T02:30:00", "w": "2024-03-10T02:30:00", "d": "2024-03-10"}',
        '{"t": "2024-11-03 01:30:00"}',
    ),
    *('{"t": "2024-11-03T05:30:00Z"}', '{"t": "2024-11-03", "d": "2024-11-03T23:59:59"}', '{"t": 0, "d": "x"}'),
    *('{"w": "2024-03-10T12:00:00+05:00"}', '{"t": "1883-11-18T12:00:00", "d": "0001-01-01"}'),
)
_TIME_CONDITIONS = (
    *("t < TIMESTAMP '2024-11-03 02:00:00'", "hour(t) = 1", "CAST(t AS DATE) = DATE '2024-11-03'", "w = t"),
    *(
        "CAST(w AS STRING) LIKE '%02:30%'",
        "d = '2024-03-10'",
        "t = '2024-11-03 01:30:00'",
        "date_trunc('DAY', t) = t",
    ),
    *("unix_seconds(t) % 3600 = 0", "dayofweek(d) = 1", "t IS NULL", "CAST(d AS TIMESTAMP) <= t"),
)


def time_results() -> list[list[str]]:
    """What the lines above match; also run by another process."""
    matcher = Matcher(_TIMES)
    assert matcher.add_many([(text, text) for text in _TIME_CONDITIONS]) == []
    (batch,) = read_events("\n".join(_TIME_LINES).encode(), _TIMES)
    return [sorted(found) for found in matched(matcher, batch)]


@pytest.mark.slow
def test_in_another_process_with_another_zone_and_locale() -> None:
    expected = time_results()
    assert sum(map(len, expected)) > 10
    code = "import json; from tests.test_independence import time_results; print(json.dumps(time_results()))"
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {
        **os.environ,
        "TZ": "Pacific/Apia",
        "LC_ALL": "tr_TR.UTF-8",
        "PYTHONPATH": path,
        "PYTHONHASHSEED": "7",
    }
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )
    assert json.loads(found.stdout) == expected


# --- typed or schemaless -----------------------------------------------------------------------------------------

_BOTH = EventType.from_dict(
    {
        "name": "both",
        "attributes": {
            "i": "bigint",
            "x": "double",
            "s": "string",
            "b": "boolean",
            "tags": "array<string>",
            "p": "struct<q:bigint,r:string>",
        },
    }
)


def _both_event(random_: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "i": random_.choice((0, 1, -5, 7, 2**53 + 1, 2**63 - 1, None)),
        "x": random_.choice((0.5, -0.0, 2.5, 1e300, float("nan"), None)),
        "s": random_.choice(("", "a", "abc", "é", "1", None)),
        "b": random_.choice((True, False, None)),
        "tags": random_.choice(([], ["a"], ["a", None], ["b", "abc"], None)),
        "p": random_.choice(({"q": 1, "r": "a"}, {"q": None}, {}, None)),
    }
    return {name: value for name, value in event.items() if value is not None or random_.random() < 0.5}


def _both_condition(random_: random.Random, depth: int) -> str:
    operator, negated = random_.choice(("=", "<>", "<", "<=", ">", ">=", "<=>")), random_.choice(("", "NOT "))
    text, pattern = random_.choice(("'a'", '"abc"', "''", "'é'")), random_.choice(("'a%'", "'%c'", "'_'"))
    if depth == 0:
        return random_.choice(
            (
                f"i {operator} {random_.choice(('0', '1', '7', '-5', '9007199254740993', '2.5', '1e3'))}",
                f"x {operator} {random_.choice(('0.5', '0', '2.5', '1e300', '-1'))}",
                f"s {operator} {text}",
                f"p.q {operator} 1",
                f"p.r {negated}IN ('a', 'b')",
                f"i {negated}IN (1, 7, {random_.choice(('NULL', '2'))})",
                f"i {negated}BETWEEN 0 AND 7",
                f"s {negated}LIKE {pattern}",
                f"{random_.choice(('i', 'x', 's', 'b', 'tags', 'p', 'p.q'))} IS {negated}NULL",
                "b",
                f"exists(tags, t -> t {operator} 'a')",
                f"forall(tags, t -> t {negated}LIKE 'a%')",
                f"length(s) {operator} 1",
                f"i + 1 {operator} 2",
                "array_contains(tags, 'a')",
            )
        )
    inner = [f"({_both_condition(random_, depth - 1)})" for _ in range(3)]
    return random_.choice(
        ("{} AND {}", "{} OR {}", "NOT {}", "{} XOR {}", "AT_LEAST(2, {}, {}, {})", "{} = {}", "{} IS NULL")
    ).format(*inner)


def test_typed_or_schemaless_where_both_apply() -> None:
    random_ = random.Random(60)
    conditions = {f"s{place}": _both_condition(random_, random_.choice((0, 1, 2))) for place in range(300)}
    events = [_both_event(random_) for _ in range(60)]
    results = []
    for event_type in (_BOTH, None):
        matcher = Matcher(event_type)
        assert matcher.add_many([*conditions.items()]) == []
        results.append(matched(matcher, events))
    for row, (one, other) in enumerate(zip(*results, strict=True)):
        differing = [conditions[id_] for id_ in sorted(one ^ other)]
        assert not differing, f"{events[row]}: {differing[:3]}"


# --- lines -------------------------------------------------------------------------------------------------------

_LINES = (
    '{"a": 1, "a": 2}',
    '{"a": 2, "a": "x", "a": null}',
    '{"a": 123456789012345678901234567890}',
    '{"a": ' + "9" * 5000 + "}",
    '{"a": 1e400, "b": -1e400}',
    '{"a": 9007199254740993, "b": 9007199254740993.0}',
    '{"a": "2024-02-29", "b": "2024-02-30", "t": "2024-02-29T12:00:00Z"}',
    '{"a": 1}',
    '{"a": "1"}',
    '{"a": true}',
    '{"a": [1, "x", null, {"b": 1}]}',
    '{"a": {"b": {"c": 1}}, "b": NaN}',
    '{"a": "\\ud800", "b": "\\ud83d\\ude00"}',
    '{"a": 1',
    "not json",
    "[1, 2]",
    '{"a": 1} trailing',
    "",
    '{"a": -0.0, "b": 0}',
    '{"b": "日本", "A": 1}',
    "{}",
    '\ufeff{"a": 7}',
    '{"a": "x\\u0000y"}',
)
_LINE_TYPE = EventType.from_dict(
    {"name": "line", "attributes": {"a": "bigint", "b": "string", "t": "timestamp", "d": {"type": "date"}}}
)
_LINE_CONDITIONS = (
    *("a = 1", "a > 1", "a IS NULL", "b IS NOT NULL", "b = '日本'", "b LIKE '%0%'", "a <> 2 OR b = 'x'"),
    "a = 9007199254740993",
)
_LOOSE_CONDITIONS = (
    *("a = 'x'", "a = DATE '2024-02-29'", "a", "a.b.c = 1", "exists(a, x -> x = 1)", "a > 1e20", "b < 0", "a = 0"),
    *("t < TIMESTAMP '2024-03-01'", "b > a", "size(a) = 4", "a LIKE '%?%'"),
)


def _line_results(matcher: Matcher, lines: list[str], batch_rows: int) -> tuple[dict[int, set[str]], set[int]]:
    reading = read_events("\n".join(lines).encode(), matcher.event_type, batch_rows=batch_rows)
    found: dict[int, set[str]] = {}
    for batch in reading:
        for id_ in batch.ids.to_pylist():
            found[id_] = set()
        pairs = matcher.match_batch(batch)
        for id_, subscription in zip(
            pairs["event_id"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True
        ):
            found[id_].add(subscription)
    return found, {each.line_number - 1 for each in reading.dead_letters if each.line_number is not None}


@pytest.mark.slow
@pytest.mark.parametrize("event_type", [_LINE_TYPE, None], ids=["typed", "schemaless"])
def test_lines_in_any_batch(event_type: EventType | None) -> None:
    matcher = Matcher(event_type)
    texts = _LINE_CONDITIONS if event_type is not None else _LINE_CONDITIONS + _LOOSE_CONDITIONS
    assert matcher.add_many([(text, text) for text in texts]) == []
    alone = [_line_results(matcher, [line], 10) for line in _LINES]
    broken = {place for place, (_, bad) in enumerate(alone) if bad}
    assert broken == {13, 14, 15, 16}
    random_ = random.Random(61)
    for batch_rows in (1, 2, 5, 1000):
        for _ in range(5):
            order = random_.sample(range(len(_LINES)), len(_LINES))
            found, bad = _line_results(matcher, [_LINES[place] for place in order], batch_rows)
            assert bad == {row for row, place in enumerate(order) if place in broken}
            for row, place in enumerate(order):
                expected = next(iter(alone[place][0].values()), None)
                assert found.get(row) == expected, _LINES[place]


def test_what_the_lines_match() -> None:
    matcher = Matcher()
    assert matcher.add_many([(text, text) for text in (*_LINE_CONDITIONS, *_LOOSE_CONDITIONS)]) == []

    def found(line: str) -> set[str]:
        return next(iter(_line_results(matcher, [line], 1)[0].values()))

    assert "a > 1" in found(_LINES[0])  # of a key written twice the last counts
    assert "a IS NULL" in found(_LINES[1])
    assert "a > 1e20" in found(_LINES[2])
    assert "a > 1e20" in found(_LINES[3])
    assert {"a > 1e20", "b < 0"} <= found(_LINES[4])
    assert "a = 9007199254740993" in found(_LINES[5])
    assert {"a = DATE '2024-02-29'", "t < TIMESTAMP '2024-03-01'"} <= found(_LINES[6])
    assert "a = 1" not in found(_LINES[8])
    assert "a" in found(_LINES[9])
    assert {"exists(a, x -> x = 1)", "size(a) = 4"} <= found(_LINES[10])
    assert "a.b.c = 1" in found(_LINES[11])
    assert "a = 0" in found(_LINES[18])
    assert found(_LINES[20]) == {"a IS NULL"}


@pytest.mark.slow
def test_random_events_as_lines_and_as_dictionaries() -> None:
    random_ = random.Random(62)
    matcher = matcher_of(schemaless(), 63, 80)
    events = [random_event(random_) for _ in range(60)]
    lines = "\n".join(json.dumps(event) for event in events).encode()
    (batch,) = read_events(lines)
    assert matched(matcher, batch) == matched(matcher, events)
