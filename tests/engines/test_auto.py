"""`auto`: when engines are compared, on what, and what follows from it."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis import EventBatch, Matcher
from tamis.engines import MAPPED_ENGINE, auto
from tamis.engines.auto import Auto, AutoIndex, choose
from tamis.engines.base import Index, Matches, Stats, frame_of
from tamis.engines.bitslice import Bitslice
from tamis.engines.forest import forest_of
from tamis.engines.scan import Scan
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions
from tamis.segments.collection import SegmentCollection


def fixed(monkeypatch: pytest.MonkeyPatch, times: dict[str, float]) -> None:
    """Let every engine take these microseconds, by the name of its index's class."""
    monkeypatch.setattr(auto, "microseconds", lambda index, sample: times[type(index).__name__])


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare at every batch, whatever the number of subscriptions, with an engine that needs no kernels."""
    monkeypatch.setattr(auto, "CANDIDATES", (Scan(),))
    monkeypatch.setattr(auto, "_MIN_SUBSCRIPTIONS", 1)
    monkeypatch.setattr(auto, "_SECONDS_BEFORE_COMPARING", 0.0)
    monkeypatch.setattr(auto, "_SECONDS_BEFORE_COMPILING", 0.0)
    monkeypatch.setattr(auto, "_SHARE_OF_COMPARING", math.inf)
    monkeypatch.setattr(auto, "_SAMPLE_EVENTS", 4)


def index(count: int = 50) -> AutoIndex:
    texts = [f"a = {number % 7} OR b < {number}" for number in range(count)]
    return Auto().build(forest_of(compile_conditions(texts)))


def frame(rows: int = 10) -> Frame:
    return frame_of(EventBatch.of([{"a": row, "b": 30 - row} for row in range(rows)]))


def match(index: AutoIndex, events: Frame) -> Matches:
    """The pairs, after a comparison that this match began."""
    found = index.match(events)
    index.settle()
    return found


def pairs(matches: Matches) -> set[tuple[int, int]]:
    return set(zip(matches.rows.tolist(), matches.slots.tolist(), strict=True))


def test_it_begins_with_the_engine_that_snapshots_keep() -> None:
    found = index(2_000)
    match(found, frame())
    assert found.choice.engine == MAPPED_ENGINE
    assert not found.choice.microseconds


def test_a_much_faster_engine_answers_with_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    found = index()
    wanted = pairs(match(found, frame()))
    assert found.choice.engine == "scan"
    assert found.choice.reason == "scan takes 4 us per event, bitslice 10"
    assert pairs(match(found, frame())) == wanted
    assert set(found.arrays()) == set(found.mapped.arrays()), "snapshots still get the index of bitslice"


def test_a_little_faster_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 6.0})
    found = index()
    match(found, frame())
    assert found.choice.engine == MAPPED_ENGINE
    assert found.choice.reason == "bitslice takes 10 us per event, scan 6; another must be 2 times as fast"


def test_it_goes_back_when_events_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    times = {"BitsliceIndex": 10.0, "ScanIndex": 4.0}
    fixed(monkeypatch, times)
    found = index()
    match(found, frame())
    assert found.choice.engine == "scan"
    times["BitsliceIndex"] = 3.0
    match(found, frame())
    assert found.choice.engine == MAPPED_ENGINE


def test_events_are_gathered_from_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    found = index()
    for _ in range(3):
        match(found, frame(1))
        assert not found.choice.microseconds
    match(found, frame(1))
    assert found.choice.events == 4
    match(found, frame(100))
    assert found.choice.events == 4, "a large batch is sampled"


def test_too_few_and_too_many_subscriptions_are_never_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    monkeypatch.setattr(auto, "_MIN_SUBSCRIPTIONS", 51)
    few = index(50)
    match(few, frame())
    monkeypatch.setattr(auto, "_MIN_SUBSCRIPTIONS", 1)
    monkeypatch.setattr(auto, "_MAX_LEAVES", 99)
    many = index(50)
    match(many, frame())
    assert few.choice.engine == many.choice.engine == MAPPED_ENGINE


def test_a_candidate_must_win_on_some_subscriptions_first(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 9.0})
    monkeypatch.setattr(auto, "_SAMPLE_FORMULAS", 20)
    built: list[int] = []

    class Counting(Scan):
        def build(self, formulas: Any, statistics: Any = None) -> Any:
            built.append(len(formulas))
            return super().build(formulas, statistics)

    monkeypatch.setattr(auto, "CANDIDATES", (Counting(),))
    found = index(50)
    match(found, frame())
    assert built == [20]
    assert found.choice.engine == MAPPED_ENGINE
    assert "no other engine" in found.choice.reason


def test_comparing_costs_a_share_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    monkeypatch.setattr(auto, "_SHARE_OF_COMPARING", 0.05)
    seconds = [0.0]
    monkeypatch.setattr(auto, "thread_time", lambda: seconds[0])
    compared = [0]

    class Slow:
        """A candidate whose index takes two seconds to build."""

        name, dynamic = "slow", False

        def build(self, formulas: Any, statistics: Any = None) -> Index:
            seconds[0] += 2.0
            compared[0] += 1
            return Bitslice().build(formulas, statistics)

    class Tick:
        """The mapped index, with a second of work a batch."""

        def __init__(self, inner: Index) -> None:
            self.inner = inner

        def match(self, events: Any) -> Matches:
            seconds[0] += 1.0
            return self.inner.match(events)

        def stats(self) -> Stats:
            return self.inner.stats()

    monkeypatch.setattr(auto, "CANDIDATES", (Slow(),))
    monkeypatch.setattr(auto, "microseconds", lambda index, sample: 1.0)
    found = index()
    monkeypatch.setattr(found, "_answering", Tick(found.mapped))
    match(found, frame())
    assert compared == [1]
    monkeypatch.setattr(found, "_answering", Tick(found.mapped))
    for _ in range(39):
        match(found, frame())
    assert compared == [1], "two seconds are a twentieth of forty"
    match(found, frame())
    assert compared == [2]


def test_real_times_choose_what_is_faster() -> None:
    data = generate("equality", subscriptions=300, events=64, seed=3)
    formulas = forest_of(compile_conditions(data.conditions, data.event_type))
    indexes: dict[str, Index] = {"bitslice": Bitslice().build(formulas), "scan": Scan().build(formulas)}
    sample = [BatchFrame(EventBatch.of(data.events, data.event_type))]
    choice = choose(indexes, sample)
    assert choice.engine == "bitslice", "evaluating every condition is slower"
    assert choice.events == 64
    assert np.all(np.array(list(choice.microseconds.values())) > 0)


def test_a_matcher_says_what_was_chosen_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = Matcher()
    assert matcher.stats()["engine"] == MAPPED_ENGINE
    assert "reason" not in matcher.stats(), "there is nothing to choose for"
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    matcher.add_many(pa.table({"id": [f"s{n}" for n in range(60)], "condition": [f"a > {n}" for n in range(60)]}))
    matcher.merge()
    wanted = matcher.match_batch([{"a": 5}, {"a": 50}] * 4)
    settle(matcher)
    stats = matcher.stats()
    assert (stats["engine"], matcher.engine) == ("scan", "scan")
    assert (stats["reason"], stats["us_per_event"], stats["events"]) == (
        "scan takes 4 us per event, bitslice 10",
        {"bitslice": 10.0, "scan": 4.0},
        4,
    )
    assert matcher.match_batch([{"a": 5}, {"a": 50}] * 4).equals(wanted)
    assert "reason" not in Matcher(engine="scan").stats(), "nobody chose"


def settle(matcher: Matcher) -> None:
    """Wait until no comparison is under way."""
    collection = matcher._collection
    assert isinstance(collection, SegmentCollection)
    for segment in collection.state.segments:
        assert isinstance(segment.index, AutoIndex)
        segment.index.settle()


def test_stats_have_the_choice_of_every_segment_with_its_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    monkeypatch.setattr(auto, "_MIN_SUBSCRIPTIONS", 50)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    matcher = Matcher()
    for name, count in (("many", 900), ("few", 40)):
        texts = [f"a > {n}" for n in range(count)]
        matcher.add_many(pa.table({"id": [f"{name}{n}" for n in range(count)], "condition": texts}))
    assert isinstance(matcher._collection, SegmentCollection)
    state = matcher._collection.flush()
    assert [len(segment) for segment in state.segments] == [900, 40], "two segments, which nothing merges"
    matcher.remove("many3")
    matcher.match_batch([{"a": 5}] * 6)
    settle(matcher)
    stats = matcher.stats()
    large, small = stats["choices"]
    assert large == {
        "subscriptions": 899,
        "engine": "scan",
        "reason": "scan takes 4 us per event, bitslice 10",
        "us_per_event": {"bitslice": 10.0, "scan": 4.0},
        "events": 4,
    }
    assert (small["subscriptions"], small["engine"], small["events"]) == (40, MAPPED_ENGINE, 0)
    assert stats["reason"] == large["reason"]


def test_a_match_waits_for_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The candidate is built in another thread: matches go on, with the engine that they had."""
    always(monkeypatch)
    fixed(monkeypatch, {"BitsliceIndex": 10.0, "ScanIndex": 4.0})
    begun, may_go_on = threading.Event(), threading.Event()
    builders: list[int] = []

    class Waiting(Scan):
        def build(self, formulas: Any, statistics: Any = None) -> Any:
            builders.append(threading.get_ident())
            begun.set()
            assert may_go_on.wait(30)
            return super().build(formulas, statistics)

    monkeypatch.setattr(auto, "CANDIDATES", (Waiting(),))
    found = index()
    wanted = pairs(found.match(frame()))
    assert begun.wait(30)
    assert pairs(found.match(frame())) == wanted
    assert found.choice.engine == MAPPED_ENGINE
    assert len(builders) == 1, "one comparison at a time"
    may_go_on.set()
    found.settle()
    assert found.choice.engine == "scan"
    assert builders != [threading.get_ident()]


def test_a_comparison_that_fails_is_told_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    always(monkeypatch)
    tries: list[int] = []

    class Large(Scan):
        def build(self, formulas: Any, statistics: Any = None) -> Any:
            tries.append(1)
            msg = "no room"
            raise MemoryError(msg)

    monkeypatch.setattr(auto, "CANDIDATES", (Large(),))
    found = index()
    for _ in range(3):
        match(found, frame())
    assert tries == [1]
    assert (found.choice.engine, found.choice.reason) == (
        MAPPED_ENGINE,
        "comparing engines failed: MemoryError: no room",
    )
    assert "comparing engines failed" in caplog.text


@pytest.mark.parametrize("engine", ["auto", "scan"])
def test_a_snapshot_always_has_the_mapped_index(engine: str, tmp_path: Any) -> None:
    matcher = Matcher(engine=engine)
    matcher.add_many([(f"s{n}", f"a > {n}") for n in range(60)])
    matcher.publish(tmp_path)
    (part,) = Matcher.open(tmp_path).segments()
    assert part.segment.meta["engines"] == ["bitslice"]
    assert Matcher.open(tmp_path).match({"a": 3}) == Matcher.open(tmp_path, engine="scan").match({"a": 3})


def test_a_reason_has_no_exponents() -> None:
    told = auto._reason("bitslice", {"bitslice": 1_500.0, "scan": 123_456.7})
    assert told == "bitslice takes 1,500 us per event, scan 123,457; another must be 2 times as fast"
