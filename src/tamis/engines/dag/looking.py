"""What there is in a graph, for statistics and checks."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dag.nodes import Graph
from tamis.engines.dynamic.bags import Bags, bag_bytes, numbers_in

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]


class Counts(NamedTuple):
    """How many there are.

    made, room: of numbers ever given to nodes, and of numbers for which there is room.
    sums: nodes with values.
    by_filter: int64[filters]: inner nodes by the first filter that serves them.
    """

    subscriptions: int
    nodes: int
    made: int
    room: int
    edges: int
    highest: int
    sums: int
    by_filter: Ints


@numba.njit(cache=True, nogil=True)
def graph_counts(graph: Graph) -> Counts:
    """Of a graph."""
    return Counts(
        graph.held,
        graph.count,
        graph.made,
        len(graph.functions),
        2 * np.sum(graph.by_filter),
        graph.highest,
        graph.sums,
        graph.by_filter,
    )


class Sizes(NamedTuple):
    """Bytes by structure."""

    nodes: int
    parents: int
    slots: int
    predicate_table: int
    subscription_table: int
    table: int


@numba.njit(cache=True, nogil=True)
def graph_bytes(graph: Graph) -> Sizes:
    """Of a graph: 25 bytes a node and 4 more for the expression table if it has one, of numbers ever given."""
    return Sizes(
        25 * graph.made
        + (0 if graph.hashed else 4 * graph.made)
        + graph.populations.nbytes
        + graph.reached.nbytes,
        bag_bytes(graph.parents),
        bag_bytes(graph.slots),
        graph.leaf_of.nbytes,
        graph.root_of.nbytes + graph.slot_priorities.nbytes,
        graph.table.nbytes + (4 * graph.made if graph.hashed else 0),
    )


@numba.njit(cache=True, nogil=True)
def roots_of(graph: Graph, slots: Shorts) -> Shorts:
    """The nodes of slots, -1 of empty ones."""
    found = np.full(len(slots), -1, np.int32)
    for place in range(len(slots)):
        if 0 <= slots[place] < len(graph.root_of):
            found[place] = graph.root_of[slots[place]]
    return found


@numba.njit(cache=True, nogil=True)
def readers_of(graph: Graph) -> Shorts:
    """How many nodes read values on each axis."""
    return graph.readers


class View(NamedTuple):
    """Everything as arrays; see `Graph`.

    parent_firsts, parent_cells: the parents of node n are `parent_cells[parent_firsts[n]:parent_firsts[n + 1]]`.
    slot_firsts, slot_cells: the same of its slots.
    """

    functions: Shorts
    lefts: Shorts
    rights: Shorts
    levels: Shorts
    uses: Shorts
    traits: Bytes
    chain: Shorts
    free: int
    parent_firsts: Ints
    parent_cells: Shorts
    slot_firsts: Ints
    slot_cells: Shorts
    leaf_of: Shorts
    root_of: Shorts
    slot_priorities: Bytes
    populations: Ints
    highest: int


@numba.njit(cache=True, nogil=True)
def _spread(bags: Bags, count: int) -> tuple[Ints, Shorts]:
    firsts = np.zeros(count + 1, np.int64)
    for bag in range(count):
        firsts[bag + 1] = firsts[bag] + bags.counts[bag]
    cells = np.empty(firsts[-1], np.int32)
    for bag in range(count):
        cells[firsts[bag] : firsts[bag + 1]] = numbers_in(bags, bag)
    return firsts, cells


@numba.njit(cache=True, nogil=True)
def view_of(graph: Graph) -> View:
    """A copy of what checks read."""
    made = graph.made
    parent_firsts, parent_cells = _spread(graph.parents, made)
    slot_firsts, slot_cells = _spread(graph.slots, made)
    return View(
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
