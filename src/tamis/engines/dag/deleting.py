"""Taking formulas out of the graph: nodes that no other subscription uses go with them.

By the use counts, all parents of a node that nobody uses any more go in the same step; first all of them are
unlinked, then their numbers become free.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dag.nodes import HAS_SLOTS, PRIORITY, Graph, reach, release, set_priority, unlink
from tamis.engines.dynamic.bags import run_of, runs_of, take_out
from tamis.engines.dynamic.predicates import Predicates

Shorts: TypeAlias = npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def _priority_of(graph: Graph, node: int, bound: int) -> int:
    """The greatest one of a node's parents and slots, which is not above a bound."""
    found = 0
    parents, slots = graph.parents, graph.slots
    for run in range(runs_of(slots.counts, slots.heads, slots.cells, node)):
        start, end = run_of(slots.counts, slots.heads, slots.cells, node, run)
        for place in range(start, end):
            found = max(found, graph.slot_priorities[slots.cells[place]])
            if found == bound:
                return found
    for run in range(runs_of(parents.counts, parents.heads, parents.cells, node)):
        start, end = run_of(parents.counts, parents.heads, parents.cells, node, run)
        for place in range(start, end):
            found = max(found, graph.traits[parents.cells[place]] & PRIORITY)
            if found == bound:
                return found
    return found


@numba.njit(cache=True, nogil=True)
def _lower_priorities(graph: Graph, count: int, priority: int) -> None:
    """Of the nodes that were reached and may have had theirs from a slot of that priority; parents come first."""
    for level in range(graph.levels[graph.reached[0]], 0, -1):
        for place in range(count):
            node = np.int64(graph.reached[place])
            if graph.levels[node] == level and graph.uses[node] and graph.traits[node] & PRIORITY == priority:
                set_priority(graph, node, _priority_of(graph, node, priority))


@numba.njit(cache=True, nogil=True)
def delete_all(graph: Graph, predicates: Predicates, slots: Shorts) -> None:
    """Empty slots that are not."""
    for place in range(len(slots)):
        slot = np.int64(slots[place])
        root = np.int64(graph.root_of[slot])
        take_out(graph.slots, root, slot)
        if graph.slots.counts[root] == 0:
            graph.traits[root] ^= HAS_SLOTS
        graph.root_of[slot] = -1
        graph.held -= 1
        count = reach(graph, root)
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
                release(graph, predicates, np.int64(node))
    while graph.highest and graph.populations[graph.highest] == 0:
        graph.highest -= 1
