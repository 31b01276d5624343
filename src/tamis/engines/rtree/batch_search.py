"""BatchSearch: several events at once, those with the least work first.

All events go down the tree together as far as a level (the root is on level 1, leaves on the last). The nodes that
an event reaches there are its row of the workload table; how many they are, or how many boxes are below them, is
its workload. Then the events are searched for one by one, from their nodes on, by rising workload and in the order
of arrival among equals. Nothing is tested twice. An event that reaches no node is done first. At level 1 the
estimate tests nothing, and this is the search in the order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from tamis.engines.grouping import grouped, grown
from tamis.engines.rtree.searching import inside, search_on
from tamis.engines.rtree.tree import Ends, Shorts, Tree, height_of


@dataclass(frozen=True, slots=True)
class Workloads:
    """The workload table of n events.

    Attributes:
        workloads: int64[n]: what an event is expected to cost.
        order: int32[n]: the events as they are to be searched for.
        firsts: int64[n + 1]: where the nodes of each event begin.
        nodes: int32[...]: the nodes to go on from.
        tests: int64[n]: the estimate's tests of each event.
        visits: The estimate's visits; all events share one.
    """

    workloads: Ends
    order: Shorts
    firsts: Ends
    nodes: Shorts
    tests: Ends
    visits: int

    def nodes_of(self, event: int) -> Shorts:
        """Where the search for an event goes on."""
        return self.nodes[self.firsts[event] : self.firsts[event + 1]]


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found for n events, and what it cost.

    Attributes:
        rows: int32[pairs]: events, in the order in which they were done.
        payloads: int32[pairs]: of the boxes around them.
        table: The estimate.
        tests: int64[n]: tests of the search for each event, after the estimate.
        visits: int64[n]: visits likewise.
    """

    rows: Shorts
    payloads: Shorts
    table: Workloads
    tests: Ends
    visits: Ends

    @property
    def responses(self) -> Ends:
        """int64[n]: tests from the start of the batch until an event was done."""
        return self._responses(int(self.table.tests.sum()), self.tests)

    @property
    def response_visits(self) -> Ends:
        """int64[n]: visits from the start of the batch until an event was done."""
        return self._responses(self.table.visits, self.visits)

    def _responses(self, before: int, each: Ends) -> Ends:
        responses = np.empty_like(each)
        responses[self.table.order] = before + np.cumsum(each[self.table.order])
        return responses


def batch_search(tree: Tree, events: Ends, level: int, *, weighted: bool = False, pruned: bool = True) -> Answers:
    """All boxes around each of several points, the cheapest points first.

    Args:
        tree: Where.
        events: int64[n, dimensions].
        level: How deep the estimate goes; taken as the nearest that there is.
        weighted: A node counts for the boxes below it, not for one.
        pruned: The estimate leaves out nodes that no event reaches; without, it visits them for comparison.
    """
    table = estimate(tree, events, level, weighted=weighted, pruned=pruned)
    rows, payloads, tests, visits = _search_in_order(tree, events, table.order, table.firsts, table.nodes)
    return Answers(rows, payloads, table, tests, visits)


def estimate(tree: Tree, events: Ends, level: int, *, weighted: bool = False, pruned: bool = True) -> Workloads:
    """The workload table; what it says holds until the tree is changed. Arguments as of `batch_search`."""
    deepest = min(max(level, 1), height_of(tree))
    return Workloads(*_estimate(tree, events, deepest, weighted, pruned))


@numba.njit(cache=True, nogil=True)
def _estimate(
    tree: Tree, events: Ends, deepest: int, weighted: bool, pruned: bool
) -> tuple[Ends, Shorts, Ends, Shorts, Ends, int]:
    count = len(events)
    workloads, tests, visits = np.zeros(count, np.int64), np.zeros(count, np.int64), 0
    # One intersect buffer a level is enough: a child's is read to its end before its next sibling's is written.
    reached = np.empty((deepest + 1, tree.stride, count), np.int32)
    reaching = np.zeros((deepest + 1, tree.stride), np.int32)
    path, nexts = np.empty(deepest + 1, np.int64), np.zeros(deepest + 1, np.int64)
    # Level 0 has one entry, the root, which all events reach.
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
                record_events, record_nodes = grown(record_events, length), grown(record_nodes, length)
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
    firsts, records = grouped(record_events[:recorded], count)
    return workloads, order, firsts, record_nodes[records], tests, visits


@numba.njit(cache=True, nogil=True)
def _intersect(tree: Tree, node: int, events: Ends, here: Shorts, reached: Shorts, reaching: Shorts) -> None:
    """Write which of the events are in the box of each entry of a node.

    Args:
        tree: Of the node.
        node: An inner one.
        events: int64[n, dimensions].
        here: int32[...]: those that reach the node.
        reached: int32[entries, n]: those that reach each entry.
        reaching: int32[entries]: how many.
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


@numba.njit(cache=True, nogil=True)
def _search_in_order(
    tree: Tree, events: Ends, order: Shorts, firsts: Ends, nodes: Shorts
) -> tuple[Shorts, Shorts, Ends, Ends]:
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
