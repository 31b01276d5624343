"""The filter `true-value-path` (thesis, 3.5.2), for AND and OR: true nodes propagate to their parents depth first.

The first true child stamps its parent with the event, and an OR is true then. The second one finds the stamp, and
an AND is true then. The children are different nodes and each propagates once, so a node becomes true at most
once. There are no queues, nothing is reset, and false nodes cost nothing.

A true node of a lower priority waits until all of the higher ones have propagated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import RowTests
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import postings_in, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates, satisfied_buffer, satisfied_in
from tamis.lab.jewel.dag.kernels.nodes import HAS_SLOTS, IS_OR, PRIORITIES, PRIORITY, Graph, next_serial
from tamis.lab.jewel.dag.kernels.pairs import rows_of, with_slots_of


class PathScratch(NamedTuple):
    """Scratch space for one event: int32[nodes] each.

    path: the stack of true nodes that have not propagated yet.
    waiting: true nodes of lower priorities.
    true: true nodes that have slots.
    """

    path: I32
    waiting: I32
    true: I32


@kernel
def propagate(graph: Graph, serial: int, wait: int, room: PathScratch) -> tuple[int, int]:
    """Propagate the waiting nodes; returns how many nodes with slots are true, and how many were stamped."""
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
            for run in range(run_count(counts, heads, cells, node)):
                start, end = run_bounds(counts, heads, cells, node, run)
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


@kernel
def match_by_paths(
    graph: Graph, predicates: Predicates, event: EncodedBatch, tests: RowTests, with_null: I32
) -> tuple[I32, I32, I64]:
    """Rows and slots of all pairs, and int64[rows]: how many nodes were stamped."""
    held = satisfied_buffer(predicates)
    seeds = postings_in(graph.seeds, 0)
    room = PathScratch(
        np.empty(graph.count, np.int32), np.empty(graph.count, np.int32), np.empty(graph.count, np.int32)
    )
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(event.rows, np.int64), np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        serial = next_serial(graph)
        wait = 0
        for place in range(satisfied_in(predicates, event, tests, with_null, row, held)):
            leaf = graph.leaf_of[held[place]]
            if leaf >= 0:
                room.waiting[wait] = leaf
                wait += 1
        for node in seeds:
            room.waiting[wait] = node
            wait += 1
        true, visited[row] = propagate(graph, serial, wait, room)
        found, count = with_slots_of(graph.slots, room.true[:true], found, count)
        ends[row] = count
    return rows_of(ends, count), found[:count].copy(), visited
