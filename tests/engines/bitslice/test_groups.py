"""Groups and runs: every entry is in one, and an event visits a group if its row is in the hull of the group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import MOST_CELLS, cells_of
from tamis.engines.bitslice.entries import measure_entries, write_entries
from tamis.engines.bitslice.groups import Arrangement, arrange, groups_of
from tamis.engines.bitslice.kernels.entries import EntrySizes, EntrySource, WrittenEntries
from tamis.engines.bitslice.kernels.placement import ALWAYS, ATTRIBUTE_PAIR, CELLS, POINT, TESTED
from tamis.engines.bitslice.layout import AxisCells, Groups
from tamis.engines.bitslice.placement import place_formulas
from tamis.engines.bitslice.selectivity import cell_selectivities
from tamis.engines.forest import Forest, forest_of
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tests.engines.bitslice.build_steps import build_steps, entry_source
from tests.engines.naive import Pair

E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "s": "string"}})
MIXED = (
    *(f"a = {3 * number} AND b < {number % 9}" for number in range(MOST_CELLS)),
    *(f"b BETWEEN {number} AND {number + 4}" for number in range(9)),
    *("b IS NULL", "b IS NULL AND a > 7", "s LIKE '%x%' AND a > 7", "s LIKE '%y%'", "s LIKE '%x%'"),
    *("true", "a IS NOT NULL OR b IS NOT NULL OR s IS NOT NULL"),
)
"""Points, cells, NULL, tests, and what every event visits; the cells of `a` are coarse."""


@dataclass(frozen=True)
class Made:
    """What groups are made from, and what is made."""

    forest: Forest
    cells: AxisCells
    source: EntrySource
    sizes: EntrySizes
    arrangement: Arrangement
    written: WrittenEntries
    groups: Groups

    def placements(self, begins: str) -> Iterator[list[int]]:
        """The placements of each group, or of each run."""
        order = self.arrangement.order.tolist()
        firsts = [*np.flatnonzero(getattr(self.arrangement, begins)).tolist(), len(order)]
        return (order[first:last] for first, last in pairwise(firsts))

    @property
    def kinds(self) -> list[int]:
        """By group; all placements of a group have one kind."""
        kinds = self.source.placements.kinds
        return [int(kinds[group[0]]) for group in self.placements("group_begins")]


def make(forest: Forest) -> Made:
    cells = cells_of(forest)
    numbered = number_ranges(forest, cells)
    selectivities = cell_selectivities(forest, cells)
    source = entry_source(forest, cells, numbered, place_formulas(forest, cells, numbered, selectivities))
    sizes, parts = measure_entries(source, forest)
    arrangement = arrange(source.placements, sizes, source.ranges, cells, selectivities)
    run_axes = arrangement.runs.axes[np.cumsum(arrangement.run_begins) - 1]
    written = write_entries(source, forest, sizes, parts, arrangement.order, run_axes)
    groups = groups_of(forest, source.placements, arrangement, written.entries, source.ranges, cells)
    return Made(forest, cells, source, sizes, arrangement, written, groups)


def make_of(*texts: str) -> Made:
    return make(forest_of([compile_condition(text, E).formula for text in texts]))


EXAMPLES = {"mixed": make_of(*MIXED), "random": make(build_steps(41, 150, 1, depth=2).forest)}


@pytest.fixture(params=EXAMPLES)
def made(request: pytest.FixtureRequest) -> Made:
    return EXAMPLES[request.param]


def test_the_examples_have_groups_of_all_kinds_but_pairs() -> None:
    assert {*EXAMPLES["mixed"].kinds} == {ALWAYS, CELLS, TESTED, POINT}
    assert ATTRIBUTE_PAIR not in EXAMPLES["random"].kinds


def test_every_placement_is_in_one_run_of_one_group(made: Made) -> None:
    order = made.arrangement.order
    assert sorted(order.tolist()) == list(range(len(made.source.placements.slots)))
    assert made.arrangement.group_begins[0]
    assert made.arrangement.run_begins[made.arrangement.group_begins].all(), "a group begins with a run"
    groups = made.groups
    assert groups.run_entries.tolist() == [*np.flatnonzero(made.arrangement.run_begins).tolist(), len(order)]
    firsts = [*np.flatnonzero(made.arrangement.group_begins).tolist(), len(order)]
    assert groups.run_entries[groups.runs].tolist() == firsts


def test_a_group_has_one_kind_and_axis_and_the_hull_of_its_ranges(made: Made) -> None:
    placements, ranges = made.source.placements, made.source.ranges
    hulls = zip(*(each.tolist() for each in made.arrangement.groups), strict=True)
    for group, (low, high, axis) in zip(made.placements("group_begins"), hulls, strict=True):
        assert len({int(placements.kinds[each]) for each in group}) == 1
        if placements.kinds[group[0]] in (CELLS, POINT):
            own = placements.ranges[group]
            assert {*ranges.axes[own].tolist()} == {axis}
            assert (low, high) == (ranges.lows[own].min(), ranges.highs[own].max())
        else:
            assert (low, high, axis) == (0, 1, len(made.cells.counts))


def test_a_run_has_the_hull_of_second_ranges(made: Made) -> None:
    ranges, seconds = made.source.ranges, made.sizes.seconds
    nothing = len(made.cells.counts) + len(made.forest.tests)
    hulls = zip(
        *(each.tolist() for each in (made.groups.run_lows, made.groups.run_highs, made.groups.run_axes)),
        strict=True,
    )
    leading = 0
    for run, (low, high, axis) in zip(made.placements("run_begins"), hulls, strict=True):
        if axis == nothing:
            assert (low, high) == (0, 1)
            continue
        own = seconds[run]
        assert (own >= 0).all()
        assert {*ranges.axes[own].tolist()} == {axis}
        assert (low, high) == (ranges.lows[own].min(), ranges.highs[own].max())
        leading += 1
    assert leading


def test_the_groups_of_a_row_are_those_whose_hull_contains_it(made: Made) -> None:
    groups, cells = made.groups, made.cells
    wanted = set[Pair]()
    for group, (kind, low, high) in enumerate(zip(made.kinds, *made.arrangement.groups[:2], strict=True)):
        if kind == ALWAYS:
            wanted.add((0, group))
        elif kind == CELLS:
            # A range from 0 on begins at the row of NULL, the first one of its axis.
            first = cells.bases[cells.axis_of[high]] if low == 0 else low + 1
            wanted |= {(row, group) for row in range(int(first), int(high) + 1)}
    found = [
        (row, group)
        for row, (first, last) in enumerate(pairwise(groups.cell_firsts.tolist()))
        for group in groups.cell_groups[first:last].tolist()
    ]
    assert len(found) == len(wanted) and {*found} == wanted
    null_rows = {int(base): axis for axis, base in enumerate(cells.bases[:-1])}
    assert groups.null_axes.tolist() == sorted({null_rows[row] for row, _ in wanted if row in null_rows})


def test_points_and_tests_have_a_group_for_each_value(made: Made) -> None:
    groups, placements = made.groups, made.source.placements
    points = list[Pair]()
    tests = [-1] * len(made.forest.tests)
    for number, group in enumerate(made.placements("group_begins")):
        values = {int(placements.lows[each]) for each in group}
        if made.kinds[number] == POINT:
            assert len(values) == 1
            points.append((number, values.pop()))
        elif made.kinds[number] == TESTED:
            assert len(values) == 1
            tests[values.pop()] = number
    first = int(groups.first_point[0])
    assert points == [(first + place, value) for place, value in enumerate(groups.points.tolist())]
    for low, high in pairwise(groups.point_firsts.tolist()):
        of_axis = groups.points[low:high].tolist()
        assert of_axis == sorted(set(of_axis)), "rising in each axis, to be found by binary search"
    assert groups.test_groups.tolist() == tests


def test_a_group_names_the_ranges_of_its_entries_once_and_rising(made: Made) -> None:
    entries, groups = made.written.entries, made.groups
    firsts = groups.run_entries[groups.runs].tolist()
    for group, (first, last) in enumerate(pairwise(firsts)):
        wanted = sorted({*entries.ranges[entries.firsts[first] : entries.firsts[last]].tolist()})
        assert groups.ranges[groups.range_firsts[group] : groups.range_firsts[group + 1]].tolist() == wanted


def test_exact_values_are_groups_of_their_own_and_wide_ranges_are_together() -> None:
    values = make_of(*(f"a = {number % 20}" for number in range(60)))
    assert sorted(map(len, values.placements("group_begins"))) == [3] * 20
    wide = make_of(*(f"a BETWEEN {number} AND {number + 40}" for number in range(60)))
    assert [len(group) for group in wide.placements("group_begins")] == [60]


def test_within_a_run_shorter_entries_come_first() -> None:
    """So that branches of a search are predicted better."""
    sizes = EXAMPLES["mixed"].sizes.ranges
    for run in EXAMPLES["mixed"].placements("run_begins"):
        lengths = sizes[run].tolist()
        assert lengths == sorted(lengths)
