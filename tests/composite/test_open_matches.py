"""What is open, in columns: most keys never leave them, and bounds hold."""

from __future__ import annotations

import numpy as np

from tamis.composite.open_matches import KEY_BITS, Bounds, OpenMatches, Rows
from tamis.composite.parts import compile_composite

WITHIN = "WITHIN INTERVAL '10' SECOND BY user"
SECOND = 1_000_000


def opened(*texts: str, bounds: Bounds | None = None) -> OpenMatches:
    found = OpenMatches(bounds or Bounds(), lambda numbers, _: {number: {} for number in numbers})
    for text in texts:
        found.add(compile_composite(f"{text} {WITHIN}"), "group")
    return found


def rows(*events: tuple[int, int, int, int]) -> Rows:
    """Rows of slot, key, second and parts; numbers are the places."""
    slot, key, second, parts = (np.array(column, np.int64) for column in zip(*events, strict=True))
    return Rows(slot << KEY_BITS | key, second * SECOND, np.arange(len(slot)), parts.astype(np.int32))


def test_a_first_part_is_a_row_and_a_last_part_without_one_is_none() -> None:
    matches = opened("a THEN b")
    assert len(matches.apply(rows((0, 1, 0, 0b01), (0, 2, 1, 0b10), (0, 3, 2, 0b01)), 2 * SECOND)) == 0
    assert (matches.held.code & 0xFF).tolist() == [1, 3]
    assert matches.held.time_us.tolist() == [0, 2 * SECOND]


def test_matches_of_all_keys_come_in_the_order_of_time() -> None:
    matches = opened("a THEN b", "a THEN NOT b")
    events = rows((0, 9, 0, 1), (1, 5, 1, 1), (0, 3, 2, 1), (0, 3, 4, 2), (0, 9, 20, 1), (0, 9, 21, 2))
    found = matches.apply(events, 21 * SECOND)
    assert [(each.code & 0xFF, each.time_us // SECOND) for each in found] == [(3, 4), (5, 11), (9, 21)]
    assert len(matches.held) == 0


def test_events_that_the_watermark_has_not_reached_wait() -> None:
    matches = opened("a THEN b")
    assert len(matches.apply(rows((0, 1, 5, 2), (0, 1, 3, 1)), 2 * SECOND)) == 0
    assert (len(matches.early), len(matches.held)) == (2, 0)
    [found] = matches.apply(Rows.of([]), 5 * SECOND)
    assert found.numbers == [1, 0]


def test_the_newest_rows_of_a_group_that_keeps_too_many_are_dropped() -> None:
    matches = opened("a THEN b", "a THEN NOT b", bounds=Bounds(per_group=3))
    matches.apply(rows((0, 1, 0, 1), (1, 1, 1, 1), (0, 2, 2, 1), (1, 2, 3, 1), (0, 3, 4, 1)), 4 * SECOND)
    assert (matches.held.time_us // SECOND).tolist() == [0, 2, 1]
    assert matches.dropped == 2


def test_a_slot_that_is_free_again_starts_with_nothing() -> None:
    matches = opened("a THEN b", "a THEN b")
    matches.apply(rows((0, 1, 0, 1), (1, 1, 0, 1)), 0)
    matches.remove(0)
    assert matches.add(compile_composite(f"a THEN b {WITHIN}")) == 0
    assert (matches.held.code >> KEY_BITS).tolist() == [1]
    [found] = matches.apply(rows((0, 1, 1, 2), (1, 1, 1, 2)), SECOND)
    assert found.code >> KEY_BITS == 1
