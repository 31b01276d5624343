"""Cells: collecting the bounds of intervals, and finding the cell of a coordinate."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64, U8
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.forest import PIECES, TEST, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.kernels import kernel


@kernel
def sample_bounds(leaves: Leaves, pieces: Pieces, stride: I64, counts: I64, firsts: I64, bounds: I64) -> None:
    """Count the bounds that cut each axis; write every stride-th to `bounds`, if that has room for any.

    A bound is written as the lowest coordinate above it, where a cut would be. `firsts` has the axis' part of
    `bounds`.
    """
    # The caller asks twice: without room, to learn how many bounds an axis has and so how far apart samples must
    # be, then with room for just these. To keep all bounds would take 16 bytes a leaf beside the forest.
    wait = np.zeros(len(stride), np.int64)  # until the next one is written
    taken = np.zeros(len(stride), np.int64)
    for leaf in range(len(leaves.kinds)):
        kind = leaves.kinds[leaf]
        if kind == TEST:  # holds or not, so it has a row of its own instead of cells
            continue
        axis = leaves.axes[leaf]
        first, last = (leaves.lows[leaf], leaves.highs[leaf]) if kind == PIECES else (0, 1)
        for place in range(first, last):
            if kind == PIECES:
                low, high = pieces.lows[place], pieces.highs[place]
            else:
                low, high = leaves.lows[leaf], leaves.highs[leaf]
            if low > high:  # no value at all
                continue
            # [low, high] changes the answer at low and behind high. Where it is open there is nothing to cut:
            # HIGHEST + 1 has wrapped around then, and is not used.
            for bound, is_cut in ((low, low != LOWEST), (high + 1, high != HIGHEST)):
                if not is_cut:
                    continue
                counts[axis] += 1
                if len(bounds):
                    if wait[axis] == 0:
                        bounds[firsts[axis] + taken[axis]] = bound
                        taken[axis] += 1
                        wait[axis] = stride[axis]
                    wait[axis] -= 1


@kernel(forceinline=True)
def cell_of(cells: AxisCells, axis: int, coordinate: int) -> int:
    """1 + the number of the axis' cuts at or below the coordinate."""
    low, high = cells.cut_firsts[axis], cells.cut_firsts[axis + 1]
    first = low
    # By hand: `np.searchsorted` would make a view of the axis' part first, and this runs for each value of each
    # event.
    while low < high:
        middle = (low + high) >> 1
        if cells.cuts[middle] <= coordinate:
            low = middle + 1
        else:
            high = middle
    return 1 + low - first  # cell 0 is NULL


@kernel(forceinline=True)
def _is_cut(cuts: I64, first: int, last: int, coordinate: int) -> bool:
    """Is a coordinate among `cuts[first:last]`?"""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if cuts[middle] < coordinate:
            first = middle + 1
        else:
            last = middle
    return first < end and cuts[first] == coordinate


@kernel
def mark_axes(cells: AxisCells, leaves: Leaves, pieces: Pieces, inexact: U8, least: I64, most: I64) -> None:
    """Mark the axes that have a bound which is no cut, and lower `least` and raise `most` to the bounds of each.

    An upper bound counts as the lowest coordinate above it.
    """
    cuts, firsts = cells.cuts, cells.cut_firsts
    for leaf in range(len(leaves.kinds)):
        axis = leaves.axes[leaf]
        if axis < 0:  # a test
            continue
        has_pieces = leaves.kinds[leaf] == PIECES
        first, last = (leaves.lows[leaf], leaves.highs[leaf]) if has_pieces else (0, 1)
        for place in range(first, last):
            low, high = leaves.lows[leaf], leaves.highs[leaf]
            if has_pieces:
                low, high = pieces.lows[place], pieces.highs[place]
            if low > high:
                continue
            for bound, is_bound in ((low, low != LOWEST), (high + 1, high != HIGHEST)):
                if is_bound:
                    # How far bounds reach decides whether 16, 32 or 64 bits keep the exact ones
                    # (`cells._with_widths`).
                    least[axis], most[axis] = min(least[axis], bound), max(most[axis], bound)
                    if inexact[axis] == 0 and not _is_cut(cuts, firsts[axis], firsts[axis + 1], bound):
                        inexact[axis] = 1


@kernel(forceinline=True)
def interval_rows(cells: AxisCells, axis: int, low: int, high: int, null: int) -> tuple[int, int]:
    """The cell range (low, high] of all cells that an interval touches; if `null`, from 0, so that NULL is inside.

    With `null` and a lower bound, the cells below the interval are inside, too: that is for the caller to refine.
    """
    # Rows of an axis: base is NULL, base + c cell c. Half open below, so that NULL alone is (0, base] and a range
    # from NULL on begins with row 0, which holds no event: no range needs a second form.
    base = cells.bases[axis]
    if low > high:  # no value: NULL only, or nothing
        return (0, base) if null else (base, base)
    first = base if low == LOWEST else base + cell_of(cells, axis, low) - 1
    last = base + (cells.counts[axis] if high == HIGHEST else cell_of(cells, axis, high))
    return (0 if null else first), last
