"""BatchSearch (paper, section 3): several events at once, shortest job first.

All events walk down the tree together to a level (the root is level 1, leaves are the last). The nodes that an
event reaches there are its item of the workload table, and their number, or the number of boxes below them, is its
workload. Then each event is searched for from its nodes on, by rising workload, in the order of arrival among
equals. No box is tested twice. An event that reaches no node is answered first. At level 1 the estimate tests
nothing, and this is the search in the order of arrival.

    level 1   root: e1 e2 e3              one intersect buffer for each level: which events reach each entry
    level 2   n1: e1 e3   n2: e3          workloads e1 = 1, e2 = 0, e3 = 2: answered in the order e2, e1, e3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.array_kernels import group_by_number, grow
from tamis.kernels import kernel
from tamis.lab.wang.rtree.kernels.point_query import inside, search_on
from tamis.lab.wang.rtree.kernels.tree import RtreeNodes, height_of


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """The workload table of n events.

    Attributes:
        workloads: int64[n]: the expected cost of each event.
        order: int32[n]: the events in the order of the search.
        firsts: int64[n + 1]: where the nodes of each event begin.
        nodes: int32[...]: the nodes at which searches begin.
        tests: int64[n]: the tests of each event during the estimate.
        visits: The nodes visited by the estimate; events share a visit.
    """

    workloads: I64
    order: I32
    firsts: I64
    nodes: I32
    tests: I64
    visits: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The pairs of n events, and what they cost.

    Attributes:
        rows: int32[pairs]: events, in the order in which they were answered.
        payloads: int32[pairs]: the payloads of the boxes around them.
        table: The workload table.
        tests: int64[n]: the tests of each event after the estimate.
        visits: int64[n]: the visits of each event after the estimate.
    """

    rows: I32
    payloads: I32
    table: WorkloadTable
    tests: I64
    visits: I64

    @property
    def responses(self) -> I64:
        """int64[n]: tests from the start of the batch until each event was answered."""
        responses = np.empty_like(self.tests)
        responses[self.table.order] = self.table.tests.sum() + np.cumsum(self.tests[self.table.order])
        return responses


def batch_search(
    tree: RtreeNodes, events: I64, level: int, *, weighted: bool = False, pruned: bool = True
) -> BatchResult:
    """All boxes around each of several points, the cheapest points first.

    Args:
        tree: The R-tree.
        events: int64[n, dimensions].
        level: How deep the estimate goes; clamped to the levels of the tree.
        weighted: Whether a node counts as the boxes below it, instead of one.
        pruned: Whether the estimate skips nodes that no event reaches; the paper's does not.
    """
    table = estimate(tree, events, level, weighted=weighted, pruned=pruned)
    rows, payloads, tests, visits = _search_in_order(tree, events, table.order, table.firsts, table.nodes)
    return BatchResult(rows, payloads, table, tests, visits)


def estimate(
    tree: RtreeNodes, events: I64, level: int, *, weighted: bool = False, pruned: bool = True
) -> WorkloadTable:
    """The workload table, valid until the tree changes; the arguments are those of `batch_search`."""
    deepest = min(max(level, 1), height_of(tree))
    return WorkloadTable(*_estimate(tree, events, deepest, weighted, pruned))


@kernel
def _estimate(
    tree: RtreeNodes, events: I64, deepest: int, weighted: bool, pruned: bool
) -> tuple[I64, I32, I64, I32, I64, int]:
    count = len(events)
    workloads, tests, visits = np.zeros(count, np.int64), np.zeros(count, np.int64), 0
    # One intersect buffer for each level is enough: that of a child is read to its end before its next sibling
    # overwrites it.
    reached = np.empty((deepest + 1, tree.stride, count), np.int32)
    reaching = np.zeros((deepest + 1, tree.stride), np.int32)
    path, nexts = np.empty(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
    # Level 0 has one entry: the root, which all events reach.
    reached[0, 0], reaching[0, 0] = np.arange(count), count
    path[0] = -1
    record_events, record_nodes, recorded = np.empty(count, np.int32), np.empty(count, np.int32), 0
    level = 0
    while level >= 0:
        place = nexts[level]
        if place == (1 if level == 0 else tree.sizes[path[level]]):
            level -= 1
            continue
        nexts[level] += 1
        here = reaching[level, place]
        if here == 0 and pruned:
            continue
        node = tree.root if level == 0 else int(tree.links[path[level] * tree.stride + place])
        if level + 1 == deepest:
            if recorded + here > len(record_nodes):
                length = 2 * (recorded + here)
                record_events, record_nodes = grow(record_events, length), grow(record_nodes, length)
            for event in reached[level, place, :here]:
                workloads[event] += tree.weights[node] if weighted else 1
                record_events[recorded], record_nodes[recorded] = event, node
                recorded += 1
            continue
        visits += 1
        _intersect(tree, node, events, reached[level, place, :here], reached[level + 1], reaching[level + 1])
        for event in reached[level, place, :here]:
            tests[event] += tree.sizes[node]
        level += 1
        path[level], nexts[level] = node, 0
    order = np.argsort(workloads, kind="mergesort").astype(np.int32)
    firsts, records = group_by_number(record_events[:recorded], count)
    return workloads, order, firsts, record_nodes[records], tests, visits


@kernel
def _intersect(tree: RtreeNodes, node: int, events: I64, here: I32, reached: I32, reaching: I32) -> None:
    """Fill an intersect buffer: the events in the box of each entry of a node.

    Args:
        tree: The R-tree.
        node: An inner node.
        events: int64[n, dimensions].
        here: int32[...]: the events that reach the node.
        reached: int32[entries, n]: the output: the events that reach each entry.
        reaching: int32[entries]: the output: how many there are.
    """
    width = 2 * tree.dimensions
    for place in range(tree.sizes[node]):
        at = (node * tree.stride + place) * width
        used = 0
        for event in here:
            if inside(tree.bounds, at, events[event]):
                reached[place, used] = event
                used += 1
        reaching[place] = used


@kernel
def _search_in_order(
    tree: RtreeNodes, events: I64, order: I32, firsts: I64, nodes: I32
) -> tuple[I32, I32, I64, I64]:
    count = len(events)
    tests, visits = np.zeros(count, np.int64), np.zeros(count, np.int64)
    found, used = np.empty(16, np.int32), 0
    lasts = np.empty(count, np.int64)
    for place in range(count):
        event = order[place]
        starts = nodes[firsts[event] : firsts[event + 1]]
        found, used, tests[event], visits[event] = search_on(tree, starts, events[event], found, used)
        lasts[place] = used
    rows = np.empty(used, np.int32)
    first = 0
    for place in range(count):
        rows[first : lasts[place]] = order[place]
        first = lasts[place]
    return rows, found[:used].copy(), tests, visits
