"""Matching: events find groups, groups find subscriptions.

A group that few events of a batch reach is searched event by event, entry by entry; one that many reach with masks
(`tamis.engines.bitslice.masks`). Either way what survives its conjunction of spans is settled exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import Batch, Index, Life, Shorts
from tamis.engines.bitslice.masks import Tables, by_masks
from tamis.engines.bitslice.program import Memory
from tamis.engines.bitslice.simd import apart
from tamis.engines.bitslice.verify import Pairs, is_exact, room_for, verified
from tamis.engines.bitslice.visits import Tests, Visits, batch_of, packed_of, tests_of, visits_of
from tamis.engines.encoding import Encoded


class State(NamedTuple):
    """What a search writes; it leaves everything but `tables` and `memory` as it was.

    rows: per axis the row of NULL, per test 0, and 1.
    counts: per group, 0.
    test_lines: per test, -1.
    widths: per axis its width, per test 0; never written.
    tables: of masks.
    memory: of the program.
    """

    rows: Shorts
    counts: Shorts
    test_lines: Shorts
    widths: Shorts
    tables: Tables
    memory: Memory


@numba.njit(cache=True, nogil=True)
def one_by_one(
    index: Index, batch: Batch, visits: Visits, tests: Tests, life: Life, state: State, pairs: Pairs, count: int
) -> tuple[Pairs, int]:
    """Search the groups whose `state.counts` is 0, event by event; gives the pairs and their new number."""
    apart()
    bodies, groups, spans = index.bodies, index.groups, index.spans
    has_program = len(bodies.residuals) + len(bodies.unless) > 0
    rows = state.rows
    first_test = batch.bases[len(batch.bases) - 1]
    axes = len(batch.columns)
    for event in range(len(batch.rows)):
        for axis in range(axes):
            if batch.columns[axis] >= 0:
                rows[axis] = batch.rows[event, batch.columns[axis]]
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = first_test + tests.tests[place]
        for visit in range(visits.firsts[event], visits.firsts[event + 1]):
            group = visits.groups[visit]
            if state.counts[group]:
                continue
            for run in range(groups.runs[group], groups.runs[group + 1]):
                row = rows[groups.run_axes[run]]
                if row > groups.run_highs[run] or row <= groups.run_lows[run]:
                    continue
                first_entry, last_entry = groups.run_entries[run], groups.run_entries[run + 1]
                pairs = room_for(pairs, count, last_entry - first_entry)
                start = np.uint64(bodies.firsts[first_entry])
                for entry in range(first_entry, last_entry):
                    end = np.uint64(bodies.firsts[entry + 1])
                    inside = True
                    for place in range(start, end):
                        span = np.uint64(bodies.spans[place])
                        row = rows[np.uint64(spans.axes[span])]
                        if row > spans.highs[span] or row <= spans.lows[span]:
                            inside = False
                            break
                    start = end
                    if inside:
                        slot = bodies.slots[entry]
                        if len(life.died) and life.died[slot] <= life.version:
                            continue
                        if is_exact(bodies, spans.axes, state.widths, entry, batch, event):
                            pairs.events[count] = event
                            pairs.numbers[count] = entry if has_program else slot
                            count += 1
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = 0
    for axis in range(axes):
        rows[axis] = batch.bases[axis]
    return pairs, count


@numba.njit(cache=True, nogil=True)
def search(index: Index, encoded: Encoded, life: Life, state: State, fewest: int, room: int) -> tuple[Pairs, int]:
    """All pairs of event and slot, and their number; `room` is how many to expect, `fewest` as in `packed_of`."""
    batch = batch_of(index.cells, encoded, state.test_lines)
    tests = tests_of(encoded)
    visits = visits_of(index.groups, batch, tests)
    packed = packed_of(index.groups, visits, fewest, state.counts)
    pairs, count = Pairs(np.empty(room, np.int32), np.empty(room, np.int32)), 0
    pairs, count = one_by_one(index, batch, visits, tests, life, state, pairs, count)
    for group in packed.groups:
        state.counts[group] = 0
    if len(packed.groups):
        pairs, count = by_masks(index, state.widths, batch, packed, life, state.tables, pairs, count)
    if len(index.bodies.residuals) + len(index.bodies.unless) > 0:
        state.memory.events[:] = -1
        pairs, count = verified(index, batch, pairs, count, state.memory)
    for test in encoded.tests:
        state.test_lines[test] = -1
    return pairs, count
