"""A segment: tombstones hide slots from the versions that follow, and from no other."""

from __future__ import annotations

import numpy as np

from tamis import EventBatch, compile_condition
from tamis.engines import ENGINES
from tamis.engines.forest import forest_of
from tamis.frames import BatchFrame
from tamis.segments.records import Records, Subscription
from tamis.segments.segment import NEVER, LiveSegment


def segment(*conditions: str) -> LiveSegment:
    forest = forest_of([compile_condition(text).formula for text in conditions])
    records = Records.of([Subscription(text, text) for text in conditions])
    return LiveSegment(forest, records, ENGINES["scan"].build(forest))


def test_a_deleted_slot_is_alive_in_older_versions() -> None:
    here = segment("a > 0", "a > 1", "a > 2")
    here.mark_deleted([1], 7)
    assert (len(here), here.alive, here.dead) == (3, 2, 1)
    assert [here.living(version).tolist() for version in (6, 7)] == [[0, 1, 2], [0, 2]]
    assert [here.tombstones(version).tolist() for version in (6, 7)] == [[], [1]]
    assert [[each.tolist() for each in here.deleted_after(version)] for version in (6, 7)] == [
        [[1], [7]],
        [[], []],
    ]
    assert [here.find("a > 1", version) for version in (6, 7)] == [1, -1]
    assert here.is_alive(np.array([0, 1]), 7).tolist() == [True, False]


def test_a_match_sees_the_slots_of_its_version() -> None:
    here = segment("a > 0", "a > 1")
    here.mark_deleted([0], 3)
    frame = BatchFrame(EventBatch.of([{"a": 2}]))
    found = [here.keep_living(here.index.match(frame), version) for version in (2, 3)]
    assert [sorted(each.slots.tolist()) for each in found] == [[0, 1], [1]]


def test_the_estimate_counts_predicates_that_hold() -> None:
    here = segment("a > 0", "a > 1", "a > 5")
    frame = BatchFrame(EventBatch.of([{"a": 0}, {"a": 2}, {"a": 9}, {}]))
    assert here.estimate(frame).tolist() == [0, 2, 3, 0]


def test_slots_that_were_deleted_before_it_was_opened_are_so_in_every_version() -> None:
    here = segment(*(f"a > {number}" for number in range(20)))
    here.mark_deleted([3, 17], 0)
    assert here.tombstones(0).tolist() == [3, 17]
    here.mark_deleted([4], 2)
    assert [here.tombstones(version).tolist() for version in (0, 1, 2)] == [[3, 17], [3, 17], [3, 4, 17]]
    assert here.is_alive(np.array([2, 3, 4]), 1).tolist() == [True, False, True]
    assert [each.tolist() for each in here.deleted_after(0)] == [[4], [2]]


def test_many_deletions_one_after_the_other_are_all_remembered() -> None:
    here = segment(*(f"a > {number}" for number in range(200)))
    for slot in range(0, 200, 2):
        here.mark_deleted([slot], slot)
    assert here.tombstones(150).tolist() == [*range(0, 151, 2)]
    assert here.living(NEVER - 1).tolist() == [*range(1, 200, 2)]
