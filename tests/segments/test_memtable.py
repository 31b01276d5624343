"""The memtable: entries evaluated one by one, each in the versions that have it."""

from __future__ import annotations

from tamis import EventBatch, compile_condition
from tamis.frames import BatchFrame
from tamis.segments.memtable import MemtableEntry, match_entries, verifier_of
from tamis.segments.records import Subscription
from tamis.segments.segment import NEVER
from tamis.verification.verifier import DEFAULT_POLICY


def entry(text: str, deleted: int = NEVER) -> MemtableEntry:
    made = MemtableEntry(Subscription(text, text), compile_condition(text).formula)
    made.deleted = deleted
    return made


def test_slots_are_places_and_deleted_entries_are_left_out() -> None:
    entries = [entry("a > 1", deleted=5), entry("a > 2"), entry("a IS NULL")]
    frame = BatchFrame(EventBatch.of([{"a": 2}, {"a": 3}, {}]))
    found = {
        version: sorted(zip(*map(list, match_entries(entries, version, frame, DEFAULT_POLICY)), strict=True))
        for version in (4, 5)
    }
    assert found == {4: [(0, 0), (1, 0), (1, 1), (2, 2)], 5: [(1, 1), (2, 2)]}


def test_without_calls_nothing_is_verified() -> None:
    assert verifier_of([]) is None
    assert entry("a > 1").rest is None
