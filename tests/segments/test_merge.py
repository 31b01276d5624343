"""Merging: which segments are due, and what one segment keeps of several."""

from __future__ import annotations

from tamis.engines import ENGINES
from tamis.segments.merge import FANOUT, carry_tombstones, due, merge, tier
from tests.segments.test_segment import segment

BUILD = ENGINES["scan"].build


def test_sizes_fall_into_tiers() -> None:
    assert [tier(size) for size in (1, 64, 65, 512, 64 * FANOUT + FANOUT, 100_000)] == [0, 0, 1, 1, 2, 4]


def test_as_many_as_the_fan_out_of_a_tier_are_due() -> None:
    some = [segment("a > 1") for _ in range(FANOUT - 1)]
    assert due(some) == []
    assert len(due([*some, segment("a > 2")])) == FANOUT


def test_a_segment_that_is_mostly_deleted_is_due_alone() -> None:
    here = segment("a > 1", "a > 2", "a > 3")
    here.mark_deleted([0, 2], 1)
    assert due([segment("a > 9"), here]) == [here]


def test_a_merged_segment_has_what_is_alive_and_what_is_deleted_meanwhile() -> None:
    first, second = segment("a > 1", "a > 2"), segment("a > 3", "a > 4")
    first.mark_deleted([0], 5)
    whole, kept = merge([first, second], 5, BUILD)
    assert [whole.records[slot].id for slot in range(len(whole))] == ["a > 2", "a > 3", "a > 4"]
    assert [slots.tolist() for slots in kept] == [[1], [0, 1]]
    second.mark_deleted([1], 6)  # while the merge was going on
    carry_tombstones(whole, [first, second], kept, 5)
    assert whole.living(5).tolist() == [0, 1, 2]
    assert whole.living(6).tolist() == [0, 1]
