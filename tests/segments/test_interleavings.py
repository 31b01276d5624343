"""What others do while a segment is built or merged: every order ends with the same subscriptions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.engines.base import Index
from tamis.engines.forest import Forest
from tamis.errors import MergeError
from tamis.segments import collection
from tamis.segments.collection import SegmentCollection
from tamis.segments.merge import FANOUT

_PATIENCE = 60.0


class Gate:
    """Holds up whoever builds an index of at least so many formulas, until it is opened."""

    def __init__(self, build: Callable[[Forest], Index], least: int) -> None:
        self._build = build
        self._least = least
        self.reached, self.is_open = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def __call__(self, forest: Forest) -> Index:
        if len(forest) >= self._least:
            self.reached.set()
            assert self.is_open.wait(_PATIENCE)
            if self.error is not None:
                raise self.error
        return self._build(forest)


def held_up(matcher: Matcher, least: int) -> Gate:
    segments = matcher._collection
    assert isinstance(segments, SegmentCollection)
    gate = Gate(segments._build, least)
    segments._build = gate
    return gate


def lots(matcher: Matcher, count: int = FANOUT, size: int = 150) -> None:
    for lot in range(count):
        rows = [{"id": f"{lot}-{number}", "condition": "a >= 0"} for number in range(size)]
        assert matcher.add_many(pa.Table.from_pylist(rows)) == []


@pytest.fixture
def merging(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Matcher, Gate]]:
    """A matcher in the background of which eight segments of 150 are being merged."""
    monkeypatch.setattr(collection, "_MERGED_AT_ONCE", 0)
    matcher = Matcher()
    gate = held_up(matcher, 1000)
    lots(matcher)
    assert gate.reached.wait(_PATIENCE)
    try:
        yield matcher, gate
    finally:
        gate.is_open.set()


@contextmanager
def thread(target: Callable[[], object]) -> Iterator[threading.Thread]:
    it = threading.Thread(target=target)
    it.start()
    yield it
    it.join(_PATIENCE)
    assert not it.is_alive()


def ids(matcher: Matcher) -> set[str]:
    found = matcher.match({"a": 1})
    assert len(found) == len(set(found)) == len(matcher)
    return set(found)


def test_changes_go_on_while_segments_are_merged(merging: tuple[Matcher, Gate]) -> None:
    matcher, gate = merging
    before = ids(matcher)
    matcher.remove("3-5")
    matcher.remove_many(["0-0", "7-149"])
    matcher.replace("4-1", "a >= 1")
    matcher.add("new", "a >= 0")
    matcher.add("0-0", "a > 0")  # an id that was removed comes back
    assert [each.id for each in matcher.add_many([("1-1", "a >= 0"), ("more", "a >= 0")])] == ["1-1"]
    parts = matcher.match_parts([{"a": 1}, {"a": 2}], schedule="arrival", width=1)
    seen = next(parts).pairs.num_rows
    matcher.remove("1-1")
    assert matcher.stats()["segments"] > 1, "the merge is still under way"
    expected = (before | {"new", "more"}) - {"3-5", "7-149", "1-1"}
    assert ids(matcher) == expected
    gate.is_open.set()
    matcher.settle()
    assert ids(matcher) == expected
    assert [part.pairs.num_rows for part in parts] == [seen], "a match sees one version, before and after"
    assert matcher.subscription("4-1").revision == 2
    assert matcher.stats()["dead"] == 5


def test_small_segments_are_merged_beside_a_large_one(
    merging: tuple[Matcher, Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher, gate = merging
    monkeypatch.setattr(collection, "_MERGED_AT_ONCE", 1000)
    for lot in range(2 * FANOUT):
        matcher.add_many(pa.Table.from_pylist([{"id": f"small-{lot}", "condition": "a >= 0"}] * 1))
        matcher._collection.flush()  # type: ignore[union-attr]
        matcher.remove_many(["nobody"])
    assert matcher.stats()["segments"] < FANOUT + FANOUT
    gate.is_open.set()
    matcher.settle()
    assert len(ids(matcher)) == FANOUT * 150 + 2 * FANOUT


def test_a_failed_merge_loses_nothing_and_is_raised_to_whoever_comes_next(merging: tuple[Matcher, Gate]) -> None:
    matcher, gate = merging
    gate.error = MemoryError("no room")
    gate.is_open.set()
    with pytest.raises(MergeError, match="no room"):
        matcher.settle()
    assert len(ids(matcher)) == FANOUT * 150
    matcher.add("new", "a >= 0")
    matcher._collection.maintain()
    background = matcher._collection._background  # type: ignore[union-attr]
    with background._changed:
        assert background._changed.wait_for(lambda: not background.is_under_way, _PATIENCE)
    assert "new" in ids(matcher), "matches are not told"
    with pytest.raises(MergeError, match="no room"):
        matcher.add("other", "a >= 0")
    assert "other" not in matcher
    gate.error = None
    matcher.add("other", "a >= 0")
    matcher.settle()
    assert len(ids(matcher)) == FANOUT * 150 + 2


def test_merging_all_waits_for_the_merge_under_way(merging: tuple[Matcher, Gate]) -> None:
    matcher, gate = merging
    with thread(matcher.merge) as whole:
        matcher.remove("2-2")
        assert whole.is_alive()
        gate.is_open.set()
    assert matcher.stats()["segments"] == 1
    assert len(ids(matcher)) == FANOUT * 150 - 1


def test_publishing_waits_for_the_merge_under_way(merging: tuple[Matcher, Gate], tmp_path: object) -> None:
    matcher, gate = merging
    with thread(lambda: matcher.publish(f"{tmp_path}/snapshot")) as publishing:
        matcher.remove("2-2")
        assert publishing.is_alive()
        gate.is_open.set()
    opened = Matcher.open(f"{tmp_path}/snapshot")
    assert (opened.stats()["segments"], len(opened)) == (1, FANOUT * 150 - 1)


def test_closing_leaves_segments_as_they_are(merging: tuple[Matcher, Gate]) -> None:
    matcher, gate = merging
    with thread(matcher.close) as closing:
        background = matcher._collection._background  # type: ignore[union-attr]
        while not background._is_stopping:
            assert closing.is_alive()
        gate.is_open.set()
    assert len(ids(matcher)) == FANOUT * 150
    matcher.remove_many(["0-0"])  # goes on with what is due
    matcher.settle()
    assert matcher.stats()["segments"] == 1
    assert len(ids(matcher)) == FANOUT * 150 - 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of Python 3.12 and later
def test_the_child_of_a_fork_goes_on_without_the_merge_of_its_parent(merging: tuple[Matcher, Gate]) -> None:
    matcher, gate = merging
    child = os.fork()
    if not child:
        code = 1
        try:
            gate.is_open.set()
            matcher.add("child", "a >= 0")
            matcher.merge()
            code = int(len(ids(matcher)) != FANOUT * 150 + 1 or matcher.stats()["segments"] != 1)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert "child" not in matcher
    gate.is_open.set()
    matcher.settle()
    assert len(ids(matcher)) == FANOUT * 150


@pytest.fixture
def flushing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Matcher, Gate]]:
    """A matcher whose memtable of 50 is being made a segment in the background."""
    monkeypatch.setattr(collection, "LARGE_MEMTABLE", 50)
    matcher = Matcher()
    gate = held_up(matcher, 50)
    for number in range(50):
        matcher.add(f"s{number}", "a >= 0")
    assert gate.reached.wait(_PATIENCE)
    try:
        yield matcher, gate
    finally:
        gate.is_open.set()


def test_changes_and_matches_go_on_while_the_memtable_becomes_a_segment(flushing: tuple[Matcher, Gate]) -> None:
    matcher, gate = flushing
    matcher.remove("s1")
    matcher.replace("s2", "a >= 1")
    matcher.add("new", "a >= 0")
    matcher.add("s1", "a > 0")
    matcher.remove_many(["s3"])
    expected = ({f"s{number}" for number in range(50)} - {"s3"}) | {"new"}
    assert ids(matcher) == expected
    assert matcher.stats()["segments"] == 0
    gate.is_open.set()
    matcher.settle()
    assert matcher.stats()["segments"] == 1
    assert matcher.stats()["waiting"] == 3, "what was added meanwhile is still in the memtable"
    assert ids(matcher) == expected
    assert matcher.match({"a": 0}) == [f"s{number}" for number in range(50) if number > 3 or not number] + ["new"]


def test_adding_in_bulk_keeps_nobody_waiting_and_takes_no_id_twice() -> None:
    matcher = Matcher()
    matcher.add_many([("there", "a >= 0")])
    gate = held_up(matcher, 150)
    rows = [{"id": f"s{number}", "condition": "a >= 0"} for number in range(200)]
    refused: list[str] = []

    def add_many() -> None:
        refused.extend(each.id for each in matcher.add_many(pa.Table.from_pylist(rows)))

    with thread(add_many):
        assert gate.reached.wait(_PATIENCE)
        matcher.add("s7", "a >= 5")
        matcher.add("s8", "a >= 5")
        matcher.remove("s8")  # and so it is free again
        few = [{"id": f"s{number}", "condition": "a >= 6"} for number in range(20, 120)]
        matcher.add_many(pa.Table.from_pylist(few))
        matcher.add("later", "a >= 0")
        gate.is_open.set()
    assert refused == ["s7", *(f"s{number}" for number in range(20, 120))]
    assert len(matcher) == 202
    assert len(matcher.match({"a": 1})) == 202 - 101
    assert len(ids_at(matcher, 9)) == 202
    matcher.merge()
    assert len(ids_at(matcher, 9)) == 202


def ids_at(matcher: Matcher, value: int) -> set[str]:
    found = matcher.match({"a": value})
    assert len(found) == len(set(found))
    return set(found)


def test_adders_are_slowed_down_but_not_stopped_when_merging_is_behind(
    merging: tuple[Matcher, Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher, _ = merging
    waits: list[float | None] = []
    progress = matcher._collection._progress  # type: ignore[union-attr]
    monkeypatch.setattr(progress, "wait", waits.append)
    matcher.add("not yet", "a >= 0")
    assert waits == []
    monkeypatch.setattr(collection, "_MOST_SEGMENTS", 4)
    matcher.add("slowed down", "a >= 0")
    assert waits == [collection._PATIENCE_SECONDS]
    assert "slowed down" in matcher


def test_a_few_that_are_added_together_are_seen_together() -> None:
    matcher = Matcher()
    versions: list[int] = []
    state = matcher._collection.newest()
    matcher.add_many([(f"s{number}", "a >= 0") for number in range(30)])
    versions.append(matcher._collection.newest().version - state.version)
    assert versions == [1]
