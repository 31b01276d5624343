"""How the true nodes become pairs.

Filters collect the true nodes that are formulas of slots, row by row; their slots are written then. So the arrays
of the innermost loops are never replaced by longer ones there, which would cost more than the loops.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.bags import Bags, run_of, runs_of
from tamis.engines.grouping import grown

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def with_slots_of(slots: Bags, nodes: Shorts, found: Shorts, count: int) -> tuple[Shorts, int]:
    """Write the slots of nodes behind what was found; gives a longer array if need be, and how many there are."""
    counts, heads, cells = slots.counts, slots.heads, slots.cells
    more = 0
    for node in nodes:
        more += counts[node]
    if count + more > len(found):
        found = grown(found, 2 * (count + more))
    for node in nodes:
        for run in range(runs_of(counts, heads, cells, node)):
            start, end = run_of(counts, heads, cells, node, run)
            for place in range(start, end):
                found[count] = cells[place]
                count += 1
    return found, count


@numba.njit(cache=True, nogil=True)
def rows_of(ends: Ints, count: int) -> Shorts:
    """The row of each pair, from where the pairs of each row end."""
    rows = np.empty(count, np.int32)
    start = 0
    for row in range(len(ends)):
        rows[start : ends[row]] = row
        start = ends[row]
    return rows
