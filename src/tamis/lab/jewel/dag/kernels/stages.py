"""Stages of matching (thesis, 4.4), each of which another thread may run, on another event.

    rows --> phase 1 --> true leaves --> levels 2 to c --> true nodes that matter above --> levels c + 1 up --> ...

The thesis lets the next event use a level as soon as it is drained for the last one. A node has one result
there, and
a parent may stand several levels above its child: the next event would overwrite results that are still to be
    read. So a stage has stamps of its own, and hands on the true nodes that have parents above it. Only true
    results are handed on, as zero suppression does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.array_kernels import grow
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import RowTests
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import postings_in, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates, satisfied_buffer, satisfied_in
from tamis.lab.jewel.dag.kernels.functions import combine
from tamis.lab.jewel.dag.kernels.nodes import HAS_SLOTS, Graph, next_serial
from tamis.lab.jewel.dag.kernels.pairs import rows_of, with_slots_of
from tamis.lab.jewel.dag.kernels.true_value_path import PathScratch, propagate


class TrueNodes(NamedTuple):
    """The true nodes of row r are `nodes[firsts[r]:firsts[r + 1]]`."""

    firsts: I64
    nodes: I32


class LevelStage(NamedTuple):
    """What a stage of levels owns.

    lowest, highest: the levels.
    reach: int32[nodes]: the highest level of a parent, 0 if there is none.
    serial: int64[1]: of the last event.
    stamps: int32[nodes]: the serial number of the event that visited a node, one more where it is true.
    firsts, following: int32[levels + 1], int32[nodes]: the queues.
    true: int32[nodes]: true nodes with slots.
    visits: int64[levels + 1]: nodes visited so far.
    """

    lowest: int
    highest: int
    reach: I32
    serial: I64
    stamps: I32
    firsts: I32
    following: I32
    true: I32
    visits: I64


@kernel
def reach_of(graph: Graph) -> I32:
    """int32[nodes]: the highest level of a parent, 0 if there is none."""
    found = np.zeros(graph.made, np.int32)
    for node in range(graph.made):
        for parent in postings_in(graph.parents, node):
            found[node] = max(found[node], graph.levels[parent])
    return found


@kernel
def phase_one(
    graph: Graph, predicates: Predicates, event: EncodedBatch, tests: RowTests, with_null: I32, rows: I64
) -> TrueNodes:
    """The leaves that hold in some rows, and the nodes that always do."""
    held, seeds = satisfied_buffer(predicates), postings_in(graph.seeds, 0)
    firsts, nodes, count = np.zeros(len(rows) + 1, np.int64), np.empty(1024, np.int32), 0
    for at, row in enumerate(rows):
        satisfied = satisfied_in(predicates, event, tests, with_null, row, held)
        if count + satisfied + len(seeds) > len(nodes):
            nodes = grow(nodes, 2 * (count + satisfied + len(seeds)))
        for place in range(satisfied):
            nodes[count] = graph.leaf_of[held[place]]
            count += 1
        for node in seeds:
            nodes[count] = node
            count += 1
        firsts[at + 1] = count
    return TrueNodes(firsts, nodes[:count].copy())


@kernel
def phase_two(graph: Graph, given: TrueNodes) -> tuple[I32, I32]:
    """Rows and slots of all pairs, by true value paths from the leaves."""
    room = PathScratch(
        np.empty(graph.count, np.int32), np.empty(graph.count, np.int32), np.empty(graph.count, np.int32)
    )
    found, count = np.empty(1024, np.int32), 0
    ends = np.zeros(len(given.firsts) - 1, np.int64)
    for row in range(len(ends)):
        leaves = given.nodes[given.firsts[row] : given.firsts[row + 1]]
        room.waiting[: len(leaves)] = leaves
        true, _ = propagate(graph, next_serial(graph), len(leaves), room)
        found, count = with_slots_of(graph.slots, room.true[:true], found, count)
        ends[row] = count
    return rows_of(ends, count), found[:count].copy()


@kernel
def run_levels(graph: Graph, stage: LevelStage, given: TrueNodes) -> tuple[I32, I32, TrueNodes]:
    """Rows and slots of the pairs that the levels of a stage find, and the true nodes for the next stage.

    The first stage also reports the leaves that it is given.
    """
    functions, lefts, rights, levels = graph.functions, graph.lefts, graph.rights, graph.levels
    traits, reach, stamps, queued, following = (
        graph.traits,
        stage.reach,
        stage.stamps,
        stage.firsts,
        stage.following,
    )
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    lowest, highest = stage.lowest, stage.highest
    found, count = np.empty(1024, np.int32), 0
    rows = len(given.firsts) - 1
    ends = np.zeros(rows, np.int64)
    firsts, out, written = np.zeros(rows + 1, np.int64), np.empty(1024, np.int32), 0
    for row in range(rows):
        stage.serial[0] += 2
        serial = stage.serial[0]
        arriving = given.nodes[given.firsts[row] : given.firsts[row + 1]]
        if written + graph.count > len(out):
            out = grow(out, 2 * (written + graph.count))
        true = 0
        # Arriving nodes are true. They make a queue of their own, below all levels of this stage.
        node = -1
        for leaf in arriving:
            stamps[leaf] = serial
            following[leaf], node = node, leaf
        for level in range(lowest - 1, highest + 1):
            if level >= lowest:
                node, queued[level] = queued[level], -1
            while node >= 0:
                if level < lowest:
                    is_true = True
                else:
                    stage.visits[level] += 1
                    left, right = stamps[lefts[node]] == serial + 1, stamps[rights[node]] == serial + 1
                    is_true = combine(functions[node], left, right)
                if is_true:
                    stamps[node] = serial + 1
                    if traits[node] & HAS_SLOTS and (level >= lowest or lowest == 2):
                        stage.true[true] = node
                        true += 1
                    if reach[node] > highest:
                        out[written] = node
                        written += 1
                    for run in range(run_count(counts, heads, cells, node)):
                        start, end = run_bounds(counts, heads, cells, node, run)
                        for place in range(start, end):
                            parent = cells[place]
                            at = levels[parent]
                            if lowest <= at <= highest and stamps[parent] < serial:
                                stamps[parent] = serial
                                following[parent], queued[at] = queued[at], parent
                node = following[node]
        found, count = with_slots_of(graph.slots, stage.true[:true], found, count)
        ends[row], firsts[row + 1] = count, written
    return rows_of(ends, count), found[:count].copy(), TrueNodes(firsts, out[:written].copy())
