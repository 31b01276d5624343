"""Entries have what a placement leaves to ask, most selective first, with exact bounds where cells are coarse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tamis.arrays import I64
from tamis.engines.bitslice.cell_ranges import number_ranges
from tamis.engines.bitslice.cells import MOST_CELLS, cells_of
from tamis.engines.bitslice.entries import bound_code, measure_entries, write_entries
from tamis.engines.bitslice.kernels.entries import EntrySizes, EntrySource, WrittenEntries
from tamis.engines.bitslice.kernels.placement import CELLS
from tamis.engines.bitslice.kernels.verify import (
    HIGHEST_NARROW,
    LOWEST_NARROW,
    fill_lanes,
    fill_narrow_lanes,
)
from tamis.engines.bitslice.placement import place_formulas
from tamis.engines.bitslice.selectivity import cell_selectivities
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.events import EventType
from tamis.formulas.expression import Path
from tamis.language.condition import compile_condition
from tamis.values.types import INT
from tests.engines.bitslice.build_steps import build_steps, entry_source, interval_forest

E = EventType.from_dict({"name": "e", "attributes": {"a": "int", "b": "int", "c": "int"}})
STEPS = build_steps(21, 90, 1, depth=3)
CONJUNCTIONS = build_steps(22, 90, 1, depth=1)


def source_of(forest: Forest) -> EntrySource:
    cells = cells_of(forest)
    numbered = number_ranges(forest, cells)
    return entry_source(
        forest, cells, numbered, place_formulas(forest, cells, numbered, cell_selectivities(forest, cells))
    )


def write(source: EntrySource, forest: Forest, order: I64 | None = None) -> tuple[EntrySizes, WrittenEntries]:
    """Entries, in the order of placements unless another one is given, in runs that no axis leads to."""
    sizes, parts = measure_entries(source, forest)
    if order is None:
        order = np.arange(len(source.placements.slots))
    return sizes, write_entries(source, forest, sizes, parts, order, np.full(len(order), -1, np.int32))


def ranges_of(written: WrittenEntries, entry: int) -> list[int]:
    firsts = written.entries.firsts
    return [int(number) for number in written.entries.ranges[firsts[entry] : firsts[entry + 1]]]


def parts_of(written: WrittenEntries, entry: int) -> list[int]:
    firsts = written.residual_firsts
    return [int(part) for part in written.residual_parts[firsts[entry] : firsts[entry + 1]]]


def test_sizes_are_those_of_what_is_written() -> None:
    sizes, written = write(STEPS.source, STEPS.forest)
    entries = written.entries
    assert np.diff(entries.firsts).tolist() == sizes.ranges.tolist()
    if len(entries.bound_firsts) == len(entries.slots):
        assert np.diff(np.append(entries.bound_firsts, len(entries.bounds))).tolist() == sizes.words.tolist()
    else:
        assert (entries.bound_firsts * sizes.ranges).tolist() == sizes.words.tolist()
    assert written.residual_firsts[-1] == len(written.residual_parts) > 0
    assert entries.slots.tolist() == STEPS.placed.placements.slots.tolist()
    assert not len(entries.residuals) and not len(entries.guards), "these come later"


def test_an_entry_says_the_same_wherever_it_stands() -> None:
    _, written = write(STEPS.source, STEPS.forest)
    order = np.random.default_rng(2).permutation(len(written.order))
    _, moved = write(STEPS.source, STEPS.forest, order)
    for entry, placement in enumerate(order.tolist()):
        assert moved.entries.slots[entry] == written.entries.slots[placement]
        assert ranges_of(moved, entry) == ranges_of(written, placement)
        assert parts_of(moved, entry) == parts_of(written, placement)


def test_the_most_selective_range_is_first_and_that_of_the_placement_last() -> None:
    placements, costs = CONJUNCTIONS.placed.placements, CONJUNCTIONS.placed.range_costs
    sizes, written = write(CONJUNCTIONS.source, CONJUNCTIONS.forest)
    several = 0
    for entry in range(len(written.order)):
        ranges = ranges_of(written, entry)
        if ranges and placements.kinds[entry] == CELLS and ranges[-1] == placements.ranges[entry]:
            ranges = ranges[:-1]
        assert [costs[each] for each in ranges] == sorted(costs[each] for each in ranges)
        if ranges:
            assert sizes.seconds[entry] == ranges[0], "by which the entry is sorted into a run"
        several += len(ranges) > 1
    assert several > 10


def test_what_all_entries_of_a_run_ask_first_is_asked_again_last() -> None:
    forest = forest_of([compile_condition(f"a = {n} AND b < {n} AND c > 2", E).formula for n in range(9)])
    source = source_of(forest)
    sizes, parts = measure_entries(source, forest)
    axes = {axis.attribute: number for number, axis in enumerate(forest.axes)}
    b, c = (axes[Path((name,), INT)] for name in "bc")
    order = np.arange(9)
    for first, last in ((b, c), (c, b)):
        written = write_entries(source, forest, sizes, parts, order, np.full(9, last, np.int32))
        for entry in range(9):
            asked = source.ranges.axes[ranges_of(written, entry)].tolist()
            assert asked == [first, last]


@pytest.mark.parametrize(
    ("text", "ranges", "parts"),
    [
        ("a = 3 AND b > 2", ["b > 2"], 0),
        ("a BETWEEN 3 AND 4 AND b > 2", ["a BETWEEN 3 AND 4", "b > 2"], 0),
        ("a = 3", [], 0),
        ("a = 3 AND (b > 2 OR c > 2)", [], 1),
        ("(a = 3 OR c = 5) AND b > 2", ["b > 2"], 0),
        ("a = 3 AND b NOT IN (2, 4)", [""], 1),
    ],
    ids=[
        "an exact cell that led here is left out",
        "several cells are not",
        "nothing is left",
        "a nested OR is a residual part",
        "an OR with what led here holds",
        "of several pieces, the hull is a range and the rest a residual part",
    ],
)
def test_what_is_left_to_ask(text: str, ranges: Sequence[str], parts: int) -> None:
    cuts = [f"a = {number} AND c < {number} AND b = {number % 3}" for number in range(30)]
    predicates = [each for each in ranges if each]
    forest = forest_of([compile_condition(each, E).formula for each in (text, *cuts, *predicates)])
    source = source_of(forest)
    _, written = write(source, forest)
    assert len(parts_of(written, 0)) == parts
    found = ranges_of(written, 0)
    assert len(found) == len(ranges)
    # The last formulas are these predicates alone.
    assert {int(source.leaf_ranges[~root]) for root in forest.roots[1 + len(cuts) :].tolist()} <= {*found}


@pytest.mark.parametrize(
    ("shift", "step", "width"),
    [(0, 3, 1), (-5_000, 3, 1), (1 << 40, 3, 1), (0, 20_000, 2), (-(1 << 20), 20_000, 2), (1 << 40, 20_000, 4)],
)
def test_bounds_are_exact_where_cells_are_coarse(shift: int, step: int, width: int) -> None:
    """Events at, before and after each bound, which all are in the cell range, are told apart."""
    intervals = [(shift + step * number, shift + step * (number + 40) + 9) for number in range(2 * MOST_CELLS)]
    intervals += [(LOWEST, shift + 50 * step), (shift + 90 * step, HIGHEST)]
    forest = interval_forest(intervals)
    source = source_of(forest)
    _, written = write(source, forest)
    entries, columns = written.entries, np.zeros(1, np.int32)
    code = bound_code(cells_of(forest), source.ranges, 0)
    assert source.widths[0] == width
    assert entries.bound_firsts.tolist() == [width], "one number for all entries"
    for entry, slot in enumerate(entries.slots.tolist()):
        low, high = intervals[slot]
        lows, highs = np.zeros(1, np.int64), np.zeros(1, np.int64)
        axes = source.ranges.axes
        assert fill_lanes(entries, axes, code, columns, np.uint64(entry), lows, highs)
        assert code.is_narrow == (shift < 1 << 40)
        if code.is_narrow:
            narrow_lows, narrow_highs = np.zeros(1, np.int32), np.zeros(1, np.int32)
            assert fill_narrow_lanes(entries, axes, code, columns, np.uint64(entry), narrow_lows, narrow_highs)
            assert narrow_lows[0] == (LOWEST_NARROW if lows[0] == LOWEST else lows[0])
            assert narrow_highs[0] == (HIGHEST_NARROW if highs[0] == HIGHEST else highs[0])
        cells = cells_of(forest)
        first = int(source.ranges.lows[entries.ranges[entry]]) + 1 - int(cells.bases[0])
        begins = LOWEST if first == 1 else int(cells.cuts[first - 2])
        assert low == lows[0] or (low == begins and lows[0] == LOWEST)
        assert high == highs[0]
