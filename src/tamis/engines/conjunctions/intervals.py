"""What leaves ask, as lists of closed intervals, whether they have one or several."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import PIECES, TEST, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Intervals(NamedTuple):
    """Those of the i-th leaf are `[firsts[i], firsts[i + 1])`, disjoint and rising, ends inside."""

    firsts: Ints
    lows: Ints
    highs: Ints


def intervals_of(leaves: Leaves, pieces: Pieces, asked: Shorts) -> Intervals:
    """The intervals of the leaves with these numbers; of a test everything, as if on an axis of its own."""
    return Intervals(*_intervals(leaves, pieces, asked))


@numba.njit(cache=True, nogil=True)
def _intervals(leaves: Leaves, pieces: Pieces, asked: Shorts) -> tuple[Ints, Ints, Ints]:
    firsts = np.zeros(len(asked) + 1, np.int64)
    for place in range(len(asked)):
        leaf = asked[place]
        count = 1
        if leaves.kinds[leaf] == PIECES:
            count = leaves.highs[leaf] - leaves.lows[leaf]
        elif leaves.kinds[leaf] != TEST and leaves.lows[leaf] > leaves.highs[leaf]:
            count = 0
        firsts[place + 1] = firsts[place] + count
    lows, highs = np.empty(firsts[-1], np.int64), np.empty(firsts[-1], np.int64)
    for place in range(len(asked)):
        leaf = asked[place]
        first = firsts[place]
        for at in range(first, firsts[place + 1]):
            if leaves.kinds[leaf] == PIECES:
                piece = leaves.lows[leaf] + at - first
                lows[at], highs[at] = pieces.lows[piece], pieces.highs[piece]
            elif leaves.kinds[leaf] == TEST:
                lows[at], highs[at] = LOWEST, HIGHEST
            else:
                lows[at], highs[at] = leaves.lows[leaf], leaves.highs[leaf]
    return firsts, lows, highs
