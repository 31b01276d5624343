"""From true nodes to pairs.

The filters collect the true nodes that are formulas of slots, row by row, and their slots are written afterwards:
an array that may be replaced by a longer one inside of the innermost loops costs more than the loops.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import PostingLists, run_bounds, run_count


@kernel
def with_slots_of(slots: PostingLists, nodes: I32, found: I32, count: int) -> tuple[I32, int]:
    """Append the slots of nodes to `found[:count]`; returns the array, or a longer one, and the new count."""
    counts, heads, cells = slots.counts, slots.heads, slots.cells
    more = 0
    for node in nodes:
        more += counts[node]
    if count + more > len(found):
        found = grow(found, 2 * (count + more))
    for node in nodes:
        for run in range(run_count(counts, heads, cells, node)):
            start, end = run_bounds(counts, heads, cells, node, run)
            for place in range(start, end):
                found[count] = cells[place]
                count += 1
    return found, count


@kernel
def rows_of(ends: I64, count: int) -> I32:
    """int32[count]: the row of each pair; `ends` says where the pairs of each row end."""
    rows = np.empty(count, np.int32)
    start = 0
    for row in range(len(ends)):
        rows[start : ends[row]] = row
        start = ends[row]
    return rows
