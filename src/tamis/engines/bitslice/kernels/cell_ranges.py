"""Cell ranges: computing those of all leaves, and numbering the different ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.cells import interval_rows
from tamis.engines.bitslice.layout import AxisCells, CellRanges
from tamis.engines.forest import INTERVAL, TEST, Leaves, Pieces
from tamis.engines.forest.axes import LOWEST
from tamis.kernels import kernel


class NumberedRanges(NamedTuple):
    """The different cell ranges, and the numbers of those of leaves and pieces.

    ranges: the cell ranges.
    leaves: int32[leaves]: the smallest range with all that the leaf admits, NULL included.
    values: int32[leaves]: for a leaf that admits NULL and an interval with a lower bound, the range of the
        interval alone; else undefined.
    pieces: int32[pieces]: the range of a piece.
    nulls: int32[axes]: the range with NULL only; -1 if no leaf admits NULL.
    """

    ranges: CellRanges
    leaves: I32
    values: I32
    pieces: I32
    nulls: I32


class RangePool(NamedTuple):
    """Different ranges while they are collected.

    lows, highs, axes: int32[room].
    table: int32[4 * room]: numbers of ranges by hash, -1 where there is none.
    count: int64[1]: how many ranges there are.
    """

    lows: I32
    highs: I32
    axes: I32
    table: I32
    count: I64


@kernel(forceinline=True)
def _number_of(pool: RangePool, low: int, high: int, axis: int) -> int:
    """The number of a range, a new one if it is new; -1 if there is no room for it."""
    mask = np.uint64(len(pool.table) - 1)
    # The axis is not part of the key: `high` is a row of that axis, except for NULL, whose row differs, too.
    key = np.uint64(low) << np.uint64(32) | np.uint64(high)
    key *= np.uint64(0x9E3779B97F4A7C15)
    place = (key >> np.uint64(32)) & mask
    while True:
        number = pool.table[place]
        if number < 0:
            break
        if pool.highs[number] == high and pool.lows[number] == low:
            return number
        place = (place + np.uint64(1)) & mask
    number = pool.count[0]
    if number == len(pool.lows):
        return -1
    pool.count[0] += 1
    pool.table[place] = number
    pool.lows[number], pool.highs[number], pool.axes[number] = low, high, axis
    return number


@kernel
def collect_ranges(
    pool: RangePool, cells: AxisCells, leaves: Leaves, pieces: Pieces, out: tuple[I32, I32, I32, I32]
) -> bool:
    """Number the ranges of all leaves and pieces into the last four arrays of `NumberedRanges`.

    False if the pool is too small.
    """
    by_leaf, by_value, by_piece, by_axis = out
    for leaf in range(len(leaves.kinds)):
        kind, axis = leaves.kinds[leaf], np.int64(leaves.axes[leaf])
        low, high, null = leaves.lows[leaf], leaves.highs[leaf], leaves.nulls[leaf]
        # A test is the range (0, its row]: row 0 holds no event, so the mask of the range is that of the row.
        row, last_row = 0, len(cells.axis_of) + low
        if kind == TEST:
            axis = len(cells.counts) + low
        else:
            if null and by_axis[axis] < 0:
                by_axis[axis] = _number_of(pool, 0, int(np.int64(cells.bases[axis])), axis)
            if kind != INTERVAL:
                for place in range(low, high):
                    row, last_row = interval_rows(cells, axis, pieces.lows[place], pieces.highs[place], 0)
                    by_piece[place] = _number_of(pool, row, last_row, axis)
                low, high = pieces.lows[low], pieces.highs[high - 1]  # the hull of the pieces
            elif null and low != LOWEST and low <= high:
                row, last_row = interval_rows(cells, axis, low, high, 0)
                by_value[leaf] = _number_of(pool, row, last_row, axis)
            row, last_row = interval_rows(cells, axis, low, high, int(np.int64(null)))
        by_leaf[leaf] = _number_of(pool, row, last_row, axis)
        if pool.count[0] == len(pool.lows):  # it may have refused a range
            return False
    return True


@kernel
def renumber(numbers: I32, out: tuple[I32, I32, I32, I32]) -> None:
    """Replace each number n in the arrays by `numbers[n]`."""
    for each in out:
        for place in range(len(each)):
            # Values that no leaf has asked for were never set, and may be anything.
            if 0 <= each[place] < len(numbers):
                each[place] = numbers[each[place]]
