"""Cells of coordinates, and bounds of intervals, as plain Python finds them."""

from __future__ import annotations

import bisect
import random

import numpy as np
import pytest

from tamis.engines.bitslice.cells import cells_of
from tamis.engines.bitslice.kernels.cells import _is_cut, cell_of, interval_rows, mark_axes, sample_bounds
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tests.engines.naive import random_forest

FOREST = random_forest(random.Random(3), 60, depth=3)


def intervals(axis: int) -> list[tuple[int, int]]:
    """All intervals and pieces on an axis."""
    leaves, found = FOREST.leaves, []
    for leaf in range(len(leaves.kinds)):
        if leaves.axes[leaf] == axis:
            low, high = int(leaves.lows[leaf]), int(leaves.highs[leaf])
            pieces = zip(FOREST.pieces.lows[low:high], FOREST.pieces.highs[low:high], strict=True)
            found += [(int(a), int(b)) for a, b in pieces] if leaves.kinds[leaf] else [(low, high)]
    return [(low, high) for low, high in found if low <= high]


@pytest.mark.parametrize("axis", range(len(FOREST.axes)))
def test_bounds_become_cuts(axis: int) -> None:
    cells = cells_of(FOREST)
    wanted = {low for low, _ in intervals(axis) if low != LOWEST}
    wanted |= {high + 1 for _, high in intervals(axis) if high != HIGHEST}
    cuts = cells.cuts[cells.cut_firsts[axis] : cells.cut_firsts[axis + 1]].tolist()
    assert cuts == sorted(wanted)
    assert cells.widths[axis] == 0
    for coordinate in (-5, 0, 1, *cuts, *(cut - 1 for cut in cuts)):
        assert cell_of(cells, axis, coordinate) == 1 + bisect.bisect_right(cuts, coordinate)


def test_a_sample_takes_every_stride_th_bound() -> None:
    axes = len(FOREST.axes)
    nothing = np.empty(0, np.int64)
    counts = np.zeros(axes, np.int64)
    sample_bounds(FOREST.leaves, FOREST.pieces, np.ones(axes, np.int64), counts, nothing, nothing)
    stride = np.full(axes, 3, np.int64)
    firsts = np.concatenate([[0], np.cumsum(-(-counts // 3))])
    some = np.empty(firsts[-1], np.int64)
    sample_bounds(FOREST.leaves, FOREST.pieces, stride, counts.copy(), firsts, some)
    for axis in range(axes):
        bounds = [
            bound
            for low, high in intervals(axis)
            for bound, is_bound in ((low, low != LOWEST), (high + 1, high != HIGHEST))
            if is_bound
        ]
        assert counts[axis] == len(bounds)
        assert some[firsts[axis] : firsts[axis + 1]].tolist() == bounds[::3]


def test_the_range_of_an_interval_has_all_cells_that_it_touches() -> None:
    cells = cells_of(FOREST)
    for axis in range(len(FOREST.axes)):
        base, count = int(cells.bases[axis]), int(cells.counts[axis])
        assert interval_rows(cells, axis, 1, 0, 0) == (base, base), "no value"
        assert interval_rows(cells, axis, 1, 0, 1) == (0, base), "NULL only"
        assert interval_rows(cells, axis, LOWEST, HIGHEST, 0) == (base, base + count)
        for low, high in intervals(axis):
            first, last = interval_rows(cells, axis, low, high, 0)
            inside = {cell_of(cells, axis, value) for value in range(max(low, -9), min(high, 99) + 1)}
            assert inside <= set(range(first - base + 1, last - base + 1))


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_axes_whose_bounds_are_not_all_cuts_are_marked(kept: int) -> None:
    """Of the exact cuts of each axis, every one of `kept` is left."""
    exact = cells_of(FOREST)
    axes = range(len(FOREST.axes))
    cuts = [exact.cuts[exact.cut_firsts[axis] : exact.cut_firsts[axis + 1]][::kept] for axis in axes]
    cells = exact._replace(cuts=np.concatenate(cuts), cut_firsts=np.cumsum([0, *map(len, cuts)]))
    inexact = np.zeros(len(cuts), np.uint8)
    least, most = np.full(len(cuts), HIGHEST), np.full(len(cuts), LOWEST)
    mark_axes(cells, FOREST.leaves, FOREST.pieces, inexact, least, most)
    for axis in axes:
        bounds = {low for low, _ in intervals(axis) if low != LOWEST}
        bounds |= {high + 1 for _, high in intervals(axis) if high != HIGHEST}
        there = set(cuts[axis].tolist())
        assert bool(inexact[axis]) == (not bounds <= there)
        assert (least[axis], most[axis]) == (min(bounds, default=HIGHEST), max(bounds, default=LOWEST))
        first, last = cells.cut_firsts[axis], cells.cut_firsts[axis + 1]
        for value in range(-3, 80):
            assert _is_cut(cells.cuts, first, last, value) == (value in there)
