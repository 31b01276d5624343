"""Groups and runs: entries that an event reaches, or skips, together.

A group has the entries that one access predicate leads to; a run is a part of a group whose entries need similar
second ranges. Entries of a group or run need not ask for the same: an event is led to them by the hull of their
cell ranges. Large sets with a wide hull are halved where their bounds differ most, until smaller ones would not
pay.

    cells of an axis     1  2  3  4  5  6  7  8
    entry a              ├────┤
    entry b                 ├──┤                      group of a, b: hull 1-3, visited by events in cells 1, 2, 3
    entry c                       ├───────┤
    entry d                             ├────┤        group of c, d: hull 4-8
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, Bools, Integers
from tamis.engines.bitslice.kernels.entries import EntrySizes
from tamis.engines.bitslice.kernels.groups import counting_sort, group_ranges, halve
from tamis.engines.bitslice.kernels.placement import (
    ALWAYS,
    ATTRIBUTE_PAIR,
    CELLS,
    EXACT_CELL,
    POINT,
    TESTED,
    Placements,
)
from tamis.engines.bitslice.layout import AxisCells, CellRanges, EntryArrays, Groups, RangeNumbers
from tamis.engines.bitslice.selectivity import CellSelectivities
from tamis.engines.forest import Forest

BATCH_EVENTS = 1_024
"""The size of batches that groups are made for."""
FEW_EVENTS = 16
"""A group that fewer events of such a batch visit is searched event by event: the smaller it is, the better."""
MANY_EVENTS = 64
"""A group that more events visit is searched with masks, and has long runs."""
GROUP_ENTRIES = 4_000
"""Entries from which making a table of masks is a small part of the search."""
GROUPS = 8
"""Groups of an attribute from which more of them save few visits."""
LONG_RUN_ENTRIES = 500
"""Entries for which it pays to ask first whether any of them can hold, for many events."""
SHORT_RUN_ENTRIES = 8
"""The same for one event."""
LEAST_RUN_ENTRIES = 60
"""Where runs are long, fewer entries with the same second attribute are no run of their own."""


class Hulls(NamedTuple):
    """Per set of entries, the hull of one cell range of each: rows, and their axis."""

    lows: I32
    highs: I32
    axes: I32


class Arrangement(NamedTuple):
    """Entries in order, and where groups and runs begin.

    order: int64[entries]: placements.
    group_begins, run_begins: bool[entries].
    groups: per group, the hull of the cell ranges that lead to it.
    runs: per run, the hull of the second cell ranges.
    """

    order: I64
    group_begins: Bools
    run_begins: Bools
    groups: Hulls
    runs: Hulls


def arrange(
    placements: Placements,
    sizes: EntrySizes,
    ranges: CellRanges,
    cells: AxisCells,
    selectivities: CellSelectivities,
) -> Arrangement:
    """Sort placements into groups and runs.

    First by number of ranges, which sorts of later steps keep: branches of a search are then predicted better.
    """
    axes = len(cells.counts)
    order = counting_sort(np.arange(len(placements.slots)), sizes.ranges, int(sizes.ranges.max(initial=0)) + 1)
    rows = _rows(placements.ranges, ranges, axes)
    exact = (placements.kinds == CELLS) & (rows.highs - rows.lows == 1) & (cells.widths[rows.axes] == 0)
    kinds = np.where(exact, EXACT_CELL, placements.kinds).astype(np.int32)
    majors = kinds * np.int32(axes + 1) + rows.axes
    order = counting_sort(order, majors, (ATTRIBUTE_PAIR + 1) * (axes + 1))
    firsts = _changes(majors[order])
    begins = np.zeros(len(order), np.bool_)
    _by_value(order, placements, firsts, begins)
    mass = selectivities.mass[rows.highs] - selectivities.mass[rows.lows]
    limits = np.full(len(firsts) - 1, len(order), np.int64)
    for place, kind in enumerate(kinds[order[firsts[:-1]]].tolist()):
        if kind in (CELLS, EXACT_CELL):
            here = order[firsts[place] : firsts[place + 1]]
            is_large = kind == CELLS and mass[here].mean() * BATCH_EVENTS >= FEW_EVENTS
            limits[place] = max(GROUP_ENTRIES, len(here) // GROUPS) if is_large else 1
    halve(order, firsts, limits, _bases(cells, rows, order, firsts), rows.lows, rows.highs, begins)
    hulls = _hulls(rows, order, begins)
    expected = BATCH_EVENTS * (selectivities.mass[hulls.highs] - selectivities.mass[hulls.lows])
    # Tests, points and attribute pairs are expected to be rare.
    expected[np.isin(kinds[order[begins]], (TESTED, POINT, ATTRIBUTE_PAIR))] = 0.0
    order, run_begins, runs = _by_second(order, begins, expected >= MANY_EVENTS, sizes.seconds, ranges, cells)
    return Arrangement(order, begins, run_begins, hulls, runs)


def _bases(cells: AxisCells, rows: Hulls, order: I64, firsts: I64) -> I64:
    """The base of the axis of each segment of `order`."""
    return cells.bases[rows.axes[order[firsts[:-1]]]].astype(np.int64)


def _hulls(rows: Hulls, order: I64, begins: Bools) -> Hulls:
    """The hulls of the sets of elements that begin at `begins`; the rows of a set have one axis."""
    heads = np.flatnonzero(begins)
    if not len(heads):
        return rows
    return Hulls(
        np.minimum.reduceat(rows.lows[order], heads),
        np.maximum.reduceat(rows.highs[order], heads),
        rows.axes[order[heads]],
    )


def _rows(some: I32, ranges: CellRanges, axes: int) -> Hulls:
    """The rows and axes of some cell ranges; those of tests, and of -1, are (0, 1) and `axes`."""
    lows, highs, own = (np.append(each, np.int32(0))[some] for each in (ranges.lows, ranges.highs, ranges.axes))
    none = (some < 0) | (own >= axes)
    lows[none], highs[none], own[none] = 0, 1, axes
    return Hulls(lows, highs, own)


def _changes(values: Integers) -> I64:
    """Where another value begins, and the end."""
    return (
        np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [len(values)]])
        if len(values)
        else (np.zeros(1, np.int64))
    )


def _by_value(order: I64, placements: Placements, firsts: I64, begins: Bools) -> None:
    """Sort points, tests and attribute pairs by value; each value is a group."""
    for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        if placements.kinds[order[first]] in (TESTED, POINT, ATTRIBUTE_PAIR):
            here = order[first:last]
            here[:] = here[np.argsort(placements.lows[here], kind="stable")]
            begins[first + _changes(placements.lows[here])[:-1]] = True


def _by_second(
    order: I64, begins: Bools, is_large: Bools, seconds: I32, ranges: CellRanges, cells: AxisCells
) -> tuple[I64, Bools, Hulls]:
    """The final order, where runs begin, and their second cell ranges; groups begin at `begins`."""
    axes = len(cells.counts)
    groups = np.empty(len(order), np.int32)
    groups[order] = np.cumsum(begins) - 1
    rows = _rows(seconds, ranges, axes)

    def segments_by_axis() -> tuple[I64, I64, Bools]:
        """The entries by group and axis of the second range, where each segment begins, and which are large."""
        order_ = counting_sort(counting_sort(order, rows.axes, axes + 1), groups, len(is_large))
        segments = _changes(groups[order_].astype(np.int64) * (axes + 1) + rows.axes[order_])
        return order_, segments, is_large[groups[order_[segments[:-1]]]]

    by_axis, segments, large = segments_by_axis()
    small = large & (np.diff(segments) < LEAST_RUN_ENTRIES)
    if small.any():
        rest = by_axis[np.repeat(small, np.diff(segments))]
        rows.lows[rest], rows.highs[rest], rows.axes[rest] = 0, 1, axes
        by_axis, segments, large = segments_by_axis()
    run_begins = np.zeros(len(order), np.bool_)
    limits = np.where(large, LONG_RUN_ENTRIES, SHORT_RUN_ENTRIES)
    halve(by_axis, segments, limits, _bases(cells, rows, by_axis, segments), rows.lows, rows.highs, run_begins)
    return by_axis, run_begins, _hulls(rows, by_axis, run_begins)


def _ranges_of_groups(entries: EntryArrays, entry_firsts: I64, count: int) -> tuple[I64, RangeNumbers]:
    """Per group, the cell ranges that its entries refer to, rising."""
    groups, ranges = (np.empty(len(entries.ranges), np.int32) for _ in range(2))
    written = group_ranges(entries, entry_firsts, count, groups, ranges)
    order = counting_sort(counting_sort(np.arange(written), ranges, count), groups, len(entry_firsts) - 1)
    firsts = np.searchsorted(groups[:written], np.arange(len(entry_firsts)))
    numbers: RangeNumbers = np.empty_like(entries.ranges, shape=written)
    numbers[:] = ranges[order]
    return firsts.astype(np.int64), numbers


def groups_of(
    forest: Forest,
    placements: Placements,
    arrangement: Arrangement,
    entries: EntryArrays,
    ranges: CellRanges,
    cells: AxisCells,
) -> Groups:
    """How events find the groups, and what they are made of."""
    order = arrangement.order
    firsts, run_firsts = np.flatnonzero(arrangement.group_begins), np.flatnonzero(arrangement.run_begins)
    entry_firsts = np.append(firsts, len(order))
    heads = order[firsts]
    kinds = placements.kinds[heads]
    groups = np.arange(len(heads))
    axes = len(cells.counts)
    # For each row of an axis, the groups whose cell range has it; row 0 has those that every event visits.
    is_cells = kinds == CELLS
    low, high = (each[is_cells].astype(np.int64) for each in arrangement.groups[:2])
    first_row = np.where(low == 0, cells.bases[cells.axis_of[high]], low + 1)
    sizes = high - first_row + 1
    rows = np.repeat(first_row - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    always = groups[kinds == ALWAYS]
    rows = np.concatenate([np.zeros(len(always), np.int64), rows])
    members = np.concatenate([always, np.repeat(groups[is_cells], sizes)])
    by_row = np.argsort(rows, kind="stable")
    cell_firsts = np.searchsorted(rows[by_row], np.arange(len(cells.axis_of) + 1))
    is_point = kinds == POINT
    point_axes = ranges.axes[placements.ranges[heads[is_point]]]
    test_groups = np.full(len(forest.tests), -1, np.int32)
    test_groups[placements.lows[heads[kinds == TESTED]]] = groups[kinds == TESTED]
    null_rows = cells.bases[:-1]
    null_axes = np.flatnonzero(cell_firsts[null_rows + 1] > cell_firsts[null_rows])
    arrangement.runs.axes[arrangement.runs.axes == axes] += len(forest.tests)
    return Groups(
        np.searchsorted(run_firsts, entry_firsts).astype(np.int32),
        np.append(run_firsts, len(order)).astype(np.int32),
        *arrangement.runs,
        cell_firsts.astype(np.int32),
        members[by_row].astype(np.int32),
        np.searchsorted(point_axes, np.arange(axes + 1)).astype(np.int32),
        placements.lows[heads[is_point]],
        np.array([groups[is_point][0] if is_point.any() else 0], np.int32),
        test_groups,
        null_axes.astype(np.int32),
        *_ranges_of_groups(entries, entry_firsts, len(ranges.lows)),
    )
