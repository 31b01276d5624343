"""Residuals are ANDs, guards are ORs, and one part alone needs no node."""

from __future__ import annotations

import numpy as np

from tamis.engines.bitslice.kernels.entries import WrittenEntries
from tamis.engines.bitslice.kernels.placement import PlacedFormulas, Placements
from tamis.engines.bitslice.kernels.residuals import NewNodes, residual_nodes
from tamis.engines.bitslice.layout import NO_NODE, EntryArrays

NONE = np.empty(0, np.int32)


def test_nodes_of_four_entries() -> None:
    """Slot 0 has a cover of three leaves, 7 8 9, and an earlier disjunct, node 5; slot 1 has neither."""
    slots = np.array([0, 0, 0, 1], np.int32)
    earlier = np.array([0, 1, 2, 0], np.int32)
    ints = np.zeros(4, np.int64)
    placements = Placements(slots, slots.astype(np.uint8), slots, ints, ints, slots, earlier)
    covers, cover_firsts = np.array([7, 8, 9], np.int32), np.array([0, 3, 3])
    entries = EntryArrays(slots, NONE, np.empty(0, np.uint16), NONE, NONE, NONE, NONE)
    # Entry 0 has no residual part, entry 1 has leaf 4, entry 2 has nodes 1 and 2, entry 3 has node 3.
    residual_parts = np.array([~4, 1, 2, 3], np.int32)
    written = WrittenEntries(entries, np.arange(4), np.array([0, 0, 1, 3, 4]), residual_parts)
    new = NewNodes(np.zeros(12, np.int32), np.zeros(12, np.int64), np.zeros(20, np.int32))
    residuals, guards = np.zeros(4, np.int64), np.zeros(4, np.int64)
    placed = PlacedFormulas(placements, covers, cover_firsts, np.empty(0))
    nodes, edges = residual_nodes(written, placed, np.array([5, NO_NODE]), 10, new, residuals, guards)
    ends = [0, *new.ends[:nodes].tolist()]
    assert edges == ends[-1]
    made = {
        10 + node: (int(new.least[node]), new.children[ends[node] : ends[node + 1]].tolist())
        for node in range(nodes)
    }
    assert residuals[[0, 1, 3]].tolist() == [NO_NODE, ~4, 3]
    assert made[int(residuals[2])] == (2, [1, 2])
    assert guards[[0, 3]].tolist() == [5, NO_NODE]
    assert made[int(guards[1])] == (1, [5, ~7])
    least, (disjunct, cover) = made[int(guards[2])]
    assert (least, disjunct, made[cover]) == (1, 5, (1, [~7, ~8]))
