"""Hit counters: a byte for each term or subscription, counted down from the hits that it needs.

    needed    2 3 1 2        between events, counters equal `needed`
    counters  2 3 1 2  --hit on 0, 2, 0-->  0 3 0 2        2 and 0 reached zero: they are reported once, in passing

Counting down makes the comparison with `needed` a comparison with zero and finds a candidate at its last hit,
without a pass over all counters. After an event only the counters that were hit are restored, or all of them by
one copy where that is cheaper (`COPY_SHARE`).
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, U8
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import PostingLists, run_bounds, run_count

COPY_SHARE = 32
"""Restoring one counter costs as much as copying this many in a row."""


@kernel
def count_down(cells: I32, start: int, end: int, counters: U8, found: I32, count: int) -> int:
    """Count a hit for each posting of a run; append those that reach zero to `found`. Returns its length."""
    for place in range(start, end):
        number = np.uint32(cells[place])
        left = counters[number] - np.uint8(1)
        counters[number] = left
        if left == 0:
            found[count] = number
            count += 1
    return count


@kernel
def restore_counters(lists: PostingLists, which: int, counters: U8, needed: U8) -> None:
    """Reset the counters of the postings of a list."""
    counts, heads, cells = lists.counts, lists.heads, lists.cells
    for run in range(run_count(counts, heads, cells, which)):
        start, end = run_bounds(counts, heads, cells, which, run)
        for place in range(start, end):
            counters[cells[place]] = needed[cells[place]]
