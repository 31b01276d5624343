"""A collection of segments: versions, and the way from the memtable into segments."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from tamis import EventBatch, compile_condition
from tamis.engines import ENGINES
from tamis.frames import BatchFrame
from tamis.segments import collection as module
from tamis.segments.collection import SegmentCollection
from tamis.segments.merge import FANOUT
from tamis.segments.records import Subscription
from tamis.segments.segment import LiveSegment


def collection(*ids: str) -> SegmentCollection:
    made = SegmentCollection(ENGINES["scan"].build)
    for id in ids:
        made.append(Subscription(id, "a > 1"), compile_condition("a > 1").formula)
    return made


def ids(state: module.SegmentState) -> list[str]:
    return sorted(state.match(BatchFrame(EventBatch.of([{"a": 2}]))).columns()[1].to_pylist())


def test_a_reader_keeps_its_version() -> None:
    made = collection("a", "b")
    before = made.newest()
    made.remove("a")
    made.append(Subscription("c", "a > 1"), compile_condition("a > 1").formula)
    made.replace(Subscription("b", "a > 5", revision=2), compile_condition("a > 5").formula)
    assert ids(before) == ["a", "b"]
    assert ids(made.newest()) == ["c"]
    assert [each.id for each in made.newest().subscriptions()] == ["c", "b"]
    assert (made.count, made.updates, made.newest().version) == (2, 6, 5)


def test_the_memtable_becomes_a_segment_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL_MEMTABLE", 2)
    made = collection("a", "b", "c")
    made.remove("b")
    version = made.state.version
    state = made.newest()
    assert (len(state.segments), state.added, state.version) == (1, 0, version)
    assert ids(state) == ["a", "c"]


def test_ids_that_exist_or_stand_twice() -> None:
    made = collection("a")
    made.flush()
    made.append(Subscription("b", "a > 1"), compile_condition("a > 1").formula)
    wanted = pa.array(["a", "b", "c", "c"], pa.large_string())
    assert made.existing(wanted).tolist() == [True, True, False, True]
    assert made.remove_many(pa.array(["a", "z", "b"], pa.large_string())) == ["z"]
    assert not made.existing(wanted)[:3].any()


def test_merging_makes_one_segment_without_what_is_deleted() -> None:
    made = collection("a")
    made.flush()
    made.append(Subscription("b", "a > 1"), compile_condition("a > 1").formula)
    made.flush()
    made.remove("a")
    made.merge()
    (segment,) = made.state.segments
    assert (len(segment), segment.dead, ids(made.newest())) == (1, 0, ["b"])
    assert made.stats().counts["segments"] == 1
    assert np.array_equal(segment.living(made.state.version), [0])


def test_large_merges_do_not_keep_a_change_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MERGED_AT_ONCE", 4)
    made = collection()
    begun, may_end = threading.Event(), threading.Event()
    merge = made._merge

    def slow(several: Sequence[LiveSegment]) -> None:
        begun.set()
        assert may_end.wait(30)
        merge(several)

    monkeypatch.setattr(made, "_merge", slow)
    for number in range(FANOUT):
        made.append(Subscription(f"s{number}", "a > 1"), compile_condition("a > 1").formula)
        made.flush()
    assert made.remove_many(pa.array(["nothing"], pa.large_string())) == ["nothing"]
    assert begun.wait(30)
    made.remove("s5")
    assert len(made.state.segments) == FANOUT, "the merge goes on"
    may_end.set()
    made.settle()
    assert len(made.state.segments) == 1
    assert sorted(ids(made.newest())) == [f"s{number}" for number in range(FANOUT) if number != 5]


def test_whoever_only_matches_merges_nothing() -> None:
    made = collection()
    for number in range(FANOUT):
        made.append(Subscription(f"s{number}", "a > 1"), compile_condition("a > 1").formula)
        made.flush()
    made.remove_many(pa.array(["nothing"], pa.large_string()), merge=False)
    assert len(made.state.segments) == FANOUT
