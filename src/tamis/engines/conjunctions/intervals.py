"""The leaves of a forest as lists of closed intervals, whether they have one or several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.forest import PIECES, TEST, Leaves, Pieces
from tamis.engines.forest.axes import HIGHEST, LOWEST
from tamis.interpretation import Allowance
from tamis.kernels import kernel

_allowance = Allowance(to_load=2_000, to_compile=200_000)
"""Of leaves that are listed without kernels."""


class LeafIntervals(NamedTuple):
    """Those of the i-th leaf are `[firsts[i], firsts[i + 1])`, disjoint and sorted, both ends inside."""

    firsts: I64
    lows: I64
    highs: I64


def intervals_of(leaves: Leaves, pieces: Pieces, asked: I32) -> LeafIntervals:
    """The intervals of the leaves with these numbers; a test has the interval of all values."""
    return LeafIntervals(*_allowance.choose(_intervals, len(asked) + len(pieces.lows))(leaves, pieces, asked))


@kernel
def _intervals(leaves: Leaves, pieces: Pieces, asked: I32) -> tuple[I64, I64, I64]:
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
