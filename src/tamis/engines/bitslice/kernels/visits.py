"""Visits: which groups the events of a batch lead to, and how each group is to be searched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.simd import LANES, NARROW_LANES, count_bits, no_inline
from tamis.engines.bitslice.kernels.verify import HIGHEST_NARROW, LOWEST_NARROW
from tamis.engines.bitslice.layout import AttributePairs, AxisCells, CellBatch, CoarseBitmaps, Groups
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import RowTests
from tamis.kernels import kernel

_ONE = np.uint64(1)

# Prices in ns, measured; only their ratios matter, to choose between two ways to search a group.
_RUN_NS, _ENTRY_NS = 2.0, 2.5
"""Of one event: to look at a run, and to compare an entry of it."""
_PAIR_NS, _PAIR_ENTRY_NS = 30.0, 1.0
"""Of one event: to search the group of an attribute pair, and each of its entries."""
_TABLE_NS, _RANGE_MASK_NS, _RUN_MASK_NS, _ENTRY_MASK_NS = 500.0, 2.0, 10.0, 3.5
"""Of masks, for up to 512 events: to begin, for each cell range of the group, each run and each entry."""
_AXIS_NS = 40.0
"""Of masks: for each axis of an attribute pair's group, where a table of masks serves few entries."""


class Visits(NamedTuple):
    """Which event visits which groups, and which attributes it has.

    firsts: int64[events + 1]: the event's part of `groups`.
    groups: int32[...]: the visited groups, those of attribute pairs last.
    first_pairs: int64[events]: where these begin.
    axis_firsts: int64[events + 1]: the event's part of `axes`.
    axes: int32[...]: the axes that are not NULL.
    """

    firsts: I64
    groups: I32
    first_pairs: I64
    axis_firsts: I64
    axes: I32


class PackedGroups(NamedTuple):
    """The groups to search with masks; the events of the i-th are `events[firsts[i]:firsts[i + 1]]`, rising."""

    groups: I32
    firsts: I64
    events: I32


@kernel
def batch_of(cells: AxisCells, encoded: EncodedBatch, test_lines: I32, is_narrow: bool) -> CellBatch:
    """The batch in rows of the index, event by event; `test_lines` is -1 everywhere, and becomes part of it.

    `is_narrow` is as in `BoundCode`.
    """
    no_inline()
    columns, events = encoded.coordinates.shape
    padded = (columns + LANES - 1) // LANES * LANES  # what is beyond the columns is compared with no bounds
    values, rows = np.empty((events, padded), np.int64), np.empty((events, columns), np.int32)
    width = (columns + NARROW_LANES - 1) // NARROW_LANES * NARROW_LANES if is_narrow else 0
    narrow = np.empty((events, width), np.int32)
    for axis in range(len(encoded.columns)):
        column = encoded.columns[axis]
        if column < 0:
            continue
        base = cells.bases[axis]
        first, last = cells.cut_firsts[axis], cells.cut_firsts[axis + 1]
        for event in range(events):
            if encoded.valid[column, event] == 0:
                rows[event, column] = base
                continue
            coordinate = encoded.coordinates[column, event]
            values[event, column] = coordinate
            if is_narrow:
                narrow[event, column] = min(max(coordinate, LOWEST_NARROW), HIGHEST_NARROW)
            low, length = first, last - first
            # Bisection without branches, because each would be predicted wrongly half of the time: the comparison
            # is multiplied in. `low` ends after the last cut at or below the coordinate.
            while length > 0:
                half = (length + 1) >> 1
                low += half * (cells.cuts[low + half - 1] <= coordinate)
                length -= half
            rows[event, column] = base + 1 + low - first
    lines = len(encoded.tests)
    test_bits = np.zeros((lines, (events >> 6) + 1), np.uint64)
    for line in range(lines):
        test_lines[encoded.tests[line]] = line
        for place in range(encoded.firsts[line], encoded.firsts[line + 1]):
            event = encoded.hits[place]
            test_bits[line, event >> 6] |= _ONE << np.uint64(event & 63)
    return CellBatch(encoded.columns, values, narrow, rows, cells.bases, test_lines, test_bits)


@kernel
def row_tests(encoded: EncodedBatch) -> RowTests:
    """Which tests hold in each event; as `tamis.engines.formula_program.row_tests_of`, for kernels to call."""
    firsts = np.zeros(encoded.rows + 1, np.int64)
    for event in encoded.hits:
        firsts[event + 1] += 1
    for event in range(encoded.rows):
        firsts[event + 1] += firsts[event]
    cursor = firsts.copy()
    tests = np.empty(len(encoded.hits), np.int32)
    for line in range(len(encoded.tests)):
        for place in range(encoded.firsts[line], encoded.firsts[line + 1]):
            event = encoded.hits[place]
            tests[cursor[event]] = encoded.tests[line]
            cursor[event] += 1
    return RowTests(firsts, tests)


@kernel(forceinline=True)
def _point_group(groups: Groups, axis: int, coordinate: int) -> int:
    """The group of exactly this coordinate, or -1."""
    low, high = groups.point_firsts[axis], groups.point_firsts[axis + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if groups.points[middle] < coordinate:
            low = middle + 1
        else:
            high = middle
    if low < last and groups.points[low] == coordinate:
        return groups.first_point[0] + low
    return -1


@kernel
def _axes_of_events(batch: CellBatch, axis_of: I32) -> tuple[I64, I32]:
    """The axes that are not NULL in each event; `axis_of` has the axis of each column."""
    events, columns = batch.rows.shape
    # One more: the last axis is written even if it is not counted.
    firsts, axes = np.empty(events + 1, np.int64), np.empty(events * columns + 1, np.int32)
    bases = np.empty(columns, np.int32)
    for column in range(columns):
        bases[column] = batch.bases[axis_of[column]]
    count = 0
    for event in range(np.uint64(events)):
        firsts[event] = count
        for column in range(np.uint64(columns)):
            # Written always, counted if it is there: no branch.
            axes[count] = axis_of[column]
            count += batch.rows[event, column] != bases[column]
    firsts[events] = count
    return firsts, axes[:count]


@kernel
def visits_of(groups: Groups, attribute_pairs: AttributePairs, batch: CellBatch, tests: RowTests) -> Visits:
    """Which groups each event visits: by cell, by exact value, by test, by pair of attributes."""
    no_inline()
    events, columns = batch.rows.shape
    cell_firsts, cell_groups, point_firsts = groups.cell_firsts, groups.cell_groups, groups.point_firsts
    axes = len(batch.columns)
    axis_of = np.empty(columns, np.int32)
    for axis in range(axes):
        if batch.columns[axis] >= 0:
            axis_of[batch.columns[axis]] = axis
    axis_firsts, own_axes = _axes_of_events(batch, axis_of)
    # The rows whose groups an event visits. Common to all events: row 0, with the groups that every event visits,
    # and the rows of NULL of axes that are NULL in the whole batch.
    led = np.zeros(1 + len(groups.null_axes) + columns, np.int32)
    common = 1
    for axis in groups.null_axes:
        if batch.columns[axis] < 0:
            led[common] = batch.bases[axis]
            common += 1
    bits = np.zeros((axes + 63) >> 6, np.uint64)  # of the axes that the event under way has
    width = len(bits) if len(attribute_pairs.partners) else 0
    firsts, first_pairs = np.empty(events + 1, np.int64), np.empty(events, np.int64)
    out = np.empty(256 * events, np.int32)
    count = 0
    for event in range(events):
        firsts[event] = count
        first, last = axis_firsts[event], axis_firsts[event + 1]
        rows = common
        for place in range(first, last):
            led[rows] = batch.rows[event, batch.columns[own_axes[place]]]
            rows += 1
        for axis in groups.null_axes:
            if batch.columns[axis] >= 0 and batch.rows[event, batch.columns[axis]] == batch.bases[axis]:
                led[rows] = batch.bases[axis]
                rows += 1
        # Count first, so that the loops below write without asking for room: one group a row's part, at most one a
        # point for each axis, at most one for each test, one for each pair.
        room = last - first + tests.firsts[event + 1] - tests.firsts[event]
        for number in range(rows):
            room += cell_firsts[led[number] + 1] - cell_firsts[led[number]]
        if width:
            for axis in own_axes[first:last]:
                bits[axis >> 6] |= _ONE << np.uint64(axis & 63)
            for axis in own_axes[first:last]:
                for word in range(width):
                    room += count_bits(attribute_pairs.partners[axis * width + word] & bits[word])
        if count + room > len(out):
            longer = np.empty(2 * (count + room), np.int32)
            longer[:count] = out[:count]
            out = longer
        for number in range(rows):
            for place in range(cell_firsts[led[number]], cell_firsts[led[number] + 1]):
                out[count] = cell_groups[place]
                count += 1
        if len(groups.points):
            for axis in own_axes[first:last]:
                if point_firsts[axis + 1] > point_firsts[axis]:
                    group = _point_group(groups, axis, batch.values[event, batch.columns[axis]])
                    if group >= 0:
                        out[count] = group
                        count += 1
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            group = groups.test_groups[tests.tests[place]]
            if group >= 0:
                out[count] = group
                count += 1
        first_pairs[event] = count
        if width:
            for axis in own_axes[first:last]:
                for word in range(np.int64(axis) * width, np.int64(axis) * width + width):
                    partners = attribute_pairs.partners[word]
                    rest = partners & bits[word - np.int64(axis) * width]
                    while rest:
                        # Pairs are numbered in the order of their bits: the rank of the word, and the partners
                        # below this one. `rest & -rest` is the lowest bit.
                        before = partners & ((rest & -rest) - _ONE)
                        out[count] = (
                            attribute_pairs.first_group[0] + attribute_pairs.ranks[word] + count_bits(before)
                        )
                        count += 1
                        rest &= rest - _ONE
            for axis in own_axes[first:last]:
                bits[axis >> 6] = 0
    firsts[events] = count
    return Visits(firsts, out[:count], first_pairs, axis_firsts, own_axes)


@kernel
def packed_groups(
    groups: Groups, bitmaps: CoarseBitmaps, first_pair_group: int, visits: Visits, fewest: int, counts: I32
) -> PackedGroups:
    """The groups for which a table of masks is expected to cost less than event by event, and their events.

    `counts` is 0 everywhere, and becomes 1 + its place for each group that is packed. With `fewest` = 1 all groups
    are packed, whatever they cost.
    """
    no_inline()
    if fewest >= len(visits.firsts):  # more than there are events
        return PackedGroups(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
    touched = np.empty(min(len(counts), len(visits.groups)), np.int32)
    size = 0
    for group in visits.groups:
        if counts[group] == 0:
            touched[size] = group
            size += 1
        counts[group] += 1
    chosen, total = 0, 0
    axes = len(groups.point_firsts) - 1
    firsts = np.empty(size + 1, np.int64)
    for number in range(size):
        group = touched[number]
        events = counts[group]
        counts[group] = 0
        if events < fewest:
            continue
        first, last = groups.runs[group], groups.runs[group + 1]
        entries = groups.run_entries[last] - groups.run_entries[first]
        ranges = groups.range_firsts[group + 1] - groups.range_firsts[group]
        strips = (events + 511) >> 9  # of `masks.STRIP` events
        by_event = events * (_RUN_NS * (last - first) + _ENTRY_NS * entries)
        if bitmaps.firsts[group] < bitmaps.firsts[group + 1]:
            by_event = events * bitmaps.costs[group]
        by_masks = _TABLE_NS + strips * (
            _RANGE_MASK_NS * ranges + _RUN_MASK_NS * (last - first) + _ENTRY_MASK_NS * entries
        )
        if group >= first_pair_group:
            by_event = events * (_PAIR_NS + _PAIR_ENTRY_NS * entries)
            by_masks += _AXIS_NS * min(ranges, axes)
        if fewest == 1 or by_event > by_masks:
            touched[chosen] = group  # `chosen` never overtakes `number`
            firsts[chosen] = total
            total += events
            chosen += 1
            counts[group] = chosen
    firsts[chosen] = total
    events_of = np.empty(total, np.int32)
    if chosen:
        cursor = firsts.copy()
        for event in range(len(visits.firsts) - 1):
            for place in range(visits.firsts[event], visits.firsts[event + 1]):
                number = counts[visits.groups[place]]
                if number:
                    events_of[cursor[number - 1]] = event
                    cursor[number - 1] += 1
    return PackedGroups(touched[:chosen], firsts[: chosen + 1], events_of)
