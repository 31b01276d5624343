"""Matching: events find groups, groups find subscriptions.

A group that few events of a batch reach is searched event by event: entry by entry, or, if it is large, with its
outline (`tamis.engines.bitslice.outline`); one that many reach with masks (`tamis.engines.bitslice.masks`). Either
way what survives its conjunction of spans is settled exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.couples import ask_early, left_of
from tamis.engines.bitslice.layout import Batch, Bytes, Index, Ints, Shorts, Spans, Words
from tamis.engines.bitslice.masks import Tables, by_masks
from tamis.engines.bitslice.outline import MOST_LINES, STEP
from tamis.engines.bitslice.program import Memory
from tamis.engines.bitslice.simd import apart, lines_meet, place_of, prefetch
from tamis.engines.bitslice.verify import LINE, Pairs, is_exact, room_for, verified
from tamis.engines.bitslice.visits import Tests, Visits, batch_of, packed_of, tests_of, visits_of
from tamis.engines.encoding import Encoded

OUTSIDE, EDGE, INSIDE = 0, 1, 3
"""Where an event is: outside of a span, in one of its outermost cells, or surely inside of what it is the span of.

The AND of several is the verdict about all.
"""
_LOOK = 8
"""Spans about which a verdict is made beforehand, for each entry that asks for some of them."""
_ONE = np.uint64(1)


class State(NamedTuple):
    """What a search writes; it leaves everything but `verdicts`, `tables` and `memory` as it was.

    rows: per axis the row of NULL, per test 0, and 1.
    cells: per axis 0, and 1.
    counts: per group, 0.
    test_lines: per test, -1.
    widths: per axis its width, per test 0; never written.
    verdicts: per span, where the event is that was looked at last.
    tables: of masks.
    memory: of the program.
    """

    rows: Shorts
    cells: Bytes
    counts: Shorts
    test_lines: Shorts
    widths: Shorts
    verdicts: Bytes
    tables: Tables
    memory: Memory


@numba.njit(cache=True, nogil=True)
def one_by_one(
    index: Index,
    batch: Batch,
    visits: Visits,
    tests: Tests,
    state: State,
    skipped: Shorts,
    pairs: Pairs,
    count: int,
) -> tuple[Pairs, int]:
    """Search groups event by event; gives the pairs and their new number.

    `skipped` is not 0 for the groups that are not to be searched, or empty if all are.
    """
    apart()
    bodies, groups, spans, outline = index.bodies, index.groups, index.spans, index.outline
    has_program = len(bodies.residuals) + len(bodies.unless) > 0
    rows, cells, entries, mask = state.rows, state.cells, state.tables.entries, state.tables.full
    first_test = batch.bases[len(batch.bases) - 1]
    axes = len(batch.columns)
    starts = np.empty(MOST_LINES, np.uint64)
    for event in range(len(batch.rows)):
        first_axis, last_axis = visits.axis_firsts[event], visits.axis_firsts[event + 1]
        for axis in visits.axes[first_axis:last_axis]:
            rows[axis] = batch.rows[event, batch.columns[axis]]
            cells[axis] = rows[axis] - batch.bases[axis]
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = first_test + tests.tests[place]
        left = 0
        for visit in range(visits.firsts[event], visits.couples[event]):
            group = visits.groups[visit]
            if len(skipped) and skipped[group]:
                continue
            first_line, last_line = outline.firsts[group], outline.firsts[group + 1]
            if first_line < last_line:
                first_entry = groups.run_entries[groups.runs[group]]
                words = _words(groups.run_entries[groups.runs[group + 1]] - first_entry)
                for place in range(first_line, last_line):
                    line = outline.lines[rows[outline.axes[place]]]
                    starts[place - first_line] = np.uint64(outline.line_firsts[place] + line * words)
                lines = np.uint64(last_line - first_line)
                for word in range(0, words, STEP):
                    if lines_meet(outline.bits, starts, lines, np.uint64(word), mask):
                        left = _gather(mask, first_entry + 64 * word, entries, left)
                        if left > len(entries) - 64 * STEP:
                            pairs, count = _settle(index, batch, state, event, left, pairs, count)
                            left = 0
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
                    if inside and is_exact(bodies, spans.axes, state.widths, entry, batch, event):
                        pairs.events[count] = event
                        pairs.numbers[count] = entry if has_program else bodies.slots[entry]
                        count += 1
        if left:
            pairs, count = _settle(index, batch, state, event, left, pairs, count)
        start, last = (visits.couples[event], 0), visits.firsts[event + 1]
        if start[0] < last:
            ask_early(index.couples, visits.groups, start[0], last)
        while start[0] < last:
            left, start = left_of(index.couples, visits.groups, start, last, skipped, cells, entries)
            if left:
                pairs, count = _settle(index, batch, state, event, left, pairs, count)
        for axis in visits.axes[first_axis:last_axis]:
            rows[axis] = batch.bases[axis]
            cells[axis] = 0
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = 0
    return pairs, count


@numba.njit(cache=True, nogil=True, forceinline=True)
def _words(entries: int) -> int:
    """Words of a line of an outline."""
    return (entries + 64 * STEP - 1) // (64 * STEP) * STEP


@numba.njit(cache=True, nogil=True, forceinline=True)
def _gather(mask: Words, first: int, entries: Shorts, left: int) -> int:
    """Append the entries whose bits are set, the lowest of which is `first`; gives how many there are then."""
    for word in range(STEP):
        rest = mask[word]
        while rest:
            entries[left] = first + 64 * word + place_of(rest)
            left += 1
            rest &= rest - _ONE
    return left


@numba.njit(cache=True, nogil=True, forceinline=True)
def _verdict(spans: Spans, span: np.uint64, rows: Shorts) -> int:
    """Where the event is that these rows are of."""
    row = rows[np.uint64(spans.axes[span])]
    outer = (row > spans.lows[span]) & (row <= spans.highs[span])
    inner = (row > spans.inner_lows[span]) & (row <= spans.inner_highs[span])
    return outer * EDGE | (outer & inner) * (INSIDE - EDGE)


@numba.njit(cache=True, nogil=True)
def _look(spans: Spans, rows: Shorts, verdicts: Bytes) -> None:
    """The verdict about every span."""
    for span in range(np.uint64(len(verdicts))):
        verdicts[span] = _verdict(spans, span, rows)


@numba.njit(cache=True, nogil=True)
def _settle(
    index: Index, batch: Batch, state: State, event: int, left: int, pairs: Pairs, count: int
) -> tuple[Pairs, int]:
    """Report those of `state.tables.entries` that the event, whose rows are set, satisfies."""
    apart()
    bodies, spans, entries, verdicts = index.bodies, index.spans, state.tables.entries, state.verdicts
    has_program = len(bodies.residuals) + len(bodies.unless) > 0
    pairs = room_for(pairs, count, left)
    for number in range(left):
        prefetch(bodies.spans, np.uint64(bodies.firsts[entries[number]]))
        prefetch(bodies.spans, np.uint64(bodies.firsts[entries[number] + 1] - 1))
    is_looked_at = _LOOK * left > len(verdicts)
    if is_looked_at:
        _look(spans, state.rows, verdicts)
    kept = 0
    for number in range(left):
        entry = entries[number]
        verdict = INSIDE
        for place in range(np.uint64(bodies.firsts[entry]), np.uint64(bodies.firsts[entry + 1])):
            span = np.uint64(bodies.spans[place])
            if is_looked_at:
                verdict &= verdicts[span]
            else:
                verdict &= _verdict(spans, span, state.rows)
                if verdict == OUTSIDE:
                    break
        entries[kept] = entry if verdict == EDGE else ~entry
        kept += verdict != OUTSIDE
    for number in range(kept):
        entry = entries[number]
        prefetch(bodies.slots, np.uint64(max(entry, ~entry)))
        prefetch(bodies.word_firsts, np.uint64(max(entry, ~entry)))
    for number in range(kept):
        if entries[number] >= 0:
            word_first = np.uint64(bodies.word_firsts[entries[number]])
            prefetch(bodies.words, word_first)
            prefetch(bodies.words, word_first + np.uint64(LINE))
    for number in range(kept):
        entry = entries[number]
        sure = entry < 0
        if sure:
            entry = ~entry
        if sure or is_exact(bodies, spans.axes, state.widths, entry, batch, event):
            pairs.events[count] = event
            pairs.numbers[count] = entry if has_program else bodies.slots[entry]
            count += 1
    return pairs, count


@numba.njit(cache=True, nogil=True)
def search(index: Index, encoded: Encoded, state: State, fewest: int, room: int) -> tuple[Pairs, int]:
    """All pairs of event and slot, and their number; `room` is how many to expect, `fewest` as in `packed_of`."""
    batch = batch_of(index.cells, encoded, state.test_lines)
    tests = tests_of(encoded)
    visits = visits_of(index.groups, index.couples, batch, tests)
    first_couple = index.couples.first_group[0]
    packed = packed_of(index.groups, index.outline, first_couple, visits, fewest, state.counts)
    pairs, count = Pairs(np.empty(room, np.int32), np.empty(room, np.int32)), 0
    skipped = state.counts if len(packed.groups) else state.counts[:0]
    pairs, count = one_by_one(index, batch, visits, tests, state, skipped, pairs, count)
    for group in packed.groups:
        state.counts[group] = 0
    if len(packed.groups):
        pairs, count = by_masks(index, state.widths, batch, packed, state.tables, pairs, count)
    if len(index.bodies.residuals) + len(index.bodies.unless) > 0:
        pairs, count = verified(index, batch, pairs, count, state.memory)
        state.memory.passed[0] += encoded.rows
    for test in encoded.tests:
        state.test_lines[test] = -1
    return pairs, count


@numba.njit(cache=True, nogil=True)
def candidates(index: Index, encoded: Encoded, test_lines: Shorts) -> Ints:
    """Of each event, the entries of all groups that it visits; `test_lines` as in `State`."""
    groups = index.groups
    batch = batch_of(index.cells, encoded, test_lines)
    visits = visits_of(groups, index.couples, batch, tests_of(encoded))
    for test in encoded.tests:
        test_lines[test] = -1
    found = np.zeros(encoded.rows, np.int64)
    for event in range(encoded.rows):
        for group in visits.groups[visits.firsts[event] : visits.firsts[event + 1]]:
            found[event] += groups.run_entries[groups.runs[group + 1]] - groups.run_entries[groups.runs[group]]
    return found
