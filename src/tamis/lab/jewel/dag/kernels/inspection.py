"""Counts, sizes and copies of a graph, for statistics and for the check of invariants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import PostingLists, posting_list_bytes, postings_in
from tamis.lab.jewel.dag.kernels.functions import CALLED
from tamis.lab.jewel.dag.kernels.nodes import Graph


class GraphCounts(NamedTuple):
    """Counts of a graph.

    made, room: node numbers ever given, and node numbers for which arrays have room.
    sums, called: nodes that have values, and nodes that are calls.
    by_filter: int64[filters]: inner nodes by the first filter that supports them.
    """

    subscriptions: int
    nodes: int
    made: int
    room: int
    edges: int
    highest: int
    sums: int
    called: int
    by_filter: I64


@kernel
def graph_counts(graph: Graph) -> GraphCounts:
    return GraphCounts(
        graph.held,
        graph.count,
        graph.made,
        len(graph.functions),
        2 * np.sum(graph.by_filter),
        graph.highest,
        graph.sums,
        graph.called,
        graph.by_filter,
    )


class GraphBytes(NamedTuple):
    """Bytes by structure."""

    nodes: int
    parents: int
    slots: int
    predicate_table: int
    subscription_table: int
    table: int


@kernel
def graph_bytes(graph: Graph) -> GraphBytes:
    """Bytes of all node numbers ever given: 25 for each, and 4 for the expression table if there is one."""
    return GraphBytes(
        25 * graph.made
        + (0 if graph.hashed else 4 * graph.made)
        + graph.populations.nbytes
        + graph.reached.nbytes,
        posting_list_bytes(graph.parents),
        posting_list_bytes(graph.slots),
        graph.leaf_of.nbytes,
        graph.root_of.nbytes + graph.slot_priorities.nbytes,
        graph.table.nbytes + (4 * graph.made if graph.hashed else 0),
    )


@kernel
def roots_of(graph: Graph, slots: I32) -> I32:
    """int32[slots]: the root of each slot, -1 if it is empty."""
    found = np.full(len(slots), -1, np.int32)
    for place in range(len(slots)):
        if 0 <= slots[place] < len(graph.root_of):
            found[place] = graph.root_of[slots[place]]
    return found


@kernel
def living_calls(graph: Graph) -> I32:
    """int32[...]: the numbers of the calls that have a node; all of them are seeds."""
    found = np.empty(graph.called, np.int32)
    count = 0
    for node in postings_in(graph.seeds, 0):
        if graph.functions[node] == CALLED:
            found[count] = graph.lefts[node]
            count += 1
    return found


@kernel
def value_readers(graph: Graph) -> I32:
    """int32[axes]: how many nodes read the values of each axis."""
    return graph.readers


class GraphArrays(NamedTuple):
    """The fields of a `Graph`, for code that is not compiled.

    parent_firsts, parent_cells: the parents of node n are `parent_cells[parent_firsts[n]:parent_firsts[n + 1]]`.
    slot_firsts, slot_cells: the same of its slots.
    """

    functions: I32
    lefts: I32
    rights: I32
    levels: I32
    uses: I32
    traits: U8
    chain: I32
    free: int
    parent_firsts: I64
    parent_cells: I32
    slot_firsts: I64
    slot_cells: I32
    leaf_of: I32
    root_of: I32
    slot_priorities: U8
    populations: I64
    highest: int


@kernel
def _flatten(lists: PostingLists, count: int) -> tuple[I64, I32]:
    firsts = np.zeros(count + 1, np.int64)
    for node in range(count):
        firsts[node + 1] = firsts[node] + lists.counts[node]
    cells = np.empty(firsts[-1], np.int32)
    for node in range(count):
        cells[firsts[node] : firsts[node + 1]] = postings_in(lists, node)
    return firsts, cells


@kernel
def graph_arrays(graph: Graph) -> GraphArrays:
    """A copy of what the check of invariants reads."""
    made = graph.made
    parent_firsts, parent_cells = _flatten(graph.parents, made)
    slot_firsts, slot_cells = _flatten(graph.slots, made)
    return GraphArrays(
        graph.functions[:made].copy(),
        graph.lefts[:made].copy(),
        graph.rights[:made].copy(),
        graph.levels[:made].copy(),
        graph.uses[:made].copy(),
        graph.traits[:made].copy(),
        graph.chain[:made].copy(),
        graph.free,
        parent_firsts,
        parent_cells,
        slot_firsts,
        slot_cells,
        graph.leaf_of.copy(),
        graph.root_of.copy(),
        graph.slot_priorities.copy(),
        graph.populations.copy(),
        graph.highest,
    )
