"""Visits: which groups the events of a batch lead to, and how each group is to be searched."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Batch, Cells, Groups, Ints, Shorts
from tamis.engines.bitslice.simd import apart
from tamis.engines.encoding import Encoded

_ONE = np.uint64(1)


class Visits(NamedTuple):
    """Which event visits which group; those of event e are `groups[firsts[e]:firsts[e + 1]]`."""

    firsts: Ints
    groups: Shorts


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
def visits_of(groups: Groups, batch: Batch, tests: Tests) -> Visits:
    """Which groups every event visits."""
    apart()
    events, lines = batch.rows.shape
    cell_firsts, cell_groups, point_firsts = groups.cell_firsts, groups.cell_groups, groups.point_firsts
    axes = len(batch.columns)
    axis_of = np.empty(lines, np.int32)
    for axis in range(axes):
        if batch.columns[axis] >= 0:
            axis_of[batch.columns[axis]] = axis
    # What all visit: groups that everything leads to, and those of attributes that are NULL everywhere.
    led = np.zeros(1 + len(groups.null_axes) + lines, np.int32)
    common = 1
    for axis in groups.null_axes:
        if batch.columns[axis] < 0:
            led[common] = batch.bases[axis]
            common += 1
    led = led[: common + lines]
    room = len(tests.tests) + events * lines
    for event in range(events):
        led[common:] = batch.rows[event]
        for place in range(common + lines):
            room += cell_firsts[led[place] + 1] - cell_firsts[led[place]]
    firsts, out = np.empty(events + 1, np.int64), np.empty(room, np.int32)
    count = 0
    for event in range(events):
        firsts[event] = count
        led[common:] = batch.rows[event]
        for number in range(common + lines):
            for place in range(cell_firsts[led[number]], cell_firsts[led[number] + 1]):
                out[count] = cell_groups[place]
                count += 1
        for line in range(lines):
            axis = axis_of[line]
            if point_firsts[axis + 1] > point_firsts[axis] and batch.rows[event, line] != batch.bases[axis]:
                group = _point_group(groups, axis, batch.values[event, line])
                if group >= 0:
                    out[count] = group
                    count += 1
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            group = groups.test_groups[tests.tests[place]]
            if group >= 0:
                out[count] = group
                count += 1
    firsts[events] = count
    return Visits(firsts, out[:count])


@numba.njit(cache=True, nogil=True)
def packed_of(groups: Groups, visits: Visits, fewest: int, counts: Shorts) -> Packed:
    """The groups for which masks are worth their table.

    `counts` is 0 everywhere and becomes 1 + its place for each group that is packed; with `fewest` = 1 all are.
    """
    apart()
    touched = np.empty(min(len(counts), len(visits.groups)), np.int32)
    size = 0
    for group in visits.groups:
        if counts[group] == 0:
            touched[size] = group
            size += 1
        counts[group] += 1
    chosen, total = 0, 0
    firsts = np.empty(size + 1, np.int64)
    for number in range(size):
        group = touched[number]
        events = counts[group]
        counts[group] = 0
        first, last = groups.runs[group], groups.runs[group + 1]
        entries = groups.run_entries[last] - groups.run_entries[first]
        spans = groups.span_firsts[group + 1] - groups.span_firsts[group]
        strips = (events + 511) >> 9
        one_by_one = events * (2.0 * (last - first) + 2.5 * entries)
        if fewest == 1 or (
            events >= fewest
            and one_by_one > 500.0 + strips * (2.0 * spans + 10.0 * (last - first) + 3.5 * entries)
        ):
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
