"""Counters of hits: a byte each, counted down from what is needed, and set again after an event."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.bags import Bags, run_of, runs_of

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]

COPY_SHARE = 32
"""Setting one counter after another costs as much as copying so many of them in a row."""


@numba.njit(cache=True, nogil=True)
def count_down(cells: Shorts, start: int, end: int, counters: Bytes, found: Shorts, count: int) -> int:
    """A hit for each number of a run; those that need no more go to `found`, which has `count` by now."""
    for place in range(start, end):
        number = np.uint32(cells[place])
        left = counters[number] - np.uint8(1)
        counters[number] = left
        if left == 0:
            found[count] = number
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def restore(bags: Bags, bag: int, counters: Bytes, needed: Bytes) -> None:
    """Set the counters of the numbers of a bag."""
    counts, heads, cells = bags.counts, bags.heads, bags.cells
    for run in range(runs_of(counts, heads, cells, bag)):
        start, end = run_of(counts, heads, cells, bag, run)
        for place in range(start, end):
            counters[cells[place]] = needed[cells[place]]
