"""Cells are exact where an axis has few distinct bounds; else they are quantiles, and bounds are kept apart."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.engines.bitslice.cells import MOST_CELLS, QUANTILE_CELLS, cells_of, cuts_of
from tamis.engines.forest import forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tests.engines.bitslice.build_steps import interval_forest

OFFER = EventType.from_dict({"name": "offer", "attributes": {"price": "int", "stars": "int", "name": "string"}})


def test_the_example_of_the_module() -> None:
    texts = ("price < 10", "price BETWEEN 20 AND 29", "price >= 10")
    cells = cells_of(forest_of([compile_condition(text, OFFER).formula for text in texts]))
    assert cells.cuts.tolist() == [10, 20, 30], "< 10 and >= 10 cut at the same place"
    assert cells.counts.tolist() == [4]


def test_rows_are_two_for_all_axes_then_null_and_the_cells_of_each() -> None:
    texts = ("price < 10", "stars > 2 AND price < 7", "stars IS NULL", "name LIKE '%x%'")
    cells = cells_of(forest_of([compile_condition(text, OFFER).formula for text in texts]))
    assert cells.counts.tolist() == [3, 2]
    assert cells.bases.tolist() == [2, 6, 9]
    assert cells.axis_of.tolist() == [2, 2, *[0] * 4, *[1] * 3]
    assert cells.cut_firsts.tolist() == [0, 2, 3]


def test_without_intervals_there_are_no_cells() -> None:
    cells = cells_of(forest_of([compile_condition("name LIKE '%x%'", OFFER).formula]))
    assert (cells.bases.tolist(), cells.axis_of.tolist(), cells.widths.tolist()) == ([2], [0, 0], [0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axes", "most"),
    [(1, MOST_CELLS), (200, MOST_CELLS), (600, 60_000 // 600 - 1), (15_000, 4)],
    ids=["a cell fits in a byte", "few axes", "many axes share the rows", "at least 4 cells"],
)
def test_distinct_bounds_are_cuts_up_to_the_most_cells(axes: int, most: int) -> None:
    bounds = [7 * number for number in range(most)]
    exact = cells_of(interval_forest([(bound, HIGHEST) for bound in bounds[:-1]], axes=axes))
    assert exact.cuts.tolist() == bounds[:-1]
    assert exact.counts.tolist() == [most, *[1] * (axes - 1)]
    assert not exact.widths.any()
    coarse = cells_of(interval_forest([(bound, HIGHEST) for bound in bounds], axes=axes))
    assert coarse.counts[0] <= min(most, QUANTILE_CELLS)
    assert set(coarse.cuts.tolist()) < set(bounds)
    assert coarse.widths.tolist() == [1, *[0] * axes], "exact bounds where cells are not"


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [
        (-50_000, 50_000, 1),
        (-65_535 - 1, 3, 2),
        (3, 1 << 17, 2),
        (-(1 << 31) + 1, (1 << 31) - 3, 2),
        (3, (1 << 31) - 2, 4),
        (-(1 << 31), 3, 4),
        (3, 1 << 40, 4),
        (-(1 << 40), 3, 4),
        (3, HIGHEST, 1),
        (LOWEST, 3, 1),
    ],
)
def test_exact_bounds_take_no_more_bits_than_they_must(low: int, high: int, width: int) -> None:
    """The outermost numbers of 32 bits stand for a missing bound; an upper bound counts as the number above it."""
    intervals = [(bound, HIGHEST) for bound in range(MOST_CELLS)]
    assert cells_of(interval_forest([*intervals, (low, high)])).widths.tolist() == [width, 0]


def test_intervals_without_values_cut_nothing() -> None:
    assert cells_of(interval_forest([(5, 4), (LOWEST, HIGHEST)])).counts.tolist() == [1]


def test_many_bounds_become_quantiles() -> None:
    bounds = np.random.default_rng(1).permutation(10_000)
    cuts = cuts_of(bounds, MOST_CELLS, QUANTILE_CELLS)
    assert len(cuts) == QUANTILE_CELLS - 1
    assert np.abs(np.diff(np.concatenate([[0], cuts, [10_000]])) - 10_000 / QUANTILE_CELLS).max() <= 1


def test_quantiles_that_are_equal_are_one_cut() -> None:
    bounds = np.concatenate([np.full(10_000, 5), np.arange(MOST_CELLS)])
    cuts = cuts_of(bounds, MOST_CELLS, QUANTILE_CELLS)
    assert cuts.tolist() == [5]
    assert cuts_of(np.array([4, 2, 4]), MOST_CELLS, QUANTILE_CELLS).tolist() == [2, 4]
