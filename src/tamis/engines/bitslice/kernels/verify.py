"""Verification: what cells leave open about an entry and an event.

Cells are coarse where an axis has more distinct bounds than cells. An event in the first or last cell of an
interval may be inside or outside of it, so its value is compared with the exact bounds, which stand in the entry.
Then what is more than a conjunction is evaluated: residual formulas, and guards against reporting a slot twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.bitslice.kernels.simd import no_inline, prefetch
from tamis.engines.bitslice.layout import NO_NODE, CellBatch, CellRanges, EntryArrays
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.formula_program import EvaluationMemory, FormulaProgram, RowTests, holds, set_held
from tamis.kernels import kernel

MOST_OFFSET = (1 << 16) - 1
"""In place of the offset of an upper bound: there is none before the end of the cell."""
_AHEAD = 8
"""Candidates between two steps of requesting what verifying one reads."""
CACHE_LINE_WORDS = 16
"""32-bit words of a cache line."""


LOWEST_NARROW, HIGHEST_NARROW = -(1 << 31), (1 << 31) - 1
"""In place of a bound of 32 bits: there is none."""
ADMITS_NULL = 255
"""In place of the width of a range's bounds: NULL has none to be compared with."""


class BoundCode(NamedTuple):
    """How exact bounds are stored (`tamis.engines.bitslice.entries.bound_code`).

    widths: int32[axes + tests + 1]: of axes as in `AxisCells`, of tests 0.
    range_widths: uint8[ranges]: the width of the range's axis, ADMITS_NULL if that is not 0 and it admits NULL.
    range_floors: int64[2 * ranges]: the floors of the first and the last cell of a range.
    is_narrow: Do all bounds fit into 32 bits, so that NARROW_LANES of them are compared at a time?
    """

    widths: I32
    range_widths: U8
    range_floors: I64
    is_narrow: bool


class PairBuffer(NamedTuple):
    """Room for pairs: an event and, in `numbers`, an entry before `verify_formulas` and a slot after it.

    An index without residuals and guards writes slots at once.
    """

    events: I32
    numbers: I32


@kernel(forceinline=True, borrows=True)
def wide_bounds(bounds: I32, word: np.uint64) -> tuple[int, int]:
    """Low and high, of 64 bits each, from four words, the lower half first."""
    # The upper half keeps its sign; the lower half must not spread its own over the upper one.
    low = np.int64(bounds[word + np.uint64(1)]) << 32 | (np.int64(bounds[word]) & 0xFFFFFFFF)
    high = np.int64(bounds[word + np.uint64(3)]) << 32 | (np.int64(bounds[word + np.uint64(2)]) & 0xFFFFFFFF)
    return low, high


@kernel(forceinline=True, borrows=True)
def narrow_bounds(width: int, word: int, next_word: int, first_floor: int, last_floor: int) -> tuple[int, int]:
    """Low and high, from one word or two, of an interval whose first and last cell have these floors.

    The event is known to be in these cells, so a bound that is no tighter than its cell may come out as none. All
    arguments are numbers: for each array among them numba would count references, which takes longer than this.
    """
    if width == 1:
        # Two offsets. 0 is where a cell begins, and in the first cell of an axis below all bounds; MOST_OFFSET is
        # not before a cell's end, and in the last one above all bounds.
        low, high = first_floor + (word & MOST_OFFSET), last_floor + (word >> 16 & MOST_OFFSET)
        return LOWEST if low == first_floor else low, HIGHEST if high == last_floor + MOST_OFFSET else high
    # A missing bound is stored as the lowest or highest number of 32 bits. A bound that exists is never so far
    # out: `cells._with_widths` would have made the axis 4 words wide.
    return LOWEST if word == -(1 << 31) else word, HIGHEST if next_word == (1 << 31) - 1 else next_word


@kernel(forceinline=True, borrows=True)
def first_bound(entries: EntryArrays, entry: np.uint64) -> np.uint64:
    """The first word of an entry's exact bounds."""
    if len(entries.bound_firsts) == 1:
        return np.uint64(entries.firsts[entry]) * np.uint64(entries.bound_firsts[0])
    return np.uint64(entries.bound_firsts[entry])


@kernel(forceinline=True, borrows=True)
def fill_lanes(
    entries: EntryArrays,
    range_axes: I32,
    code: BoundCode,
    columns: I32,
    entry: np.uint64,
    lows: I64,
    highs: I64,
) -> bool:
    """Write the exact bounds of an entry to the lanes of their columns, and none to the others.

    False if some range admits NULL, where there is no value to compare: `is_within_bounds` must be asked.
    """
    lows[:] = LOWEST
    highs[:] = HIGHEST
    word = first_bound(entries, entry)
    for place in range(np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + np.uint64(1)])):
        cell_range = np.uint64(entries.ranges[place])
        width = code.range_widths[cell_range]
        if width == 0:
            continue
        if width == ADMITS_NULL:
            return False
        low, high = _bounds_of(entries.bounds, word, code, cell_range, width)
        # Never -1: some event is in a cell of that axis, so the batch has a column for it.
        column = np.uint64(columns[np.uint64(range_axes[cell_range])])
        lows[column], highs[column] = max(lows[column], low), min(highs[column], high)
        word += np.uint64(width)
    return True


@kernel(forceinline=True, borrows=True)
def fill_narrow_lanes(
    entries: EntryArrays,
    range_axes: I32,
    code: BoundCode,
    columns: I32,
    entry: np.uint64,
    lows: I32,
    highs: I32,
) -> bool:
    """As `fill_lanes`, where bounds are narrow."""
    lows[:] = LOWEST_NARROW
    highs[:] = HIGHEST_NARROW
    word = first_bound(entries, entry)
    for place in range(np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + np.uint64(1)])):
        cell_range = np.uint64(entries.ranges[place])
        width = code.range_widths[cell_range]
        if width == 0:
            continue
        if width == ADMITS_NULL:
            return False
        low, high = _bounds_of(entries.bounds, word, code, cell_range, width)
        column = np.uint64(columns[np.uint64(range_axes[cell_range])])
        lows[column] = np.int32(max(lows[column], low))
        highs[column] = np.int32(min(highs[column], high))
        word += np.uint64(width)
    return True


@kernel(forceinline=True, borrows=True)
def _bounds_of(
    bounds: I32, word: np.uint64, code: BoundCode, cell_range: np.uint64, width: int
) -> tuple[int, int]:
    """Low and high of a range whose bounds are stored at a word."""
    if width == 4:
        return wide_bounds(bounds, word)
    return narrow_bounds(
        width,
        np.int64(bounds[word]),
        np.int64(bounds[word + np.uint64(width) - np.uint64(1)]),
        code.range_floors[np.uint64(2) * cell_range],
        code.range_floors[np.uint64(2) * cell_range + np.uint64(1)],
    )


@kernel(forceinline=True, borrows=True)
def is_within_bounds(
    entries: EntryArrays, ranges: CellRanges, code: BoundCode, entry: np.uint64, batch: CellBatch, event: np.uint64
) -> bool:
    """Does an event, which is in all cell ranges of an entry, satisfy the intervals, too?"""
    word = first_bound(entries, entry)
    for place in range(np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + np.uint64(1)])):
        cell_range = np.uint64(entries.ranges[place])
        axis = np.uint64(ranges.axes[cell_range])
        width = code.widths[axis]
        if width:
            column = batch.columns[axis]
            # NULL has a row of its own, so a range that the event is in says all about NULL.
            if column >= 0 and batch.rows[event, np.uint64(column)] != batch.bases[axis]:
                low, high = _bounds_of(entries.bounds, word, code, cell_range, width)
                if not low <= batch.values[event, np.uint64(column)] <= high:
                    return False
            word += np.uint64(width)
    return True


@kernel(forceinline=True, borrows=True)
def prefetch_bounds(entries: EntryArrays, entry: np.uint64) -> None:
    """Have the exact bounds of an entry in the cache soon."""
    word = first_bound(entries, entry)
    prefetch(entries.bounds, word)
    prefetch(entries.bounds, word + np.uint64(CACHE_LINE_WORDS))


@kernel
def room_for(pairs: PairBuffer, count: int, more: int) -> PairBuffer:
    """A buffer with the first `count` pairs, and room for `more` after them."""
    if count + more <= len(pairs.events):
        return pairs
    events = np.empty(2 * (count + more), np.int32)
    numbers = np.empty(2 * (count + more), np.int32)
    events[:count] = pairs.events[:count]
    numbers[:count] = pairs.numbers[:count]
    return PairBuffer(events, numbers)


@kernel
def verify_formulas(
    entries: EntryArrays,
    program: FormulaProgram,
    encoded: EncodedBatch,
    row_tests: RowTests,
    pairs: PairBuffer,
    count: int,
    memory: EvaluationMemory,
) -> int:
    """Turn pairs of event and entry into pairs of event and slot, without those that a formula refuses.

    A pair stays if the entry's residual holds and its guard does not: no earlier entry of the slot reports the
    event. Returns how many stay.
    """
    no_inline()
    # Sort by event, because the values of shared nodes are remembered for one event at a time.
    firsts = np.zeros(encoded.rows + 1, np.int64)
    for place in range(count):
        firsts[pairs.events[place] + 1] += 1
    for event in range(encoded.rows):
        firsts[event + 1] += firsts[event]
    candidates = np.empty(count, np.int32)
    cursor = firsts.copy()
    for place in range(count):
        event = pairs.events[place]
        candidates[cursor[event]] = pairs.numbers[place]
        cursor[event] += 1
    return _keep_what_holds(entries, program, encoded, row_tests, candidates, firsts, memory, pairs)


@kernel(borrows=True)
def _keep_what_holds(
    entries: EntryArrays,
    program: FormulaProgram,
    encoded: EncodedBatch,
    row_tests: RowTests,
    candidates: I32,
    firsts: I64,
    memory: EvaluationMemory,
    pairs: PairBuffer,
) -> int:
    """Write the pairs that stay to `pairs`; the candidates of an event are its part of `candidates`."""
    no_inline()
    residuals, guards = entries.residuals, entries.guards
    written = 0
    for event in range(len(firsts) - 1):
        if firsts[event] == firsts[event + 1]:
            continue
        memory.turn[0] += 1
        set_held(row_tests, event, 1, memory)
        for place in range(firsts[event], firsts[event + 1]):
            # Candidates are spread over a large index: what is read of them is requested in two steps.
            if place + 2 * _AHEAD < len(candidates):
                _prefetch_entry(entries, candidates[place + 2 * _AHEAD])
            if place + _AHEAD < len(candidates):
                _prefetch_records(program, residuals, guards, candidates[place + _AHEAD])
            entry = candidates[place]
            passes = True
            # One call in a loop, not two calls: `holds` is inlined, and its code is long.
            for turn in range(2):
                some = residuals if turn == 0 else guards
                root = some[entry] if len(some) else NO_NODE
                if passes and root != NO_NODE:
                    passes = holds(program, root, encoded, event, memory) == (turn == 0)
            if passes:
                pairs.events[written] = event
                pairs.numbers[written] = entries.slots[entry]
                written += 1
        set_held(row_tests, event, 0, memory)
    return written


@kernel(forceinline=True, borrows=True)
def _prefetch_entry(entries: EntryArrays, entry: int) -> None:
    prefetch(entries.slots, np.uint64(entry))
    if len(entries.residuals):
        prefetch(entries.residuals, np.uint64(entry))
    if len(entries.guards):
        prefetch(entries.guards, np.uint64(entry))


@kernel(forceinline=True, borrows=True)
def _prefetch_records(program: FormulaProgram, residuals: I32, guards: I32, entry: int) -> None:
    """Request the nodes that an entry names, and what is before them, which is mostly their children."""
    for turn in range(2):
        some = residuals if turn == 0 else guards
        root = some[entry] if len(some) else NO_NODE
        if 0 <= root < NO_NODE:
            prefetch(program.records, np.uint64(root))
            prefetch(program.records, np.uint64(max(root - CACHE_LINE_WORDS, 0)))
