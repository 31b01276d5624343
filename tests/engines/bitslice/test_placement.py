"""A subscription is placed where few events come; what it is placed under holds whenever its formula does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import MOST_CELLS, cells_of
from tamis.engines.bitslice.kernels.placement import (
    ALWAYS,
    ATTRIBUTE_PAIR,
    CELLS,
    MOST_PLACEMENTS,
    POINT,
    TESTED,
    PlacedFormulas,
)
from tamis.engines.bitslice.placement import place_formulas, range_costs
from tamis.engines.bitslice.selectivity import CellSelectivities, cell_selectivities
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.events import EventBatch, EventType
from tamis.formulas.expression import Path
from tamis.formulas.formula import Formula, leaf
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.statistics import Statistics
from tamis.values.types import INT
from tests.engines.bitslice.build_steps import build_steps

E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "s": "string"}})
CUTS = [f"a = {number} OR b = {number}" for number in range(0, 40, 2)]
"""Conditions that cut both axes into equally many cells, without all of which one value would be half of them."""


def forest_with(*texts: str) -> Forest:
    return forest_of([compile_condition(text, E).formula for text in (*texts, *CUTS)])


def place(forest: Forest, statistics: Statistics | None = None) -> PlacedFormulas:
    cells = cells_of(forest)
    return place_formulas(
        forest, cells, number_ranges(forest, cells), cell_selectivities(forest, cells, statistics)
    )


def of_slot_0(forest: Forest, placed: PlacedFormulas) -> list[tuple[int, Formula | None, int]]:
    """Kind, leaf, and number of earlier leaves of the cover, of each placement."""
    placements = placed.placements
    return [
        (
            int(placements.kinds[number]),
            leaf(forest.predicate(int(placements.leaves[number]))) if placements.leaves[number] >= 0 else None,
            int(placements.earlier[number]),
        )
        for number in np.flatnonzero(placements.slots == 0)
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a > 3 AND b = 7", [(CELLS, "b = 7", 0)]),
        ("a = 3 AND b > 7", [(CELLS, "a = 3", 0)]),
        ("a = 3 AND (b = 7 OR b > 9)", [(CELLS, "a = 3", 0)]),
        ("a = 3 OR b = 7", [(CELLS, "a = 3", 0), (CELLS, "b = 7", 1)]),
        ("AT_LEAST(2, a = 3, b = 7, a < 30)", [(CELLS, "a = 3", 0), (CELLS, "b = 7", 1)]),
        ("a IN (3, 5, 9)", [(CELLS, "a IN (3, 5, 9)", 0)] * 3),
        ("a = 3 OR a IS NULL", [(CELLS, "a IS NULL OR a = 3", 0)] * 2),
        ("s LIKE '%x%'", [(TESTED, "s LIKE '%x%'", 0)]),
        ("a > 3 AND s LIKE '%x%'", [(TESTED, "s LIKE '%x%'", 0)]),
        ("true", [(ALWAYS, "", 0)]),
        ("false", []),
    ],
)
def test_where_conditions_are_placed(text: str, wanted: list[tuple[int, str, int]]) -> None:
    forest = forest_with(text)
    assert of_slot_0(forest, place(forest)) == [
        (kind, compile_condition(predicate, E).formula if predicate else None, earlier)
        for kind, predicate, earlier in wanted
    ]


@pytest.mark.parametrize("size", [MOST_PLACEMENTS, MOST_PLACEMENTS + 1])
def test_every_event_visits_what_would_have_too_many_placements(size: int) -> None:
    forest = forest_with(f"a IN ({', '.join(str(2 * number) for number in range(size))})")
    kinds = [kind for kind, _, _ in of_slot_0(forest, place(forest))]
    assert kinds == ([CELLS] * size if size <= MOST_PLACEMENTS else [ALWAYS])


def test_a_value_that_shares_its_cell_is_a_point() -> None:
    texts = [f"a = {2 * number}" for number in range(MOST_CELLS)]
    forest = forest_of([compile_condition(text, E).formula for text in texts])
    placements = place(forest).placements
    assert placements.kinds.tolist() == [POINT] * MOST_CELLS
    assert placements.lows.tolist() == placements.highs.tolist() == [2 * number for number in range(MOST_CELLS)]


def test_null_is_an_interval_without_values() -> None:
    forest = forest_with("a = 3 OR a IS NULL")
    placements = place(forest).placements
    assert placements.lows[:2].tolist() == [3, HIGHEST]
    assert placements.highs[:2].tolist() == [3, LOWEST]


@pytest.mark.parametrize(("share", "kind"), [(0.05, ATTRIBUTE_PAIR), (1.0, CELLS)])
def test_two_rare_attributes_are_a_pair(share: float, kind: int) -> None:
    forest = forest_with("a > 3 AND b > 7")
    statistics = Statistics()
    events = [{"a": row % 40, "b": row % 37} if row < 100 * share else {} for row in range(100)]
    frame = BatchFrame(EventBatch.of(events, E))
    statistics.observe(frame, [axis.attribute for axis in forest.axes])
    placements = place(forest, statistics).placements
    assert placements.kinds[placements.slots == 0].tolist() == [kind]
    if kind == ATTRIBUTE_PAIR:
        cells = cells_of(forest)
        assert number_ranges(forest, cells).ranges.axes[placements.ranges[0]] == 0, "its first axis"
        assert placements.lows[0] == 1, "its second axis"


def test_placements_stand_in_the_order_of_slots_and_covers() -> None:
    steps = build_steps(17, 80, 1, depth=3)
    placements, covers, firsts, _ = steps.placed
    listed = list(zip(placements.slots.tolist(), placements.earlier.tolist(), strict=True))
    assert listed == sorted(listed)
    assert (int(firsts[0]), int(firsts[-1])) == (0, len(covers))
    assert len(firsts) == len(steps.forest) + 1


def test_costs_are_shares_of_events_rounded_down_to_steps() -> None:
    steps = build_steps(18, 80, 1)
    ranges, cells = steps.numbered.ranges, steps.cells
    selectivities = cell_selectivities(steps.forest, cells)
    costs = range_costs(ranges, cells, selectivities)
    assert len(np.unique(costs)) < len(costs)
    for number, cost in enumerate(costs.tolist()):
        share = float(selectivities.mass[ranges.highs[number]] - selectivities.mass[ranges.lows[number]])
        # Steps are a factor of the root of 2 where events are rare, else up to 2 ** 1.5.
        coarsest = math.sqrt(2) if share < 1 / 16 else 2**1.5
        assert cost <= 1.001 * max(share, 1e-9)
        assert cost * coarsest * 1.000_001 >= share


def test_ties_are_broken_for_the_axis_that_more_conditions_ask_about() -> None:
    texts = ("b > 3", "a > 3", "b > 3 AND a > 3", "b > 3")
    forest = forest_of([compile_condition(text, E).formula for text in texts])
    cells = cells_of(forest)
    ranges = number_ranges(forest, cells).ranges
    known = cell_selectivities(forest, cells)
    rows = np.array([0.0, 1.0, *[0.0, 0.5, 1.0] * 2])
    equal = CellSelectivities(rows, known.tests, known.points, known.ranks, known.non_null_fractions)
    costs = dict(zip(ranges.axes.tolist(), range_costs(ranges, cells, equal).tolist(), strict=True))
    attributes = [axis.attribute for axis in forest.axes]
    a, b = (costs[attributes.index(Path((name,), INT))] for name in "ab")
    assert b < a <= 1.001 * b
