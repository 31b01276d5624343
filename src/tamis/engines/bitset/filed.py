"""Conjunctions filed under one leaf each: what `marks` has no bitset for.

A filed conjunction fails unless the event brings up its leaf: has a value on the leaf's axis that satisfies it, or
passes its test. A leaf that holds where the axis is NULL is of no use for that.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.dnf import UNSURE, Conjunctions
from tamis.engines.conjunctions.intervals import intervals_of
from tamis.engines.forest import TEST, Leaves, Pieces
from tamis.engines.grouping import grouped

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Numbers: TypeAlias = npt.NDArray[np.uint32]
Words: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

LINE_WORDS = 8
"""Words of a cache line."""


class Filed(NamedTuple):
    """The lists: group g is `[firsts[g], firsts[g + 1])`; there is a group an axis and, behind those, a test.

    conjunctions: uint32[...].
    lows, highs: int64[...]: from where to where the leaf holds; one entry an interval.
    start: uint64[words]: the bits of all filed conjunctions, and of the padding.
    """

    firsts: Ints
    conjunctions: Numbers
    lows: Ints
    highs: Ints
    start: Words


def filed_of(
    leaves: Leaves, pieces: Pieces, conjunctions: Conjunctions, has_cells: Bytes, loads: Ints, test_count: int
) -> tuple[Filed, Bytes]:
    """The lists, and the flags of the conjunctions: UNSURE also if neither list nor bitset speaks of some leaf.

    Args:
        leaves: All leaves.
        pieces: Theirs.
        conjunctions: To be filed, if they have a leaf on an axis without cells.
        has_cells: uint8[axes + 1]: 1 for the axes that have bitsets; the last is for tests, which have axis -1.
        loads: int64[axes]: how many leaves of conjunctions are on each axis.
        test_count: How many tests there are.
    """
    test_leaves = conjunctions.leaves[leaves.kinds[conjunctions.leaves] == TEST]
    test_loads = np.bincount(leaves.lows[test_leaves], minlength=test_count)
    words = padded_words(len(conjunctions.slots))
    start, flags = np.zeros(words, np.uint64), conjunctions.flags.copy()
    chosen = _choose(leaves, conjunctions, has_cells, loads, test_loads, start, flags)
    under = np.flatnonzero(chosen >= 0).astype(np.int32)
    axes, lows = leaves.axes[chosen[under]], leaves.lows[chosen[under]]
    firsts, order = grouped(np.where(axes >= 0, axes, len(loads) + lows).astype(np.int32), len(loads) + test_count)
    under = under[order]
    intervals = intervals_of(leaves, pieces, chosen[under])
    entries = np.repeat(under, np.diff(intervals.firsts)).astype(np.uint32)
    return Filed(intervals.firsts[firsts], entries, intervals.lows, intervals.highs, start), flags


def padded_words(conjunctions: int) -> int:
    """Words of a bitset: whole cache lines."""
    return -(-conjunctions // (64 * LINE_WORDS)) * LINE_WORDS


@numba.njit(cache=True, nogil=True)
def _choose(
    leaves: Leaves,
    conjunctions: Conjunctions,
    has_cells: Bytes,
    loads: Ints,
    test_loads: Ints,
    start: Words,
    flags: Bytes,
) -> Shorts:
    """The leaf that each conjunction is filed under, or -1: the rarest of those that have no bitset."""
    chosen = np.full(len(conjunctions.slots), -1, np.int32)
    for conjunction in range(len(chosen)):
        others, least = 0, 0
        for at in range(conjunctions.firsts[conjunction], conjunctions.firsts[conjunction + 1]):
            leaf = conjunctions.leaves[at]
            if has_cells[leaves.axes[leaf]]:
                continue
            others += 1
            if leaves.nulls[leaf]:
                continue  # holds where the event brings up nothing
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
