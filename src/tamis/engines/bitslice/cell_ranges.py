"""Cell ranges: what predicates are in terms of cells, each different one once.

Equal ranges are common, since conditions share constants and cells are few. One number for each different range
keeps entries short, two bytes a predicate, and a mask is computed once for all entries that refer to it.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32
from tamis.engines.bitslice.kernels.cell_ranges import NumberedRanges, RangePool, collect_ranges, renumber
from tamis.engines.bitslice.layout import AxisCells, CellRanges
from tamis.engines.forest import Forest


def number_ranges(forest: Forest, cells: AxisCells) -> NumberedRanges:
    """The cell ranges of a forest's leaves, numbered by axis."""
    room = 1 << 14
    while True:
        pool = RangePool(
            lows=np.empty(room, np.int32),
            highs=np.empty(room, np.int32),
            axes=np.empty(room, np.int32),
            table=np.full(4 * room, -1, np.int32),
            count=np.zeros(1, np.int64),
        )
        out = (
            np.empty(len(forest.leaves.kinds), np.int32),
            np.empty(len(forest.leaves.kinds), np.int32),
            np.empty(len(forest.pieces.lows), np.int32),
            np.full(len(forest.axes), -1, np.int32),
        )
        if collect_ranges(pool, cells, forest.leaves, forest.pieces, out):
            break
        room *= 8
    count = int(pool.count[0])
    lows, highs, axes = (each[:count] for each in (pool.lows, pool.highs, pool.axes))
    # By axis, so that a group's ranges name each axis in one stretch (`masks.axes_and_tests`).
    order = np.lexsort((highs, lows, axes))
    numbers = np.empty(count, np.int32)
    numbers[order] = np.arange(count, dtype=np.int32)
    renumber(numbers, out)
    return NumberedRanges(_with_inner(cells, lows[order], highs[order], axes[order]), *out)


def _with_inner(cells: AxisCells, lows: I32, highs: I32, axes: I32) -> CellRanges:
    """The ranges, with the cells in which an event needs no comparison with exact bounds.

    Where cells are exact these are all; else all but the first and last one. A range that begins at NULL has no
    lower bound to compare with, one that ends at NULL no upper one.
    """
    is_axis = axes < len(cells.counts)
    own = np.where(is_axis, axes, 0)
    bases = cells.bases[own] if len(cells.counts) else np.zeros(len(own), np.int32)
    coarse = is_axis & (cells.widths[own] > 0)
    inner_lows = np.where(coarse & (lows > 0), lows + 1, lows)
    inner_highs = np.where(coarse & (highs > bases), highs - 1, highs)
    return CellRanges(lows, highs, axes, inner_lows.astype(np.int32), inner_highs.astype(np.int32))
