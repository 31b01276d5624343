"""Verification: what cells leave open about an entry and an event.

Cells are coarse where an axis has more distinct bounds than cells. An event in the first or last cell of an
interval may be inside or outside of it, so its value is compared with the exact bounds, which stand in the entry.
Then what is more than a conjunction is evaluated: residual formulas, and guards against reporting a slot twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.simd import no_inline, prefetch
from tamis.engines.bitslice.layout import NO_NODE, CellBatch, CellRanges, EntryArrays
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.engines.formula_program import EvaluationMemory, FormulaProgram, RowTests, holds, set_held
from tamis.kernels import kernel

MOST_BOUNDS = 64
"""Ranges of an entry up to which its exact bounds are unpacked, to be compared with many events."""
NO_BOUNDS = -1
CACHE_LINE_WORDS = 16
"""32-bit words of a cache line."""


class PairBuffer(NamedTuple):
    """Room for pairs: an event and, in `numbers`, an entry before `verify_formulas` and a slot after it.

    An index without residuals and guards writes slots at once.
    """

    events: I32
    numbers: I32


@kernel(forceinline=True)
def wide_bounds(bounds: I32, word: np.uint64) -> tuple[int, int]:
    """Low and high, of 64 bits each, from four words, the lower half first."""
    # The upper half keeps its sign; the lower half must not spread its own over the upper one.
    low = np.int64(bounds[word + np.uint64(1)]) << 32 | (np.int64(bounds[word]) & 0xFFFFFFFF)
    high = np.int64(bounds[word + np.uint64(3)]) << 32 | (np.int64(bounds[word + np.uint64(2)]) & 0xFFFFFFFF)
    return low, high


@kernel(forceinline=True)
def is_between(bounds: I32, word: np.uint64, width: int, value: int) -> bool:
    """Is a coordinate between the exact bounds that begin at a word?"""
    if width == 2:
        # A missing bound is stored as the lowest or highest number of 32 bits; clipping makes every value pass it.
        # A bound that exists is never so far out: `kernels.cells.mark_axes` would have made the axis 4 words wide.
        value = min(max(value, -(1 << 31)), (1 << 31) - 1)
        low = np.int64(bounds[word])
        high = np.int64(bounds[word + np.uint64(1)])
    else:
        low, high = wide_bounds(bounds, word)
    return low <= value <= high


@kernel(forceinline=True)
def bounds_of(
    entries: EntryArrays,
    ranges: CellRanges,
    widths: I32,
    columns: I32,
    entry: int,
    out: tuple[I64, I64, I64],
) -> int:
    """Unpack the exact bounds of an entry into columns of the batch, lows and highs; returns how many there are.

    NO_BOUNDS if there are too many, or some range admits NULL, where there is no value to compare: then each event
    must be asked for by `is_within_bounds`.
    """
    out_columns, lows, highs = out
    word = np.uint64(entries.bound_firsts[entry])
    first, last = np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + 1])
    if last - first > MOST_BOUNDS:
        return NO_BOUNDS
    count = 0
    for place in range(first, last):
        cell_range = np.uint64(entries.ranges[place])
        axis = np.uint64(ranges.axes[cell_range])
        width = widths[axis]
        if width == 0:
            continue
        if ranges.lows[cell_range] == 0:
            return NO_BOUNDS
        # Never -1: the event is in a cell of that axis, so the batch has a column for it.
        out_columns[count] = columns[axis]
        if width == 2:
            low, high = np.int64(entries.bounds[word]), np.int64(entries.bounds[word + np.uint64(1)])
            lows[count] = low if low > -(1 << 31) else LOWEST
            highs[count] = high if high < (1 << 31) - 1 else HIGHEST
        else:
            lows[count], highs[count] = wide_bounds(entries.bounds, word)
        word += np.uint64(width)
        count += 1
    return count


@kernel(forceinline=True)
def is_within_bounds(
    entries: EntryArrays, axes: I32, widths: I32, entry: int, batch: CellBatch, event: int
) -> bool:
    """Does an event, which is in all cell ranges of an entry, satisfy the intervals, too?

    `axes` are those of cell ranges; `widths` has those of axes, and 0 for each test.
    """
    word = np.uint64(entries.bound_firsts[entry])
    for place in range(np.uint64(entries.firsts[entry]), np.uint64(entries.firsts[entry + 1])):
        axis = np.uint64(axes[np.uint64(entries.ranges[place])])
        width = widths[axis]
        if width:
            column = batch.columns[axis]
            # NULL has a row of its own, so a range that the event is in says all about NULL.
            if column >= 0 and batch.rows[event, column] != batch.bases[axis]:
                if not is_between(entries.bounds, word, width, batch.values[event, column]):
                    return False
            word += np.uint64(width)
    return True


@kernel(forceinline=True)
def prefetch_bounds(entries: EntryArrays, candidates: I32, count: int) -> None:
    """Have the exact bounds of the first `count` candidates in the cache soon.

    Candidates are spread over the whole index, so each would miss the cache twice, first for its offset and then
    for its bounds. All offsets are requested before the first is used.
    """
    for number in range(count):
        prefetch(entries.bound_firsts, np.uint64(candidates[number]))
        prefetch(entries.slots, np.uint64(candidates[number]))
    for number in range(count):
        word_first = np.uint64(entries.bound_firsts[candidates[number]])
        prefetch(entries.bounds, word_first)
        prefetch(entries.bounds, word_first + np.uint64(CACHE_LINE_WORDS))


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
) -> tuple[PairBuffer, int]:
    """Turn pairs of event and entry into pairs of event and slot, without those that a formula refuses.

    A pair stays if the entry's residual holds and its guard does not: no earlier entry of the slot reports the
    event.
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
    residuals, guards = entries.residuals, entries.guards
    written = 0  # never ahead of what was read: `candidates` is a copy, and pairs only get fewer
    for event in range(encoded.rows):
        if firsts[event] == firsts[event + 1]:
            continue
        memory.turn[0] += 1
        set_held(row_tests, event, 1, memory)
        for place in range(firsts[event], firsts[event + 1]):
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
    return pairs, written
