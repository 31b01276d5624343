"""Visits: which groups the events of a batch lead to, and how each group is to be searched."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Batch, Cells, Couples, Groups, Ints, Outline, Shorts
from tamis.engines.bitslice.simd import apart, bits_of
from tamis.engines.encoding import Encoded

_ONE = np.uint64(1)
_COUPLE_NS, _COUPLED_NS = 30.0, 1.0
"""What it takes to search a couple for one event, and each of its entries."""
_AXIS_NS = 40.0
"""What it takes to make the masks of an axis that few entries ask."""


class Visits(NamedTuple):
    """Which event visits which group.

    firsts, groups: those of event e are `groups[firsts[e]:firsts[e + 1]]`.
    couples: per event, its first visit of a couple; these come last.
    axis_firsts, axes: `axes[axis_firsts[e]:axis_firsts[e + 1]]` are not NULL in event e.
    """

    firsts: Ints
    groups: Shorts
    couples: Ints
    axis_firsts: Ints
    axes: Shorts


class Tests(NamedTuple):
    """Which tests hold for which event: those of event e are `tests[firsts[e]:firsts[e + 1]]`."""

    firsts: Ints
    tests: Shorts


class Packed(NamedTuple):
    """The groups to be searched with masks; events of the i-th are `events[firsts[i]:firsts[i + 1]]`."""

    groups: Shorts
    firsts: Ints
    events: Shorts


@numba.njit(cache=True, nogil=True)
def batch_of(cells: Cells, encoded: Encoded, test_lines: Shorts) -> Batch:
    """The batch, event by event; `test_lines` is -1 everywhere."""
    apart()
    lines, events = encoded.coordinates.shape
    values, rows = np.empty((events, lines), np.int64), np.empty((events, lines), np.int32)
    for axis in range(len(encoded.columns)):
        line = encoded.columns[axis]
        if line < 0:
            continue
        base = cells.bases[axis]
        first, last = cells.cut_firsts[axis], cells.cut_firsts[axis + 1]
        for event in range(events):
            if encoded.valid[line, event] == 0:
                rows[event, line] = base
                continue
            coordinate = encoded.coordinates[line, event]
            values[event, line] = coordinate
            low, length = first, last - first
            # Halving without branches: the number of cuts at or below.
            while length > 0:
                half = (length + 1) >> 1
                low += half * (cells.cuts[low + half - 1] <= coordinate)
                length -= half
            rows[event, line] = base + 1 + low - first
    held = len(encoded.tests)
    test_bits = np.zeros((held, (events >> 6) + 1), np.uint64)
    for line in range(held):
        test_lines[encoded.tests[line]] = line
        for place in range(encoded.firsts[line], encoded.firsts[line + 1]):
            event = encoded.hits[place]
            test_bits[line, event >> 6] |= _ONE << np.uint64(event & 63)
    return Batch(encoded.columns, values, rows, cells.bases, test_lines, test_bits)


@numba.njit(cache=True, nogil=True)
def tests_of(encoded: Encoded) -> Tests:
    """The tests of each event."""
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
    return Tests(firsts, tests)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _point_group(groups: Groups, axis: int, coordinate: int) -> int:
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


@numba.njit(cache=True, nogil=True)
def _axes_of(batch: Batch, axis_of: Shorts) -> tuple[Ints, Shorts]:
    """The axes that each event has."""
    events, lines = batch.rows.shape
    firsts, axes = np.empty(events + 1, np.int64), np.empty(events * lines + 1, np.int32)
    bases = np.empty(lines, np.int32)
    for line in range(lines):
        bases[line] = batch.bases[axis_of[line]]
    count = 0
    for event in range(np.uint64(events)):
        firsts[event] = count
        for line in range(np.uint64(lines)):
            axes[count] = axis_of[line]
            count += batch.rows[event, line] != bases[line]
    firsts[events] = count
    return firsts, axes[:count]


@numba.njit(cache=True, nogil=True)
def visits_of(groups: Groups, couples: Couples, batch: Batch, tests: Tests) -> Visits:
    """Which groups every event visits."""
    apart()
    events, lines = batch.rows.shape
    cell_firsts, cell_groups, point_firsts = groups.cell_firsts, groups.cell_groups, groups.point_firsts
    axes = len(batch.columns)
    axis_of = np.empty(lines, np.int32)
    for axis in range(axes):
        if batch.columns[axis] >= 0:
            axis_of[batch.columns[axis]] = axis
    axis_firsts, own_axes = _axes_of(batch, axis_of)
    # What all visit: groups that everything leads to, and those of attributes that are NULL everywhere.
    led = np.zeros(1 + len(groups.null_axes) + lines, np.int32)
    common = 1
    for axis in groups.null_axes:
        if batch.columns[axis] < 0:
            led[common] = batch.bases[axis]
            common += 1
    bits = np.zeros((axes + 63) >> 6, np.uint64)
    width = len(bits) if len(couples.partners) else 0
    firsts, first_couples = np.empty(events + 1, np.int64), np.empty(events, np.int64)
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
        room = last - first + tests.firsts[event + 1] - tests.firsts[event]
        for number in range(rows):
            room += cell_firsts[led[number] + 1] - cell_firsts[led[number]]
        if width:
            for axis in own_axes[first:last]:
                bits[axis >> 6] |= _ONE << np.uint64(axis & 63)
            for axis in own_axes[first:last]:
                for word in range(width):
                    room += bits_of(couples.partners[axis * width + word] & bits[word])
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
        first_couples[event] = count
        if width:
            for axis in own_axes[first:last]:
                for word in range(np.int64(axis) * width, np.int64(axis) * width + width):
                    partners = couples.partners[word]
                    rest = partners & bits[word - np.int64(axis) * width]
                    while rest:
                        before = partners & ((rest & -rest) - _ONE)
                        out[count] = couples.first_group[0] + couples.ranks[word] + bits_of(before)
                        count += 1
                        rest &= rest - _ONE
            for axis in own_axes[first:last]:
                bits[axis >> 6] = 0
    firsts[events] = count
    return Visits(firsts, out[:count], first_couples, axis_firsts, own_axes)


@numba.njit(cache=True, nogil=True)
def packed_of(
    groups: Groups, outline: Outline, first_couple: int, visits: Visits, fewest: int, counts: Shorts
) -> Packed:
    """The groups for which masks are worth their table.

    `counts` is 0 everywhere and becomes 1 + its place for each group that is packed; with `fewest` = 1 all are.
    """
    apart()
    if fewest >= len(visits.firsts):  # more than there are events
        return Packed(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
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
        spans = groups.span_firsts[group + 1] - groups.span_firsts[group]
        strips = (events + 511) >> 9
        one_by_one = events * (2.0 * (last - first) + 2.5 * entries)
        if outline.firsts[group] < outline.firsts[group + 1]:
            one_by_one = events * outline.costs[group]
        by_masks = 500.0 + strips * (2.0 * spans + 10.0 * (last - first) + 3.5 * entries)
        if group >= first_couple:
            one_by_one = events * (_COUPLE_NS + _COUPLED_NS * entries)
            by_masks += _AXIS_NS * min(spans, axes)
        if fewest == 1 or one_by_one > by_masks:
            touched[chosen] = group
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
    return Packed(touched[:chosen], firsts[: chosen + 1], events_of)
