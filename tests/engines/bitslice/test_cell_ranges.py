"""Different predicates with the same cells share a range, which says where exact bounds need not be compared."""

from __future__ import annotations

import bisect
import random

import numpy as np
import pytest

from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import MOST_CELLS, cells_of
from tamis.engines.bitslice.layout import AxisCells
from tamis.engines.forest import forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tests.engines.bitslice.build_steps import interval_forest

DOMAIN = 600
E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "name": "string"}})


def row_of(cells: AxisCells, value: int | None) -> int:
    """The row of a value of axis 0."""
    base = int(cells.bases[0])
    cuts = cells.cuts[cells.cut_firsts[0] : cells.cut_firsts[1]].tolist()
    return base if value is None else base + 1 + bisect.bisect_right(cuts, value)


def test_equal_predicates_share_a_range() -> None:
    texts = ["a > 3 AND b = 2", "b = 2 OR NOT a <= 3", "a >= 4 AND b > 2", "name LIKE '%x%'", "name LIKE '%x%'"]
    forest = forest_of([compile_condition(text, E).formula for text in texts])
    cells = cells_of(forest)
    numbered = number_ranges(forest, cells)
    assert numbered.ranges.axes.tolist() == [0, 1, 1, 2], "by axis, then tests"
    by_predicate = dict[str, set[int]]()
    for leaf, number in enumerate(numbered.leaves.tolist()):
        by_predicate.setdefault(str(forest.predicate(leaf)), set()).add(number)
    assert sorted(map(len, by_predicate.values())) == [1, 1, 1, 1]
    assert len(set().union(*by_predicate.values())) == 4
    # A test is the range from row 0, which no event is in, to its own row.
    assert (int(numbered.ranges.lows[3]), int(numbered.ranges.highs[3])) == (0, len(cells.axis_of))


def random_intervals(null: bool) -> list[tuple[int, int]]:
    """With a lower bound only if NULL is not admitted: an entry has a residual for such a leaf, not its bounds."""
    random_ = random.Random(5)
    lows = [LOWEST if null or random_.random() < 0.1 else random_.randrange(DOMAIN) for _ in range(800)]
    highs = [random_.randrange(max(low, 0), DOMAIN) if random_.random() < 0.9 else HIGHEST for low in lows]
    return list(zip(lows, highs, strict=True))


@pytest.mark.parametrize("null", [False, True])
def test_inner_cells_need_no_exact_bounds_and_cells_outside_have_no_value(null: bool) -> None:
    intervals = random_intervals(null)
    forest = interval_forest(intervals, null=null)
    cells = cells_of(forest)
    assert cells.widths[0] > 0, "cells are not exact"
    ranges, leaves, *_ = number_ranges(forest, cells)
    assert len(ranges.lows) < len(set(intervals)), "intervals in the same cells have one range"
    rows = {value: row_of(cells, value) for value in (None, *range(-1, DOMAIN + 1))}
    for (low, high), number in zip(intervals, leaves.tolist(), strict=True):
        first, last = int(ranges.lows[number]), int(ranges.highs[number])
        inner_first, inner_last = int(ranges.inner_lows[number]), int(ranges.inner_highs[number])
        for value, row in rows.items():
            holds = null if value is None else low <= value <= high
            assert first < row <= last or not holds
            assert holds or not inner_first < row <= inner_last
        assert inner_first - first <= 1 and last - inner_last <= 1, "only the outermost cells are left out"


def test_where_cells_are_exact_all_are_inner_ones() -> None:
    forest = interval_forest([(3, 9), (LOWEST, 5), (7, HIGHEST), (5, 4)])
    ranges = number_ranges(forest, cells_of(forest)).ranges
    assert ranges.inner_lows.tolist() == ranges.lows.tolist()
    assert ranges.inner_highs.tolist() == ranges.highs.tolist()


def test_there_may_be_any_number_of_ranges() -> None:
    """More than the room that is tried first."""
    values = range(MOST_CELLS - 2)
    intervals = [(low, high) for low in values for high in values if low <= high]
    assert len(intervals) > 1 << 14
    forest = interval_forest(intervals)
    # Of the few intervals of one value, since the cells of many intervals are those of a sample.
    cells = cells_of(interval_forest([(value, value) for value in values]))
    assert not cells.widths.any()
    ranges, leaves, *_ = number_ranges(forest, cells)
    lows, highs = np.array(intervals).T
    # Value v is in cell v + 2, after that of NULL and that of all values below 0.
    base = int(cells.bases[0])
    assert len(ranges.lows) == len(intervals)
    assert np.array_equal(ranges.lows[leaves], base + lows + 1)
    assert np.array_equal(ranges.highs[leaves], base + highs + 2)


def test_no_leaves_have_no_ranges() -> None:
    forest = interval_forest([], axes=0)
    assert not len(number_ranges(forest, cells_of(forest)).ranges.lows)
