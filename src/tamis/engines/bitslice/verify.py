"""What cells leave open about an entry and an event: exact ends of intervals, formulas beyond conjunctions."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.bitslice.layout import NOTHING, Batch, Bodies, Index, Ints, Shorts, Spans
from tamis.engines.bitslice.program import Memory, holds
from tamis.engines.bitslice.simd import apart, prefetch
from tamis.engines.forest.axes import HIGHEST, LOWEST

WIDEST = 64
"""Exact ends that are looked at together."""
NO_ENDS = -1
LINE = 16
"""Words that a line of the processor's cache holds."""


class Pairs(NamedTuple):
    """Room for pairs of an event and an entry, or slot."""

    events: Shorts
    numbers: Shorts


@numba.njit(cache=True, nogil=True, forceinline=True)
def long_ends(words: Shorts, word: np.uint64) -> tuple[int, int]:
    """Exact ends in 64 bits each."""
    low = np.int64(words[word + np.uint64(1)]) << 32 | (np.int64(words[word]) & 0xFFFFFFFF)
    high = np.int64(words[word + np.uint64(3)]) << 32 | (np.int64(words[word + np.uint64(2)]) & 0xFFFFFFFF)
    return low, high


@numba.njit(cache=True, nogil=True, forceinline=True)
def is_between(words: Shorts, word: np.uint64, width: int, value: int) -> bool:
    """Is a coordinate between the exact ends that begin at a word?"""
    if width == 2:
        # Ends beyond 32 bits are no ends at all.
        value = min(max(value, -(1 << 31)), (1 << 31) - 1)
        low = np.int64(words[word])
        high = np.int64(words[word + np.uint64(1)])
    else:
        low, high = long_ends(words, word)
    return low <= value <= high


@numba.njit(cache=True, nogil=True, forceinline=True)
def ends_of(
    bodies: Bodies,
    spans: Spans,
    widths: Shorts,
    columns: Shorts,
    entry: int,
    out: tuple[Ints, Ints, Ints],
) -> int:
    """Write the exact ends of an entry, as lines of a batch, lows and highs; gives how many there are.

    NO_ENDS if there are too many, or NULL is inside of some: then `is_exact` is to be asked.
    """
    lines, lows, highs = out
    word = np.uint64(bodies.word_firsts[entry])
    first, last = np.uint64(bodies.firsts[entry]), np.uint64(bodies.firsts[entry + 1])
    if last - first > WIDEST:
        return NO_ENDS
    count = 0
    for place in range(first, last):
        span = np.uint64(bodies.spans[place])
        axis = np.uint64(spans.axes[span])
        width = widths[axis]
        if width == 0:
            continue
        if spans.lows[span] == 0:
            return NO_ENDS
        lines[count] = columns[axis]
        if width == 2:
            low, high = np.int64(bodies.words[word]), np.int64(bodies.words[word + np.uint64(1)])
            # Ends beyond 32 bits are no ends at all.
            lows[count] = low if low > -(1 << 31) else LOWEST
            highs[count] = high if high < (1 << 31) - 1 else HIGHEST
        else:
            lows[count], highs[count] = long_ends(bodies.words, word)
        word += np.uint64(width)
        count += 1
    return count


@numba.njit(cache=True, nogil=True, forceinline=True)
def is_exact(bodies: Bodies, axes: Shorts, widths: Shorts, entry: int, batch: Batch, event: int) -> bool:
    """Is an event, which is in all spans of an entry, inside of the intervals too?

    `axes` are those of spans; `widths` have the axes' widths, and 0 for each test.
    """
    word = np.uint64(bodies.word_firsts[entry])
    for place in range(np.uint64(bodies.firsts[entry]), np.uint64(bodies.firsts[entry + 1])):
        axis = np.uint64(axes[np.uint64(bodies.spans[place])])
        width = widths[axis]
        if width:
            line = batch.columns[axis]
            if line >= 0 and batch.rows[event, line] != batch.bases[axis]:
                if not is_between(bodies.words, word, width, batch.values[event, line]):
                    return False
            word += np.uint64(width)
    return True


@numba.njit(cache=True, nogil=True, forceinline=True)
def ask_early(bodies: Bodies, entries: Shorts, count: int) -> None:
    """Have what settles the first of these entries at hand soon."""
    for number in range(count):
        prefetch(bodies.word_firsts, np.uint64(entries[number]))
        prefetch(bodies.slots, np.uint64(entries[number]))
    for number in range(count):
        word_first = np.uint64(bodies.word_firsts[entries[number]])
        prefetch(bodies.words, word_first)
        prefetch(bodies.words, word_first + np.uint64(LINE))


@numba.njit(cache=True, nogil=True)
def room_for(pairs: Pairs, count: int, more: int) -> Pairs:
    """The pairs, with room for some more behind the first `count`."""
    if count + more <= len(pairs.events):
        return pairs
    events = np.empty(2 * (count + more), np.int32)
    numbers = np.empty(2 * (count + more), np.int32)
    events[:count] = pairs.events[:count]
    numbers[:count] = pairs.numbers[:count]
    return Pairs(events, numbers)


@numba.njit(cache=True, nogil=True)
def verified(index: Index, batch: Batch, pairs: Pairs, count: int, memory: Memory) -> tuple[Pairs, int]:
    """Pairs of event and slot, of those pairs of event and entry that residuals and earlier entries let pass."""
    apart()
    events = len(batch.rows)
    firsts = np.zeros(events + 1, np.int64)
    for place in range(count):
        firsts[pairs.events[place] + 1] += 1
    for event in range(events):
        firsts[event + 1] += firsts[event]
    # By event, because what is known of shared formulas is known of one event at a time.
    entries = np.empty(count, np.int32)
    cursor = firsts.copy()
    for place in range(count):
        event = pairs.events[place]
        entries[cursor[event]] = pairs.numbers[place]
        cursor[event] += 1
    residuals, unless = index.bodies.residuals, index.bodies.unless
    written = 0
    for event in range(events):
        for place in range(firsts[event], firsts[event + 1]):
            entry = entries[place]
            passes = True
            for turn in range(2):
                some = residuals if turn == 0 else unless
                root = some[entry] if len(some) else NOTHING
                if passes and root != NOTHING:
                    passes = holds(index.program, root, batch, event, memory) == (turn == 0)
            if passes:
                pairs.events[written] = event
                pairs.numbers[written] = index.bodies.slots[entry]
                written += 1
    return pairs, written
