"""Cell ranges contain what their leaves admit, and equal ones are one."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.kernels.cells import cell_of
from tamis.engines.forest import PIECES
from tests.engines.bitslice.build_steps import AXES, build_steps
from tests.engines.naive import leaf_holds

STEPS = build_steps(8)


def row_of(axis: int, value: int | None) -> int:
    base = int(STEPS.cells.bases[axis])
    return base if value is None else base + int(cell_of(STEPS.cells, axis, value))


def is_inside(number: int, row: int) -> bool:
    ranges = STEPS.numbered.ranges
    return bool(ranges.lows[number] < row <= ranges.highs[number])


def test_an_event_that_satisfies_a_leaf_is_in_its_range() -> None:
    leaves = STEPS.forest.leaves
    for leaf, axis in enumerate(leaves.axes.tolist()):
        number = int(STEPS.numbered.leaves[leaf])
        assert STEPS.numbered.ranges.axes[number] == axis
        for value in (None, *range(-3, 75)):
            inside = is_inside(number, row_of(axis, value))
            holds = leaf_holds(STEPS.forest, leaf, value)
            assert inside or not holds
            # Cells are exact here, so a leaf of one interval without NULL is its range.
            assert inside == holds or leaves.kinds[leaf] == PIECES or leaves.nulls[leaf]


def test_pieces_and_null_have_ranges_of_their_own() -> None:
    leaves, pieces = STEPS.forest.leaves, STEPS.forest.pieces
    for leaf in np.flatnonzero(leaves.kinds == PIECES).tolist():
        for piece in range(leaves.lows[leaf], leaves.highs[leaf]):
            for value in range(-3, 75):
                inside = is_inside(int(STEPS.numbered.pieces[piece]), row_of(int(leaves.axes[leaf]), value))
                assert inside == (pieces.lows[piece] <= value <= pieces.highs[piece])
    for axis in range(AXES):
        number = int(STEPS.numbered.nulls[axis])
        assert (number >= 0) == bool((leaves.nulls[leaves.axes == axis] != 0).any())
        if number >= 0:
            assert [value for value in (None, *range(-3, 75)) if is_inside(number, row_of(axis, value))] == [None]


def test_ranges_are_different_and_sorted_by_axis() -> None:
    ranges = STEPS.numbered.ranges
    listed = list(zip(ranges.axes.tolist(), ranges.lows.tolist(), ranges.highs.tolist(), strict=True))
    assert listed == sorted(set(listed))
    assert ranges.inner_lows.tolist() == ranges.lows.tolist(), "where cells are exact, all are inner ones"
