"""Equal leaves found: every leaf gets the number of the predicate that it says.

Two leaves say the same when they are of one kind about one axis, with the same ends or pieces and the same answer
for NULL, or when they are the same test.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import PIECES, Leaves, Pieces

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Distinct(NamedTuple):
    """The predicates of some leaves.

    numbers: int32[leaves]: the predicate of a leaf; -1 for a leaf that was not asked about.
    examples: int32[predicates]: a leaf that says it.
    """

    numbers: Shorts
    examples: Shorts


def distinct_of(leaves: Leaves, pieces: Pieces, asked: Shorts) -> Distinct:
    """The distinct predicates of the leaves with these numbers, in the order of their first use."""
    return Distinct(*_distinct(leaves, pieces, asked))


@numba.njit(cache=True, nogil=True)
def _distinct(leaves: Leaves, pieces: Pieces, asked: Shorts) -> tuple[Shorts, Shorts]:
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


@numba.njit(cache=True, nogil=True)
def _mixed(state: np.uint64, value: int) -> np.uint64:
    state = (state ^ np.uint64(value)) * _MIX
    return state ^ (state >> np.uint64(29))


@numba.njit(cache=True, nogil=True)
def _hash(leaves: Leaves, pieces: Pieces, leaf: int) -> np.uint64:
    state = _mixed(np.uint64(leaves.kinds[leaf]) * np.uint64(2) + np.uint64(leaves.nulls[leaf]), leaves.axes[leaf])
    low, high = leaves.lows[leaf], leaves.highs[leaf]
    if leaves.kinds[leaf] != PIECES:
        return _mixed(_mixed(state, low), high)
    for piece in range(low, high):
        state = _mixed(_mixed(state, pieces.lows[piece]), pieces.highs[piece])
    return state


@numba.njit(cache=True, nogil=True)
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
