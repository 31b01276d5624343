"""Matching from the roots downwards, which is what the filters are measured against.

Every formula is worked out from its root, a left child first and a right one only if that does not decide; a node
that was worked out for an event is not worked out again. Functions of values are not served.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.dag.functions import AND, NAND, NOR, OR, TRUE, is_inner, truth_of
from tamis.engines.dag.nodes import FREE, Graph, next_serial
from tamis.engines.dag.reporting import rows_of, with_slots_of
from tamis.engines.dynamic.predicates import Predicates, held_in, room_for_held
from tamis.engines.encoding import Encoded

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


@numba.njit(cache=True, nogil=True)
def _worked_out(graph: Graph, root: int, serial: int, path: Shorts) -> int:
    """Stamp a node and what decides it; gives how many nodes were worked out."""
    functions, lefts, rights, stamps = graph.functions, graph.lefts, graph.rights, graph.stamps
    if stamps[root] >= serial:
        return 0
    path[0] = root
    depth, visits = 1, 0
    while depth:
        node = path[depth - 1]
        function, left, right = functions[node], lefts[node], rights[node]
        if not is_inner(function):
            # Predicates that hold are stamped already.
            stamps[node] = serial + 1 if function == TRUE else serial
        elif stamps[left] < serial:
            path[depth] = left
            depth += 1
            continue
        else:
            one = stamps[left] == serial + 1
            if one:
                is_decided = function == OR or function == NOR
            else:
                is_decided = function == AND or function == NAND
            if not is_decided and stamps[right] < serial:
                path[depth] = right
                depth += 1
                continue
            other = one if is_decided else stamps[right] == serial + 1
            stamps[node] = serial + 1 if truth_of(function, one, other) else serial
        visits += 1
        depth -= 1
    return visits


@numba.njit(cache=True, nogil=True)
def match_from_roots(
    graph: Graph, predicates: Predicates, event: Encoded, tests: RowTests, with_null: Shorts
) -> tuple[Shorts, Shorts, Ints]:
    """All pairs, and the number of nodes that were worked out for each row, predicates that hold included."""
    held = room_for_held(predicates)
    path, true = np.empty(graph.highest + 1, np.int32), np.empty(graph.count, np.int32)
    stamps, slot_counts = graph.stamps, graph.slots.counts
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(event.rows, np.int64), np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        serial = next_serial(graph)
        visits, trues = 0, 0
        for place in range(held_in(predicates, event, tests, with_null, row, held)):
            leaf = graph.leaf_of[held[place]]
            if leaf >= 0:
                stamps[leaf] = serial + 1
                visits += 1
        for node in range(graph.made):
            if graph.functions[node] != FREE and slot_counts[node]:
                visits += _worked_out(graph, node, serial, path)
                if stamps[node] == serial + 1:
                    true[trues] = node
                    trues += 1
        found, count = with_slots_of(graph.slots, true[:trues], found, count)
        ends[row], visited[row] = count, visits
    return rows_of(ends, count), found[:count].copy(), visited
