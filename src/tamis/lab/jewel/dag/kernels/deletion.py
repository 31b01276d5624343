"""Deletion (thesis, 3.6.1): the nodes that no other subscription uses go with a formula.

By the use counts, all parents of an unused node are unused in the same step: first all of them are unlinked, then
their numbers are freed.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import remove_posting, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates
from tamis.lab.jewel.dag.kernels.nodes import (
    HAS_SLOTS,
    PRIORITY,
    Graph,
    collect_nodes,
    free_node,
    set_priority,
    unlink,
)


@kernel
def _priority_of(graph: Graph, node: int, bound: int) -> int:
    """The greatest priority of the parents and slots of a node, known not to exceed `bound`."""
    found = 0
    parents, slots = graph.parents, graph.slots
    for run in range(run_count(slots.counts, slots.heads, slots.cells, node)):
        start, end = run_bounds(slots.counts, slots.heads, slots.cells, node, run)
        for place in range(start, end):
            found = max(found, graph.slot_priorities[slots.cells[place]])
            if found == bound:
                return found
    for run in range(run_count(parents.counts, parents.heads, parents.cells, node)):
        start, end = run_bounds(parents.counts, parents.heads, parents.cells, node, run)
        for place in range(start, end):
            found = max(found, graph.traits[parents.cells[place]] & PRIORITY)
            if found == bound:
                return found
    return found


@kernel
def _lower_priorities(graph: Graph, count: int, priority: int) -> None:
    """Recompute the priorities of the collected nodes that may have had theirs from the deleted slot, top down."""
    for level in range(graph.levels[graph.reached[0]], 0, -1):
        for place in range(count):
            node = np.int64(graph.reached[place])
            if graph.levels[node] == level and graph.uses[node] and graph.traits[node] & PRIORITY == priority:
                set_priority(graph, node, _priority_of(graph, node, priority))


@kernel
def delete_all(graph: Graph, predicates: Predicates, slots: I32) -> None:
    """Empty slots that hold formulas."""
    for place in range(len(slots)):
        slot = np.int64(slots[place])
        root = np.int64(graph.root_of[slot])
        remove_posting(graph.slots, root, slot)
        if graph.slots.counts[root] == 0:
            graph.traits[root] ^= HAS_SLOTS
        graph.root_of[slot] = -1
        graph.held -= 1
        count = collect_nodes(graph, root)
        reached, uses = graph.reached, graph.uses
        for node in reached[:count]:
            uses[node] -= 1
        for node in reached[:count]:
            if uses[node] == 0:
                unlink(graph, predicates, np.int64(node))
        if graph.slot_priorities[slot]:
            _lower_priorities(graph, count, np.int64(graph.slot_priorities[slot]))
        for node in reached[:count]:
            if uses[node] == 0:
                free_node(graph, predicates, np.int64(node))
    while graph.highest and graph.populations[graph.highest] == 0:
        graph.highest -= 1
