"""Cells: each axis cut into a few pieces, so that a predicate is a range of cells.

Where an axis has few distinct bounds of intervals, every one becomes a cut, and the cells say exactly what
predicates say. Otherwise the cuts are quantiles of the bounds, and values in the first or last cell of an interval
must be compared with its exact bounds. A bound counts as the lowest coordinate above it: `price < 10` and `price
>= 10` cut at the same place.

    price < 10, price BETWEEN 20 AND 29:   cuts 10 20 30

      cell   0       1            2            3            4
            NULL │ ... 9 │ 10 ... 19 │ 20 ... 29 │ 30 ...
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64
from tamis.engines.bitslice.kernels.cells import mark_axes, sample_bounds
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.forest import Forest
from tamis.engines.forest.axes import HIGHEST, LOWEST

MOST_CELLS = 255
"""Of an axis; a cell, and 0 for NULL, fits in a byte."""
QUANTILE_CELLS = 24
"""Cells of an axis with more distinct bounds than that. More make larger tables of masks, and save little: the
share of values in the two outermost cells of an interval is small already."""
_LEAST_CELLS = 4
_MOST_ROWS = 60_000
"""Of all axes; more axes have fewer cells each, so that two bytes still number most cell ranges."""
_SAMPLE = 1 << 14
"""Bounds of an axis from which quantiles are taken."""
_OFFSETS = 1 << 16
"""Coordinates of a cell that half a word can number."""
_FAR = 1 << 62
"""Beyond it, sums of a coordinate and an offset might not fit in 64 bits."""
_FIRST_ROW = 2
"""Rows 0 and 1 are no event and every event."""


def cells_of(forest: Forest) -> AxisCells:
    """The cells that suit the intervals of a forest."""
    axes = len(forest.axes)
    counts = np.zeros(axes, np.int64)
    nothing = np.empty(0, np.int64)
    sample_bounds(forest.leaves, forest.pieces, np.ones(axes, np.int64), counts, nothing, nothing)
    # Lower and upper bounds alternate, so an even stride would take bounds of one kind only.
    stride = np.maximum(1, counts // _SAMPLE) | 1
    sizes = -(-counts // stride)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    bounds = np.empty(int(firsts[-1]), np.int64)
    sample_bounds(forest.leaves, forest.pieces, stride, counts, firsts, bounds)
    room = max(_LEAST_CELLS, min(MOST_CELLS, _MOST_ROWS // max(1, axes) - 1))
    cuts = [
        cuts_of(bounds[first:last], min(room, MOST_CELLS), min(room, QUANTILE_CELLS))
        for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)
    ]
    return _with_widths(_cells_between(cuts), forest)


def exact_cells(forest: Forest) -> AxisCells:
    """Cells that say exactly what the intervals of a forest say, however many that takes."""
    axes = len(forest.axes)
    counts, every, nothing = np.zeros(axes, np.int64), np.ones(axes, np.int64), np.empty(0, np.int64)
    sample_bounds(forest.leaves, forest.pieces, every, counts, nothing, nothing)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    bounds = np.empty(int(firsts[-1]), np.int64)
    sample_bounds(forest.leaves, forest.pieces, every, counts, firsts, bounds)
    places = zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)
    return _cells_between([np.unique(bounds[first:last]) for first, last in places])


def cuts_of(bounds: I64, most: int, quantiles: int) -> I64:
    """All distinct bounds if they make at most `most` cells, else quantiles."""
    ordered = np.sort(bounds)
    distinct = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
    if len(distinct) < most:
        return distinct
    places = np.arange(1, quantiles) * len(ordered) // quantiles
    return np.unique(ordered[places])


def _cells_between(cuts: list[I64]) -> AxisCells:
    """The cells of axes with these cuts; widths are still 0."""
    counts = np.array([len(each) + 1 for each in cuts], np.int32)
    axis_of = np.repeat(np.arange(len(cuts), dtype=np.int32), counts + 1)
    return AxisCells(
        bases=np.concatenate([[_FIRST_ROW], _FIRST_ROW + np.cumsum(counts + 1)]).astype(np.int32),
        counts=counts,
        cut_firsts=np.concatenate([[0], np.cumsum(counts - 1)]).astype(np.int64),
        cuts=np.concatenate(cuts) if cuts else np.empty(0, np.int64),
        widths=np.zeros(len(cuts) + 1, np.uint8),
        axis_of=np.concatenate([np.full(_FIRST_ROW, len(cuts), np.int32), axis_of]),
        floors=np.zeros(_FIRST_ROW + len(axis_of), np.int64),
    )


def _with_widths(cells: AxisCells, forest: Forest) -> AxisCells:
    """Which axes need exact bounds, and how many words hold them.

    One word is enough where a cell has so few coordinates that 16 bits number them, with the lowest number of the
    first cell and the highest of the last for a missing bound. Two are enough for bounds of 32 bits, of which the
    outermost stand for a missing bound.
    """
    axes = len(cells.counts)
    inexact, least, most = np.zeros(axes, np.uint8), np.full(axes, HIGHEST), np.full(axes, LOWEST)
    mark_axes(cells, forest.leaves, forest.pieces, inexact, least, most)
    widths, floors = np.zeros(axes + 1, np.uint8), cells.floors.copy()
    for axis in np.flatnonzero(inexact).tolist():
        low, high = int(least[axis]), int(most[axis])
        cuts: list[int] = cells.cuts[cells.cut_firsts[axis] : cells.cut_firsts[axis + 1]].tolist()
        own = [low - 1, *cuts]
        sizes = [after - floor for floor, after in zip(own, [*cuts, high + 1], strict=True)]
        if max(sizes) <= _OFFSETS and abs(low) < _FAR > abs(high):
            widths[axis] = 1
            floors[cells.bases[axis] + 1 : cells.bases[axis + 1]] = own
        else:
            widths[axis] = 2 if -(1 << 31) < low and high < (1 << 31) - 1 else 4
    return cells._replace(widths=widths, floors=floors)
