"""Lists of conjunctions by one of their leaves, the access leaf, for axes and tests without bitmaps.

A conjunction in a list fails unless its access leaf holds: the event has a value on the leaf's axis that satisfies
it, or passes its test. A leaf that holds where the axis is NULL cannot be an access leaf, for no value leads to
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8, U32, U64
from tamis.engines.array_kernels import group_by_number
from tamis.engines.conjunctions.dnf import UNSURE, Conjunctions
from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Leaves, Pieces
from tamis.kernels import kernel

LINE_WORDS = 8
"""Words of a cache line."""


class AccessLists(NamedTuple):
    """Group g is `[firsts[g], firsts[g + 1])`; first one group an axis, then one a test.

    conjunctions: uint32[entries].
    lows, highs: int64[entries]: where the access leaf holds; one entry an interval.
    start: uint64[words]: the bits of all conjunctions in lists, and of the padding.
    """

    firsts: I64
    conjunctions: U32
    lows: I64
    highs: I64
    start: U64


def build_access_lists(
    leaves: Leaves, pieces: Pieces, conjunctions: Conjunctions, has_cells: U8, loads: I64, test_count: int
) -> tuple[AccessLists, U8]:
    """The lists, and the flags of the conjunctions: UNSURE also if some leaf is in neither a list nor a bitmap.

    Args:
        leaves: All leaves.
        pieces: Theirs.
        conjunctions: Those with a leaf on an axis without cells, or with a test, get into a list.
        has_cells: uint8[axes + 1]: 1 for the axes that have bitmaps; the last is for tests, which have axis -1.
        loads: int64[axes]: how many leaves of conjunctions are on each axis.
        test_count: How many tests there are.
    """
    test_leaves = conjunctions.leaves[leaves.kinds[conjunctions.leaves] == TEST]
    test_loads = np.bincount(leaves.lows[test_leaves], minlength=test_count)
    words = padded_words(len(conjunctions.slots))
    start, flags = np.zeros(words, np.uint64), conjunctions.flags.copy()
    chosen = _choose_access_leaves(leaves, conjunctions, has_cells, loads, test_loads, start, flags)
    under = np.flatnonzero(chosen >= 0).astype(np.int32)
    axes, lows = leaves.axes[chosen[under]], leaves.lows[chosen[under]]
    firsts, order = group_by_number(
        np.where(axes >= 0, axes, len(loads) + lows).astype(np.int32), len(loads) + test_count
    )
    under = under[order]
    intervals = intervals_of(leaves, pieces, chosen[under])
    entries = np.repeat(under, np.diff(intervals.firsts)).astype(np.uint32)
    return AccessLists(intervals.firsts[firsts], entries, intervals.lows, intervals.highs, start), flags


def padded_words(conjunctions: int) -> int:
    """Words of a bitmap, rounded up to whole cache lines."""
    return -(-conjunctions // (64 * LINE_WORDS)) * LINE_WORDS


@kernel
def _choose_access_leaves(
    leaves: Leaves,
    conjunctions: Conjunctions,
    has_cells: U8,
    loads: I64,
    test_loads: I64,
    start: U64,
    flags: U8,
) -> I32:
    """The access leaf of each conjunction, the least used of those without a bitmap; -1 if there is none."""
    chosen = np.full(len(conjunctions.slots), -1, np.int32)
    for conjunction in range(len(chosen)):
        others, least = 0, 0
        for at in range(conjunctions.firsts[conjunction], conjunctions.firsts[conjunction + 1]):
            leaf = conjunctions.leaves[at]
            if has_cells[leaves.axes[leaf]]:
                continue
            others += 1
            if leaves.nulls[leaf]:
                continue  # it may hold without any value
            load = loads[leaves.axes[leaf]] if leaves.axes[leaf] >= 0 else test_loads[leaves.lows[leaf]]
            if chosen[conjunction] < 0 or load < least:
                chosen[conjunction], least = leaf, load
        if chosen[conjunction] >= 0:
            start[conjunction >> 6] |= np.uint64(1) << np.uint64(conjunction & 63)
            others -= 1
        if others:
            flags[conjunction] |= UNSURE
    for padding in range(len(chosen), 64 * len(start)):
        start[padding >> 6] |= np.uint64(1) << np.uint64(padding & 63)
    return chosen
