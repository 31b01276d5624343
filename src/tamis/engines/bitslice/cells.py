"""Cells: each axis cut into few pieces, so that a predicate is a range of cells.

Where an axis has few distinct ends of intervals, every one is a cut and the cells say exactly what predicates say.
Otherwise the cuts are quantiles of the ends, and what falls into the first or last cell of an interval is compared
with its exact ends.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.bitslice.layout import Bytes, Cells, Ints
from tamis.engines.forest import PIECES, TEST, Forest, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST

MOST_CELLS = 255
QUANTILE_CELLS = 24
_LEAST_CELLS = 4
_MANY_ROWS = 60_000
"""Rows up to which two bytes name one."""
_SAMPLE = 1 << 14
_FIRST_ROW = 2


@numba.njit(cache=True, nogil=True)
def _sample_ends(leaves: Leaves, pieces: Pieces, stride: Ints, counts: Ints, firsts: Ints, ends: Ints) -> None:
    """Count the ends that cut each axis; every stride-th goes to `ends`, as the coordinate above it."""
    wait = np.zeros(len(stride), np.int64)  # until the next one
    taken = np.zeros(len(stride), np.int64)
    for leaf in range(len(leaves.kinds)):
        kind = leaves.kinds[leaf]
        if kind == TEST:
            continue
        axis = leaves.axes[leaf]
        first, last = (leaves.lows[leaf], leaves.highs[leaf]) if kind == PIECES else (0, 1)
        for place in range(first, last):
            if kind == PIECES:
                low, high = pieces.lows[place], pieces.highs[place]
            else:
                low, high = leaves.lows[leaf], leaves.highs[leaf]
            if low > high:
                continue
            for end, is_cut in ((low, low != LOWEST), (high + 1, high != HIGHEST)):
                if not is_cut:
                    continue
                counts[axis] += 1
                if len(ends):
                    if wait[axis] == 0:
                        ends[firsts[axis] + taken[axis]] = end
                        taken[axis] += 1
                        wait[axis] = stride[axis]
                    wait[axis] -= 1


def cells_of(forest: Forest) -> Cells:
    """The cells that suit the intervals of a forest."""
    axes = len(forest.axes)
    counts = np.zeros(axes, np.int64)
    nothing = np.empty(0, np.int64)
    _sample_ends(forest.leaves, forest.pieces, np.ones(axes, np.int64), counts, nothing, nothing)
    # An odd stride takes low and high ends alike.
    stride = np.maximum(1, counts // _SAMPLE) | 1
    taken = -(-counts // stride)
    firsts = np.concatenate([[0], np.cumsum(taken)])
    ends = np.empty(int(firsts[-1]), np.int64)
    _sample_ends(forest.leaves, forest.pieces, stride, counts, firsts, ends)
    room = max(_LEAST_CELLS, min(MOST_CELLS, _MANY_ROWS // max(1, axes) - 1))
    cuts = [
        _cuts(ends[first:last], min(room, MOST_CELLS), min(room, QUANTILE_CELLS))
        for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)
    ]
    return _cells(cuts, forest)


def _cuts(ends: Ints, most: int, quantiles: int) -> Ints:
    ordered = np.sort(ends)
    distinct = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    if len(distinct) < most:
        return distinct
    places = np.arange(1, quantiles) * len(ordered) // quantiles
    return np.unique(ordered[places])


def _cells(cuts: list[Ints], forest: Forest) -> Cells:
    counts = np.array([len(each) + 1 for each in cuts], np.int32)
    bases = np.concatenate([[_FIRST_ROW], _FIRST_ROW + np.cumsum(counts + 1)]).astype(np.int32)
    cut_firsts = np.concatenate([[0], np.cumsum(counts - 1)]).astype(np.int64)
    axis_of = np.repeat(np.arange(len(cuts), dtype=np.int32), counts + 1)
    return _with_widths(
        Cells(
            bases,
            counts,
            cut_firsts,
            np.concatenate(cuts) if cuts else np.empty(0, np.int64),
            np.zeros(len(cuts) + 1, np.uint8),
            np.concatenate([np.full(_FIRST_ROW, len(cuts), np.int32), axis_of]),
        ),
        forest,
    )


def _with_widths(cells: Cells, forest: Forest) -> Cells:
    """Which axes need exact ends, and whether 32 bits hold them."""
    inexact = np.zeros(len(cells.counts), np.uint8)
    wide = np.zeros(len(cells.counts), np.uint8)
    _measure(cells, forest.leaves, forest.pieces, inexact, wide)
    widths = np.where(inexact != 0, np.where(wide != 0, 4, 2), 0).astype(np.uint8)
    return cells._replace(widths=np.concatenate([widths, np.zeros(1, np.uint8)]))


@numba.njit(cache=True, nogil=True, forceinline=True)
def cell_of(cells: Cells, axis: int, coordinate: int) -> int:
    """1 + the number of the axis' cuts at or below the coordinate."""
    low, high = cells.cut_firsts[axis], cells.cut_firsts[axis + 1]
    first = low
    while low < high:
        middle = (low + high) >> 1
        if cells.cuts[middle] <= coordinate:
            low = middle + 1
        else:
            high = middle
    return 1 + low - first


@numba.njit(cache=True, nogil=True, forceinline=True)
def _is_cut(cuts: Ints, first: int, last: int, coordinate: int) -> bool:
    """Is a coordinate among `cuts[first:last]`?"""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if cuts[middle] < coordinate:
            first = middle + 1
        else:
            last = middle
    return first < end and cuts[first] == coordinate


@numba.njit(cache=True, nogil=True)
def _measure(cells: Cells, leaves: Leaves, pieces: Pieces, inexact: Bytes, wide: Bytes) -> None:
    """Mark the axes that have an end which is no cut, and those with one that does not fit into 32 bits."""
    cuts, firsts = cells.cuts, cells.cut_firsts
    for leaf in range(len(leaves.kinds)):
        axis = leaves.axes[leaf]
        if axis < 0 or (inexact[axis] and wide[axis]):
            continue
        has_pieces = leaves.kinds[leaf] == PIECES
        first, last = (leaves.lows[leaf], leaves.highs[leaf]) if has_pieces else (0, 1)
        for place in range(first, last):
            low, high = leaves.lows[leaf], leaves.highs[leaf]
            if has_pieces:
                low, high = pieces.lows[place], pieces.highs[place]
            if low > high:
                continue
            for end, is_end in ((low, low != LOWEST), (high + 1, high != HIGHEST)):
                if is_end:
                    if not -(1 << 31) < end < (1 << 31) - 1:
                        wide[axis] = 1
                    if inexact[axis] == 0 and not _is_cut(cuts, firsts[axis], firsts[axis + 1], end):
                        inexact[axis] = 1


@numba.njit(cache=True, nogil=True, forceinline=True)
def interval_rows(cells: Cells, axis: int, low: int, high: int, null: int) -> tuple[int, int]:
    """The rows (low, high) of all cells that an interval touches; with `null` and no lower end, of NULL too."""
    base = cells.bases[axis]
    if low > high:
        return (0, base) if null else (base, base)
    first = base if low == LOWEST else base + cell_of(cells, axis, low) - 1
    last = base + (cells.counts[axis] if high == HIGHEST else cell_of(cells, axis, high))
    return (0 if null else first), last
