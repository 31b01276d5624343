"""The filter `true-value-path`: what is true is followed up to its parents at once; for AND and OR only.

The first true child stamps its parent with the event; an OR is true then. The second one finds the stamp; an AND
is true then. Since both children are different nodes and each is followed once, a node becomes true at most once.
Nothing is reset, and what is false costs nothing.

With priorities, a node of a lower one waits until all of a higher one have been followed.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.dag.nodes import HAS_SLOTS, IS_OR, PRIORITIES, PRIORITY, Graph, next_serial
from tamis.engines.dag.reporting import rows_of, with_slots_of
from tamis.engines.dynamic.bags import numbers_in, run_of, runs_of
from tamis.engines.dynamic.predicates import Predicates, held_in, room_for_held
from tamis.engines.encoding import Encoded

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class _Room(NamedTuple):
    """Room for the nodes of one event, each as long as there are nodes.

    path: those that are true and not followed yet.
    waiting: those that are true and wait for their priority's turn.
    true: those that are true and have slots.
    """

    path: Shorts
    waiting: Shorts
    true: Shorts


@numba.njit(cache=True, nogil=True)
def _follow(graph: Graph, serial: int, wait: int, room: _Room) -> tuple[int, int]:
    """Follow the nodes that wait; gives how many with slots are true, and how many were stamped."""
    stamps, traits = graph.stamps, graph.traits
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    path, waiting, true = room.path, room.waiting, room.true
    count, visits = 0, wait
    for priority in range(PRIORITIES - 1, -1, -1):
        if graph.by_priority[priority] == 0:
            continue
        depth, later = 0, 0
        for place in range(wait):
            if traits[waiting[place]] & PRIORITY == priority:
                path[depth] = waiting[place]
                depth += 1
            else:
                waiting[later] = waiting[place]
                later += 1
        wait = later
        while depth:
            depth -= 1
            node = path[depth]
            if traits[node] & HAS_SLOTS:
                true[count] = node
                count += 1
            for run in range(runs_of(counts, heads, cells, node)):
                start, end = run_of(counts, heads, cells, node, run)
                for place in range(start, end):
                    parent = cells[place]
                    is_second = stamps[parent] == serial
                    if not is_second:
                        stamps[parent] = serial
                        visits += 1
                    trait = traits[parent]
                    if is_second != (trait & IS_OR != 0):
                        if trait & PRIORITY == priority:
                            path[depth] = parent
                            depth += 1
                        else:
                            waiting[wait] = parent
                            wait += 1
    return count, visits


@numba.njit(cache=True, nogil=True)
def match_by_paths(
    graph: Graph, predicates: Predicates, event: Encoded, tests: RowTests, with_null: Shorts
) -> tuple[Shorts, Shorts, Ints]:
    """All pairs, and the number of nodes that were stamped for each row."""
    held = room_for_held(predicates)
    seeds = numbers_in(graph.seeds, 0)
    room = _Room(np.empty(graph.count, np.int32), np.empty(graph.count, np.int32), np.empty(graph.count, np.int32))
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(event.rows, np.int64), np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        serial = next_serial(graph)
        wait = 0
        for place in range(held_in(predicates, event, tests, with_null, row, held)):
            leaf = graph.leaf_of[held[place]]
            if leaf >= 0:
                room.waiting[wait] = leaf
                wait += 1
        for node in seeds:
            room.waiting[wait] = node
            wait += 1
        true, visited[row] = _follow(graph, serial, wait, room)
        found, count = with_slots_of(graph.slots, room.true[:true], found, count)
        ends[row] = count
    return rows_of(ends, count), found[:count].copy(), visited
