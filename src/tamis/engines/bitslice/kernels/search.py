"""Matching a batch: events find groups, groups find entries, entries are verified.

`search` is the whole way of a batch through an index. A group that few events of the batch visit is searched event
by event: entry by entry, or, if it is large, by its coarse bitmaps. A group that many events visit is searched
with masks (`tamis.engines.bitslice.kernels.masks`). Either way, what survives its conjunction of cell ranges is
verified exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U64
from tamis.engines.bitslice.kernels.attribute_pairs import pair_candidates, prefetch_blocks
from tamis.engines.bitslice.kernels.coarse_bitmaps import MOST_COARSE_CELLS, bitmap_candidates, bitmap_words
from tamis.engines.bitslice.kernels.mask_programs import search_mask_programs
from tamis.engines.bitslice.kernels.masks import MaskTables, search_with_masks
from tamis.engines.bitslice.kernels.simd import no_inline, prefetch
from tamis.engines.bitslice.kernels.verify import (
    BoundCode,
    PairBuffer,
    is_within_bounds,
    prefetch_bounds,
    room_for,
    verify_formulas,
)
from tamis.engines.bitslice.kernels.visits import Visits, batch_of, packed_groups, row_tests, visits_of
from tamis.engines.bitslice.layout import (
    AttributePairs,
    CellBatch,
    CellRanges,
    CoarseBitmaps,
    EntryArrays,
    Groups,
    IndexArrays,
)
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import EvaluationMemory, RowTests
from tamis.kernels import kernel

OUTSIDE, EDGE, INSIDE = 0, 1, 3
"""Where an event is with respect to a cell range: outside; in one of its outermost cells, so that exact bounds
decide; or surely inside of every interval with that range.

As bits: the AND of the verdicts about several ranges is the verdict about all of them.
"""
_RANGES_PER_CANDIDATE = 8
"""With fewer cell ranges for each candidate, the verdicts about all ranges are computed first, without a
branch."""


class SearchState(NamedTuple):
    """What a search writes to. A search leaves all but the last four as it found it.

    rows: int32[axes + tests + 1]: the row of the event under way for each axis, between events that of NULL; for
        each test its row if it holds, else 0; at the end 1, the row of every event.
    cells: uint8[axes + 1]: the cell of the event under way, between events 0; at the end 1.
    counts: int32[groups]: 0.
    test_lines: int32[tests]: -1.
    code: how exact bounds are stored; never written.
    verdicts: uint8[ranges]: where the last event is.
    tables: what the search with masks writes to.
    memory: what the evaluator of formulas writes to.
    digits: what mask programs count in.
    """

    rows: I32
    cells: U8
    counts: I32
    test_lines: I32
    code: BoundCode
    verdicts: U8
    tables: MaskTables
    memory: EvaluationMemory
    digits: U64


class ConjunctionArrays(NamedTuple):
    """The parts of an index that a search by event reads. Each part that a kernel gets takes time to compile."""

    ranges: CellRanges
    entries: EntryArrays
    groups: Groups
    bitmaps: CoarseBitmaps
    attribute_pairs: AttributePairs


class EventState(NamedTuple):
    """The parts of a `SearchState` that a search by event writes to."""

    rows: I32
    cells: U8
    code: BoundCode
    verdicts: U8
    candidates: I32
    mask: U64


@kernel
def search_by_event(
    index: ConjunctionArrays,
    batch: CellBatch,
    visits: Visits,
    tests: RowTests,
    state: EventState,
    skipped: I32,
    pairs: PairBuffer,
    count: int,
) -> tuple[PairBuffer, int]:
    """Search groups event by event; returns the pairs and their new number.

    `skipped` is not 0 for the groups that masks will search; it is empty if there are none.
    """
    no_inline()
    entries, groups, ranges, bitmaps = index.entries, index.groups, index.ranges, index.bitmaps
    has_program = len(entries.residuals) + len(entries.guards) > 0
    rows, cells, candidates = state.rows, state.cells, state.candidates
    first_test = batch.bases[len(batch.bases) - 1]
    axes = len(batch.columns)
    starts = np.empty(MOST_COARSE_CELLS, np.uint64)
    for event in range(len(batch.rows)):
        # Scatter the event into arrays by axis, so that a range finds its row in one load; undone below.
        first_axis, last_axis = visits.axis_firsts[event], visits.axis_firsts[event + 1]
        for axis in visits.axes[first_axis:last_axis]:
            rows[axis] = batch.rows[event, batch.columns[axis]]
            cells[axis] = rows[axis] - batch.bases[axis]
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = first_test + tests.tests[place]
        left = 0  # candidates that wait for their verification
        for visit in range(visits.firsts[event], visits.first_pairs[event]):
            group = visits.groups[visit]
            if len(skipped) and skipped[group]:
                continue
            first_bitmap, last_bitmap = bitmaps.firsts[group], bitmaps.firsts[group + 1]
            if first_bitmap < last_bitmap:
                # AND one bitmap an axis, that of the event's coarse cell.
                first_entry = groups.run_entries[groups.runs[group]]
                words = bitmap_words(groups.run_entries[groups.runs[group + 1]] - first_entry)
                for place in range(first_bitmap, last_bitmap):
                    coarse_cell = bitmaps.coarse_cells[rows[bitmaps.axes[place]]]
                    starts[place - first_bitmap] = np.uint64(bitmaps.bitmap_firsts[place] + coarse_cell * words)
                own = starts[: last_bitmap - first_bitmap]
                word = 0
                while word < words:
                    left, word = bitmap_candidates(
                        bitmaps.bits, own, first_entry, (word, words), state.mask, candidates, left
                    )
                    if word < words:  # no room for more
                        pairs, count = _verify_candidates(entries, ranges, batch, state, event, left, pairs, count)
                        left = 0
                continue
            for run in range(groups.runs[group], groups.runs[group + 1]):
                row = rows[groups.run_axes[run]]
                if row > groups.run_highs[run] or row <= groups.run_lows[run]:
                    continue
                first_entry, last_entry = groups.run_entries[run], groups.run_entries[run + 1]
                pairs = room_for(pairs, count, last_entry - first_entry)
                # Here most of the time of single events goes. Numbers are made unsigned before they index an
                # array: numba would else test each for being negative.
                start = np.uint64(entries.firsts[first_entry])
                for entry in range(first_entry, last_entry):
                    end = np.uint64(entries.firsts[entry + 1])
                    inside = True
                    for place in range(start, end):
                        cell_range = np.uint64(entries.ranges[place])
                        row = rows[np.uint64(ranges.axes[cell_range])]
                        if row > ranges.highs[cell_range] or row <= ranges.lows[cell_range]:
                            inside = False
                            break
                    start = end
                    if inside and is_within_bounds(
                        entries, ranges, state.code, np.uint64(entry), batch, np.uint64(event)
                    ):
                        pairs.events[count] = event
                        pairs.numbers[count] = entry if has_program else entries.slots[entry]
                        count += 1
        if left:
            pairs, count = _verify_candidates(entries, ranges, batch, state, event, left, pairs, count)
        start, last = (visits.first_pairs[event], 0), visits.firsts[event + 1]
        if start[0] < last:
            prefetch_blocks(index.attribute_pairs, visits.groups, start[0], last)
        while start[0] < last:
            left, start = pair_candidates(
                index.attribute_pairs, visits.groups, start, last, skipped, cells, candidates
            )
            if left:
                pairs, count = _verify_candidates(entries, ranges, batch, state, event, left, pairs, count)
        for axis in visits.axes[first_axis:last_axis]:
            rows[axis] = batch.bases[axis]
            cells[axis] = 0
        for place in range(tests.firsts[event], tests.firsts[event + 1]):
            rows[axes + tests.tests[place]] = 0
    return pairs, count


@kernel(forceinline=True)
def verdict_of(ranges: CellRanges, cell_range: np.uint64, rows: I32) -> int:
    """OUTSIDE, EDGE or INSIDE for the event that these rows are of."""
    row = rows[np.uint64(ranges.axes[cell_range])]
    # `&`, not `and`: no branch, so that `_fill_verdicts` becomes a loop of vectors.
    outer = (row > ranges.lows[cell_range]) & (row <= ranges.highs[cell_range])
    inner = (row > ranges.inner_lows[cell_range]) & (row <= ranges.inner_highs[cell_range])
    return outer * EDGE | (outer & inner) * (INSIDE - EDGE)


@kernel
def _fill_verdicts(ranges: CellRanges, rows: I32, verdicts: U8) -> None:
    for cell_range in range(np.uint64(len(verdicts))):
        verdicts[cell_range] = verdict_of(ranges, cell_range, rows)


@kernel
def _verify_candidates(
    entries: EntryArrays,
    ranges: CellRanges,
    batch: CellBatch,
    state: EventState,
    event: int,
    left: int,
    pairs: PairBuffer,
    count: int,
) -> tuple[PairBuffer, int]:
    """Report those of the first `left` candidates that the event, whose rows are set, satisfies.

    Candidates are spread over a large index, so nearly every load would wait for memory. Each pass below requests
    what the next one reads, for all candidates at once.
    """
    no_inline()
    candidates, verdicts = state.candidates, state.verdicts
    has_program = len(entries.residuals) + len(entries.guards) > 0
    pairs = room_for(pairs, count, left)
    for number in range(left):
        prefetch(entries.ranges, np.uint64(entries.firsts[candidates[number]]))
        prefetch(entries.ranges, np.uint64(entries.firsts[candidates[number] + 1] - 1))
    has_verdicts = _RANGES_PER_CANDIDATE * left > len(verdicts)
    if has_verdicts:
        _fill_verdicts(ranges, state.rows, verdicts)
    kept = 0
    for number in range(left):
        entry = candidates[number]
        verdict = INSIDE
        for place in range(np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + 1])):
            cell_range = np.uint64(entries.ranges[place])
            if has_verdicts:
                verdict &= verdicts[cell_range]
            else:
                verdict &= verdict_of(ranges, cell_range, state.rows)
                if verdict == OUTSIDE:
                    break
        # Kept in place, in the same array: ~entry says that no exact bound is left to compare.
        candidates[kept] = entry if verdict == EDGE else ~entry
        kept += verdict != OUTSIDE
    for number in range(kept):
        entry = candidates[number]
        prefetch(entries.slots, np.uint64(max(entry, ~entry)))
        if entry >= 0:
            prefetch_bounds(entries, np.uint64(entry))
    for number in range(kept):
        entry = candidates[number]
        sure = entry < 0
        if sure:
            entry = ~entry
        if sure or is_within_bounds(entries, ranges, state.code, np.uint64(entry), batch, np.uint64(event)):
            pairs.events[count] = event
            pairs.numbers[count] = entry if has_program else entries.slots[entry]
            count += 1
    return pairs, count


@kernel(inline="always")
def search(
    index: IndexArrays, encoded: EncodedBatch, state: SearchState, fewest: int, room: int
) -> tuple[PairBuffer, int]:
    """All pairs of event and slot, and their number.

    `room` is the expected number of pairs; `fewest` events must visit a group that masks search.
    """
    batch = batch_of(index.cells, encoded, state.test_lines, state.code.is_narrow)
    tests = row_tests(encoded)
    visits = visits_of(index.groups, index.attribute_pairs, batch, tests)
    first_pair_group = index.attribute_pairs.first_group[0]
    packed = packed_groups(index.groups, index.bitmaps, first_pair_group, visits, fewest, state.counts)
    pairs, count = PairBuffer(np.empty(room, np.int32), np.empty(room, np.int32)), 0
    skipped = state.counts if len(packed.groups) else state.counts[:0]
    conjunctions = ConjunctionArrays(
        index.ranges, index.entries, index.groups, index.bitmaps, index.attribute_pairs
    )
    tables = state.tables
    by_event = EventState(state.rows, state.cells, state.code, state.verdicts, tables.survivors, tables.full)
    pairs, count = search_by_event(conjunctions, batch, visits, tests, by_event, skipped, pairs, count)
    for group in packed.groups:
        state.counts[group] = 0
    if len(packed.groups):
        pairs, count = search_with_masks(
            index.entries, index.groups, index.ranges, state.code, batch, packed, tables, pairs, count
        )
    if len(index.entries.residuals) + len(index.entries.guards) > 0:
        count = verify_formulas(index.entries, index.program, encoded, tests, pairs, count, state.memory)
    if len(index.mask_programs.slots):
        pairs, count = search_mask_programs(
            index.mask_programs, index.cells, encoded, state.test_lines, tables, state.digits, pairs, count
        )
    for test in encoded.tests:
        state.test_lines[test] = -1
    return pairs, count


@kernel(inline="always")
def count_candidates(index: IndexArrays, encoded: EncodedBatch, test_lines: I32) -> I64:
    """For each event, the number of entries in all groups that it visits, and of formulas in mask programs.

    `test_lines` is as in `SearchState`.
    """
    groups = index.groups
    batch = batch_of(index.cells, encoded, test_lines, False)
    visits = visits_of(groups, index.attribute_pairs, batch, row_tests(encoded))
    for test in encoded.tests:
        test_lines[test] = -1
    counts = np.full(encoded.rows, len(index.mask_programs.slots))
    for event in range(encoded.rows):
        for group in visits.groups[visits.firsts[event] : visits.firsts[event + 1]]:
            counts[event] += groups.run_entries[groups.runs[group + 1]] - groups.run_entries[groups.runs[group]]
    return counts
