"""Schedules in a matcher: the same pairs, every event answered once, of one version."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from tamis import EventBatch, Matcher
from tamis.arrays import I64
from tamis.engines import ENGINES
from tamis.engines.base import Estimating
from tamis.engines.work_estimate import WorkEstimator
from tamis.formulas.predicates.base import Frame
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import reset_meters
from tamis.schedule.scheduler import SCHEDULES, Schedule
from tamis.values.types import INT
from tests.engines.test_engines import marked
from tests.matchers import segments_of
from tests.worlds import WORLDS, world

EVENTS: list[dict[str, Any]] = [{"a": number, "name": f"e{number}"} for number in (30, 3, 22, 4, 0, 17, 9, 28)]
"""Of as many hits as `a` says, with the subscriptions below."""


def matcher(**settings: Any) -> Matcher:
    found = Matcher(**settings)
    found.add_many([(f"s{number}", f"a > {number}") for number in range(100)])
    return found


def pairs(table: pa.Table) -> list[tuple[Any, str]]:
    assert table.column_names == ["event_id", "subscription_id"]
    return sorted(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


EXPECTED = [(row, f"s{number}") for row, event in enumerate(EVENTS) for number in range(event["a"])]


@pytest.mark.slow
@pytest.mark.parametrize("engine", marked(ENGINES))
@pytest.mark.parametrize("name", WORLDS)
def test_every_engine_finds_the_same_pairs(engine: str, name: str) -> None:
    random_ = random.Random(5)
    here = world(name)
    found = Matcher(here.event_type, engine=engine)
    conditions = here.accepted(random_, 50)
    for number, condition in enumerate(conditions[:10]):
        found.add(f"head {number}", condition)
    found.add_many([(str(number), each.text) for number, each in enumerate(conditions)])
    batch = here.batch(random_, 40)
    expected = pairs(found.match_batch(batch))
    assert expected
    assert pairs(found.match_batch(batch, schedule="shortest-first")) == expected
    for width in (1, 7, 64):
        parts = list(found.match_parts(batch, width=width))
        assert sorted(pair for part in parts for pair in pairs(part.pairs)) == expected
        assert Counter(id for part in parts for id in part.event_ids.to_pylist()) == Counter(range(40))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sort", ["event", "subscription", None])
def test_the_table_is_the_same(sort: Any, threads: int) -> None:
    found = matcher(threads=threads)
    found.add("late", "a >= 0")
    events = EVENTS * 200
    tables = [found.match_batch(events, sort=sort, schedule=schedule) for schedule in SCHEDULES]
    assert pairs(tables[0]) == pairs(tables[1])
    for table in tables:
        if sort is not None:
            ids = table[f"{sort}_id"].to_pylist()
            changes = sum(one != other for one, other in pairwise(ids))
            assert changes == len(set(ids)) - 1, "what belongs together stands together"
        if sort == "event":
            assert ids == sorted(ids)


def test_parts_come_in_the_order_of_the_work() -> None:
    parts = list(
        matcher(engine="counting").match_parts(EVENTS, event_id="name", schedule="shortest-first", width=3)
    )
    assert [part.event_ids.to_pylist() for part in parts] == [
        ["e0", "e3", "e4"],
        ["e9", "e17", "e22"],
        ["e28", "e30"],
    ]
    assert pairs(parts[0].pairs) == sorted(
        (f"e{number}", f"s{other}") for number in (0, 3, 4) for other in range(number)
    )
    assert parts[0].pairs["event_id"].to_pylist() == ["e3"] * 3 + ["e4"] * 4
    assert 0 < parts[0].seconds < parts[1].seconds < parts[2].seconds


def test_parts_by_arrival() -> None:
    parts = list(matcher().match_parts(EVENTS, schedule="arrival", width=3))
    assert [part.event_ids.to_pylist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6, 7]]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_callback_gets_every_event_and_the_table_comes_back(schedule: Schedule) -> None:
    answered: list[int] = []
    told: list[tuple[Any, str]] = []

    def note(ready: Any) -> None:
        answered.extend(ready.event_ids.to_pylist())
        told.extend(pairs(ready.pairs))

    table = matcher().match_batch(EVENTS, schedule=schedule, on_ready=note)
    assert sorted(answered) == list(range(len(EVENTS)))
    assert sorted(told) == pairs(table) == sorted(EXPECTED)


def test_changes_during_an_iteration_do_not_show() -> None:
    found = matcher()
    found.add("waiting", "a >= 0")
    parts = found.match_parts(EVENTS, width=2)
    found.remove("s0")
    first = next(parts)
    found.remove_many([f"s{number}" for number in range(50, 100)])
    found.remove("waiting")
    found.add("new", "a >= 0")
    found.add_many([(f"new {number}", "a >= 0") for number in range(100)])
    found.merge()
    seen = [*pairs(first.pairs), *(pair for part in parts for pair in pairs(part.pairs))]
    assert sorted(seen) == sorted([*EXPECTED, *((row, "waiting") for row in range(len(EVENTS)))])
    assert len(pairs(found.match_batch(EVENTS))) > len(seen)


def test_no_events_and_no_subscriptions() -> None:
    assert list(matcher().match_parts([])) == []
    assert matcher().match_batch([], schedule="shortest-first").num_rows == 0
    (part,) = Matcher().match_parts([{"a": 1}])
    assert (part.event_ids.to_pylist(), part.pairs.num_rows) == ([0], 0)


def test_wrong_arguments_are_refused_when_called() -> None:
    with pytest.raises(ValueError, match="no schedule 'fifo'"):
        matcher().match_parts(EVENTS, schedule="fifo")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one event, found 0"):
        matcher().match_parts(EVENTS, width=0)


def test_response_times_are_in_the_statistics() -> None:
    found = matcher()
    assert found.stats()["response_seconds"]["batches"] == 0
    found.match(EVENTS[0])
    found.match_batch(EVENTS)
    found.match_batch(EVENTS, schedule="shortest-first")
    list(found.match_parts(EVENTS, width=2))
    waits = found.stats()["response_seconds"]
    assert (waits["batches"], waits["events"]) == (3, 24), "a single event waits for nobody"
    assert 0 < waits["p50"] <= waits["p90"] <= waits["p99"] <= waits["max"]
    assert waits["mean"] <= waits["max"]
    assert waits["widths"] == {"arrival": {}, "shortest-first": {8: 4}}


class _Backwards:
    """An index that thinks the events of little work are dear."""

    def __init__(self, inner: Any, guess: WorkEstimator) -> None:
        self._inner = inner
        self._guess = guess

    def match(self, events: EventBatch | Frame) -> Any:
        return self._inner.match(events)

    def stats(self) -> Any:
        return self._inner.stats()

    def estimate(self, events: EventBatch | Frame) -> I64:
        assert not isinstance(events, EventBatch)
        return 1000 - 2 * self._guess.estimate(events)


def test_the_estimate_of_an_index_is_added_to_the_guess() -> None:
    found = matcher()
    (segment,) = segments_of(found)
    segment.index = _Backwards(segment.index, WorkEstimator(segment.forest))
    assert isinstance(segment.index, Estimating)
    parts = list(found.match_parts(EVENTS, event_id="name", schedule="shortest-first", width=4))
    assert parts[0].event_ids.to_pylist() == ["e30", "e28", "e22", "e17"]
    assert sorted(pair for part in parts for pair in pairs(part.pairs)) == pairs(
        matcher().match_batch(EVENTS, event_id="name")
    )


@pytest.fixture
def doubled() -> Iterator[list[int]]:
    """An operator that says it takes ten milliseconds; gives the values that it was called with."""
    called: list[int] = []

    def double(value: int) -> int:
        called.append(value)
        return 2 * value

    install(Operator("doubled_here", (INT,), INT, double, batch=False, cost=0.01))
    yield called
    uninstall("doubled_here")
    reset_meters("doubled_here")


def test_events_that_need_no_expensive_call_come_first(doubled: list[int]) -> None:
    found = Matcher({"name": "e", "attributes": {"id": "int", "a": "int", "kind": "string"}})
    found.add_many([(f"s{number}", f"a > {number}") for number in range(50)])
    found.add_many(
        [("calls", "kind = 'image' AND doubled_here(a) > 20"), ("never", "a < 0 AND doubled_here(a) > 1")]
    )
    found.merge()
    events = [{"id": n, "a": 40 - n, "kind": "image" if n % 4 == 1 else "text"} for n in range(16)]
    wanted = pairs(found.match_batch(events, event_id="id"))
    doubled.clear()
    answered: list[int] = []
    got: list[tuple[Any, str]] = []
    for part in found.match_parts(events, event_id="id"):
        ids = part.event_ids.to_pylist()
        answered += ids
        got += pairs(part.pairs)
        assert bool(doubled) == any(events[id]["kind"] == "image" for id in answered)
    assert sorted(answered[12:]) == [1, 5, 9, 13]
    assert sorted(got) == wanted
    assert sorted(doubled) == [27, 31, 35, 39], "and no call is made twice"


def test_without_expensive_calls_events_keep_their_order() -> None:
    parts = list(matcher().match_parts(EVENTS, event_id="name", width=3))
    assert [id for part in parts for id in part.event_ids.to_pylist()] == [each["name"] for each in EVENTS]
