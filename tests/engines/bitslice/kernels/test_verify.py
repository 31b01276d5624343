"""Exact bounds as they are stored, and pairs that formulas refuse."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.kernels import verify
from tamis.engines.bitslice.kernels.verify import PairBuffer, is_between, room_for, wide_bounds
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


@pytest.mark.parametrize("value", [LOWEST, I32_LOW - 1, I32_LOW, -3, 0, 4, 5, I32_HIGH, I32_HIGH + 1, HIGHEST])
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (LOWEST, 4), (-3, HIGHEST), (LOWEST, HIGHEST), (1, 0)])
def test_between_bounds_of_either_width(low: int, high: int, value: int) -> None:
    narrow = np.array([max(low, I32_LOW), min(high, I32_HIGH)], np.int32)
    wide = np.array(halves(low, high), np.int32)
    assert is_between(narrow, np.uint64(0), 2, value) == (low <= value <= high)
    assert is_between(wide, np.uint64(0), 4, value) == (low <= value <= high)


def test_room_grows_and_keeps_what_is_there() -> None:
    pairs = PairBuffer(np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32))
    assert room_for(pairs, 3, 1).events is not None
    grown = room_for(pairs, 3, 9)
    assert len(grown.events) == len(grown.numbers) >= 12
    assert grown.events[:3].tolist() == [0, 1, 2] and grown.numbers[:3].tolist() == [4, 5, 6]


def test_values_at_the_edge_are_compared_with_exact_bounds() -> None:
    """One axis, cut at 10 and 20; one entry that asks for 12 <= value <= 25."""
    cells = AxisCells(
        np.array([2, 6], np.int32),
        np.array([3], np.int32),
        np.array([0, 2]),
        np.array([10, 20]),
        np.array([2, 0], np.uint8),
        np.array([1, 1, 0, 0, 0, 0], np.int32),
    )
    one = np.zeros(1, np.int32)
    ranges = CellRanges(one + 3, one + 5, one, one + 4, one + 4)
    bounds = np.array([12, 25], np.int32)
    entries = EntryArrays(one, np.array([0, 1], np.int32), np.zeros(1, np.uint16), one, bounds, NONE, NONE)
    values = [11, 12, 19, 20, 25, 26]
    encoded = EncodedBatch(
        len(values), one, np.array([values]), np.ones((1, 6), np.uint8), NONE, np.zeros(1, np.int64), NONE
    )
    batch = batch_of(cells, encoded, NONE)
    widths = np.array([2], np.int32)
    inside = [verify.is_within_bounds(entries, ranges.axes, widths, 0, batch, event) for event in range(6)]
    assert inside == [12 <= value <= 25 for value in values]
    out = (np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64))
    assert verify.bounds_of(entries, ranges, widths, batch.columns, 0, out) == 1
    assert [int(each[0]) for each in out] == [0, 12, 25]
    with_null = ranges._replace(lows=one)
    assert verify.bounds_of(entries, with_null, widths, batch.columns, 0, out) == verify.NO_BOUNDS
