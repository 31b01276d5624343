"""Exact bounds as they are stored, and pairs that formulas refuse."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.entries import bound_code
from tamis.engines.bitslice.kernels import verify
from tamis.engines.bitslice.kernels.verify import (
    PairBuffer,
    first_bound,
    narrow_bounds,
    prefetch_bounds,
    room_for,
    wide_bounds,
)
from tamis.engines.bitslice.kernels.visits import batch_of
from tamis.engines.bitslice.layout import AxisCells, CellRanges, EntryArrays
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest.axes import HIGHEST, LOWEST

I32_LOW, I32_HIGH = -(1 << 31), (1 << 31) - 1
NONE = np.empty(0, np.int32)


def halves(low: int, high: int) -> list[int]:
    return [int(each) for each in np.array([low, high], np.int64).view(np.int32)]


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1, 1), (LOWEST, HIGHEST), (-(1 << 40) - 7, (1 << 33) + 5)])
def test_bounds_of_64_bits(low: int, high: int) -> None:
    assert wide_bounds(np.array([9, *halves(low, high)], np.int32), np.uint64(1)) == (low, high)


@pytest.mark.parametrize(("low", "high"), [(-3, 4), (LOWEST, 4), (-3, HIGHEST), (LOWEST, HIGHEST)])
def test_bounds_of_32_bits(low: int, high: int) -> None:
    assert narrow_bounds(2, max(low, I32_LOW), min(high, I32_HIGH), 0, 0) == (low, high)


@pytest.mark.parametrize("offsets", [(1, 0), (7, 65_534), (65_535, 3)])
def test_bounds_of_16_bits_count_from_the_first_and_last_cell(offsets: tuple[int, int]) -> None:
    low, high = offsets
    word = int(np.array([high << 16 | low], np.uint32).view(np.int32)[0])
    assert narrow_bounds(1, word, word, -500, 9_000) == (low - 500, high + 9_000)
    assert narrow_bounds(1, word & ~0xFFFF, 0, -500, 9_000)[0] == LOWEST, "no bound above where the cell begins"
    assert narrow_bounds(1, word | -(1 << 16), 0, -500, 9_000)[1] == HIGHEST, "none before it ends"


def test_bounds_of_an_entry_are_found_by_its_ranges_or_by_a_list() -> None:
    """With as many words a range everywhere, their number alone is stored."""
    firsts = np.array([0, 2, 2, 5], np.int32)
    words = np.arange(12, dtype=np.int32)
    for bound_firsts in ([2], [0, 4, 4, 10]):
        entries = EntryArrays(
            NONE, firsts, np.empty(0, np.uint16), np.array(bound_firsts, np.int32), words, NONE, NONE
        )
        assert [first_bound(entries, np.uint64(entry)) for entry in range(3)] == [0, 4, 4]
        prefetch_bounds(entries, np.uint64(1))
        assert words.tolist() == [*range(12)], "fetching reads nothing and writes nothing"


def test_room_grows_and_keeps_what_is_there() -> None:
    pairs = PairBuffer(np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32))
    assert room_for(pairs, 3, 1).events is not None
    grown = room_for(pairs, 3, 9)
    assert len(grown.events) == len(grown.numbers) >= 12
    assert grown.events[:3].tolist() == [0, 1, 2] and grown.numbers[:3].tolist() == [4, 5, 6]


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("is_uniform", [True, False])
def test_values_at_the_edge_are_compared_with_exact_bounds(width: int, is_uniform: bool) -> None:
    """One axis, cut at 10 and 20; one entry that asks for 12 <= value <= 25, and one before it."""
    floors = np.array([0, 0, 0, 4, 10, 20])
    cells = AxisCells(
        np.array([2, 6], np.int32),
        np.array([3], np.int32),
        np.array([0, 2]),
        np.array([10, 20]),
        np.array([width, 0], np.uint8),
        np.array([1, 1, 0, 0, 0, 0], np.int32),
        floors,
    )
    one = np.zeros(1, np.int32)
    ranges = CellRanges(one + 3, one + 5, one, one + 4, one + 4)
    own = [12, 25] if width == 2 else [5 << 16 | 2]
    bounds = np.array([0] * width + own, np.int32)
    bound_firsts = np.array([width] if is_uniform else [0, width], np.int32)
    entries = EntryArrays(
        np.zeros(2, np.int32),
        np.arange(3, dtype=np.int32),
        np.zeros(2, np.uint16),
        bound_firsts,
        bounds,
        NONE,
        NONE,
    )
    values = [11, 12, 19, 20, 25, 26]
    encoded = EncodedBatch(
        len(values), one, np.array([values]), np.ones((1, 6), np.uint8), NONE, np.zeros(1, np.int64), NONE
    )
    batch = batch_of(cells, encoded, NONE, False)
    code, entry = bound_code(cells, ranges, 0), np.uint64(1)
    inside = [verify.is_within_bounds(entries, ranges, code, entry, batch, np.uint64(event)) for event in range(6)]
    assert inside == [12 <= value <= 25 for value in values]
    lows, highs = np.zeros(8, np.int64), np.zeros(8, np.int64)
    assert verify.fill_lanes(entries, ranges.axes, code, batch.columns, entry, lows, highs)
    assert (lows.tolist(), highs.tolist()) == ([12, *[LOWEST] * 7], [25, *[HIGHEST] * 7])
    with_null = ranges._replace(lows=one)
    code = bound_code(cells, with_null, 0)
    assert not verify.fill_lanes(entries, with_null.axes, code, batch.columns, entry, lows, highs)
