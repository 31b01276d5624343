"""The distinct predicates among leaves, by a hash table with open addressing.

Two leaves are the same predicate if they are of one kind on one axis, with the same intervals and the same result
for NULL, or if they are the same test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32
from tamis.engines.forest import PIECES, Leaves, Pieces
from tamis.kernels import kernel

_MIX = np.uint64(0x9E3779B97F4A7C15)


class DistinctPredicates(NamedTuple):
    """The predicates of some leaves.

    numbers: int32[leaves]: the predicate of a leaf; -1 for a leaf that was not given.
    examples: int32[predicates]: one leaf of each predicate.
    """

    numbers: I32
    examples: I32


def distinct_predicates(leaves: Leaves, pieces: Pieces, asked: I32) -> DistinctPredicates:
    """The distinct predicates of the leaves with these numbers, in the order of their first use."""
    return DistinctPredicates(*_distinct(leaves, pieces, asked))


@kernel
def _distinct(leaves: Leaves, pieces: Pieces, asked: I32) -> tuple[I32, I32]:
    size = 16
    while size < 2 * min(len(asked), len(leaves.kinds)):
        size *= 2
    table = np.full(size, -1, np.int32)
    numbers = np.full(len(leaves.kinds), -1, np.int32)
    examples = np.empty(len(leaves.kinds), np.int32)
    count = 0
    for at in range(len(asked)):
        leaf = asked[at]
        if numbers[leaf] >= 0:
            continue
        place = _hash(leaves, pieces, leaf) & np.uint64(size - 1)
        while table[place] >= 0 and not _same(leaves, pieces, examples[table[place]], leaf):
            place = (place + np.uint64(1)) & np.uint64(size - 1)
        if table[place] < 0:
            table[place] = count
            examples[count] = leaf
            count += 1
        numbers[leaf] = table[place]
    return numbers, examples[:count].copy()


@kernel
def _mix(state: np.uint64, value: int) -> np.uint64:
    state = (state ^ np.uint64(value)) * _MIX
    return state ^ (state >> np.uint64(29))


@kernel
def _hash(leaves: Leaves, pieces: Pieces, leaf: int) -> np.uint64:
    state = _mix(np.uint64(leaves.kinds[leaf]) * np.uint64(2) + np.uint64(leaves.nulls[leaf]), leaves.axes[leaf])
    low, high = leaves.lows[leaf], leaves.highs[leaf]
    if leaves.kinds[leaf] != PIECES:
        return _mix(_mix(state, low), high)
    for piece in range(low, high):
        state = _mix(_mix(state, pieces.lows[piece]), pieces.highs[piece])
    return state


@kernel
def _same(leaves: Leaves, pieces: Pieces, one: int, other: int) -> bool:
    if leaves.kinds[one] != leaves.kinds[other] or leaves.axes[one] != leaves.axes[other]:
        return False
    if leaves.nulls[one] != leaves.nulls[other]:
        return False
    if leaves.kinds[one] != PIECES:
        return bool(leaves.lows[one] == leaves.lows[other] and leaves.highs[one] == leaves.highs[other])
    count = leaves.highs[one] - leaves.lows[one]
    if leaves.highs[other] - leaves.lows[other] != count:
        return False
    first, second = leaves.lows[one], leaves.lows[other]
    for piece in range(count):
        if pieces.lows[first + piece] != pieces.lows[second + piece]:
            return False
        if pieces.highs[first + piece] != pieces.highs[second + piece]:
            return False
    return True
