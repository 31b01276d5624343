"""The nodes of a graph of expressions, which formulas share: their numbers, links and levels.

A node is there once, whoever uses it: an inner node has a function and two children, a leaf is a predicate or a
constant. Its level is one more than the greater one of its children's, a leaf's is 1; no level below the highest
one is empty. It stands in the sorted list of parents of each of its children, once also where both are the same.
`uses` is the number of subscriptions whose formula it is part of, each counted once however often it occurs there:
so a child never has fewer uses than a parent, and a formula that is a graph costs no more than it has nodes.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.dag.functions import (
    CONSTANT,
    OR,
    PREDICATE,
    filter_for,
    is_commutative,
    is_idempotent,
    is_inner,
    is_sum,
    is_topmost,
    is_true_of_nothing,
    reads_values,
)
from tamis.engines.dynamic.bags import Bags, bags_of, put_in, reserve_bags, run_of, runs_of, take_out
from tamis.engines.dynamic.predicates import Predicates, let_go
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

PRIORITIES = 8
"""How many priorities there are, from 0 on."""
PRIORITY, IS_OR, HAS_SLOTS = 7, 8, 16
"""Bits of the traits of a node: its priority, and what filters ask most."""
FREE = -1
"""The function of a free number."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LAST_SERIAL = 2**31 - 4


@struct
class Graph(structref.StructRefProxy):  # type: ignore[misc]
    """What `graph_of` gives; only compiled code looks into it.

    functions, levels, uses: int32[nodes].
    lefts, rights: int32[nodes]: the children; of a predicate its number, of a constant the halves of its bits.
    stamps: int32[nodes]: the serial number of the last walk that came here, one more where an event made it true.
    traits: uint8[nodes]: PRIORITY, the greatest one of the subscriptions that use it; IS_OR; HAS_SLOTS.
    chain: int32[nodes]: the next one in the same place of the table; of a free number the next free one.
    made, free, count: numbers ever given, a free one or -1, nodes.
    parents, slots: bags by node: its parents, the slots whose formula it is.
    leaf_of: int32[predicates]: their nodes, -1 if there is none.
    root_of, slot_priorities: of a slot: its formula's node, -1 if it is empty; its priority.
    held: how many slots are not empty.
    populations: int64[levels + 1]: how many nodes a level has.
    highest: the highest level that has some.
    by_filter: int64[filters]: inner nodes by the first filter that serves them.
    by_priority: int64[PRIORITIES]: nodes by priority.
    sums: how many nodes have a value: arithmetic and sums.
    readers: int32[axes]: how many nodes read the value of predicates on an axis.
    seeds: one bag: the nodes that may be true when no predicate holds.
    table: int32[a power of two]: where to find nodes by what they say; constants, and inner nodes if `hashed`.
    tabled: how many are in the table.
    hashed: 1 if inner nodes are found by the table, 0 if by the parents of their children.
    serial: of the last walk; an even number.
    reached: int32[...]: the nodes that a walk came to.
    """

    functions: Shorts
    levels: Shorts
    uses: Shorts
    lefts: Shorts
    rights: Shorts
    stamps: Shorts
    traits: Bytes
    chain: Shorts
    made: int
    free: int
    count: int
    parents: Bags
    slots: Bags
    leaf_of: Shorts
    root_of: Shorts
    slot_priorities: Bytes
    held: int
    populations: Ints
    highest: int
    by_filter: Ints
    by_priority: Ints
    sums: int
    readers: Shorts
    seeds: Bags
    table: Shorts
    tabled: int
    hashed: int
    serial: int
    reached: Shorts


@numba.njit(cache=True, nogil=True)
def graph_of(hashed: int) -> Graph:
    """Without any node."""
    return Graph(
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        np.empty(0, np.uint8),
        np.empty(0, np.int32),
        *(0, -1, 0),
        *(bags_of(0), bags_of(0)),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8), 0),
        np.zeros(8, np.int64),
        0,
        *(np.zeros(3, np.int64), np.zeros(PRIORITIES, np.int64)),
        0,
        np.empty(0, np.int32),
        bags_of(1),
        np.full(16, -1, np.int32),
        *(0, hashed, 0),
        np.empty(16, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def next_serial(graph: Graph) -> int:
    """The serial number of a walk that begins; all stamps are less."""
    if graph.serial >= _LAST_SERIAL:
        graph.stamps[:] = 0
        graph.serial = 0
    graph.serial += 2
    return int(graph.serial)


@numba.njit(cache=True, nogil=True)
def _place(graph: Graph, function: int, left: int, right: int) -> int:
    """Of the table."""
    mixed = ((np.uint64(left) << np.uint64(32)) ^ np.uint64(right & 0xFFFFFFFF) ^ np.uint64(function)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return np.int64((mixed >> np.uint64(32)) & np.uint64(len(graph.table) - 1))


@numba.njit(cache=True, nogil=True)
def _put_in_table(graph: Graph, node: int) -> None:
    place = _place(graph, graph.functions[node], graph.lefts[node], graph.rights[node])
    graph.chain[node] = graph.table[place]
    graph.table[place] = node
    graph.tabled += 1
    if graph.tabled <= len(graph.table):
        return
    old = graph.table
    graph.table = np.full(2 * len(old), -1, np.int32)
    for first in old:
        while first >= 0:
            following = graph.chain[first]
            place = _place(graph, graph.functions[first], graph.lefts[first], graph.rights[first])
            graph.chain[first] = graph.table[place]
            graph.table[place] = first
            first = following  # noqa: PLW2901


@numba.njit(cache=True, nogil=True)
def _take_from_table(graph: Graph, node: int) -> None:
    place = _place(graph, graph.functions[node], graph.lefts[node], graph.rights[node])
    if graph.table[place] == node:
        graph.table[place] = graph.chain[node]
    else:
        before = graph.table[place]
        while graph.chain[before] != node:
            before = graph.chain[before]
        graph.chain[before] = graph.chain[node]
    graph.tabled -= 1


@numba.njit(cache=True, nogil=True)
def is_tabled(graph: Graph, function: int) -> bool:
    """Are nodes of this function found by the table?"""
    return bool(graph.hashed) if is_inner(function) else function != PREDICATE


@numba.njit(cache=True, nogil=True)
def _in_table(graph: Graph, function: int, left: int, right: int) -> int:
    node = graph.table[_place(graph, function, left, right)]
    functions, lefts, rights, chain = graph.functions, graph.lefts, graph.rights, graph.chain
    while node >= 0 and not (functions[node] == function and lefts[node] == left and rights[node] == right):
        node = chain[node]
    return int(node)


@numba.njit(cache=True, nogil=True)
def _common_parent(graph: Graph, function: int, left: int, right: int) -> int:
    """By the shorter one of the children's lists of parents."""
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    functions, lefts, rights = graph.functions, graph.lefts, graph.rights
    child = left if counts[left] <= counts[right] else right
    for run in range(runs_of(counts, heads, cells, child)):
        start, end = run_of(counts, heads, cells, child, run)
        for place in range(start, end):
            node = cells[place]
            if functions[node] == function and lefts[node] == left and rights[node] == right:
                return int(node)
    return -1


@numba.njit(cache=True, nogil=True)
def find(graph: Graph, function: int, left: int, right: int) -> int:
    """The node that says this of its children, or the leaf; -1 if there is none."""
    if function == PREDICATE:
        return int(graph.leaf_of[left])
    if left == right and is_idempotent(function):
        return left
    if is_inner(function) and left > right and is_commutative(function):
        left, right = right, left
    if is_tabled(graph, function):
        return _in_table(graph, function, left, right)
    return _common_parent(graph, function, left, right)


@numba.njit(cache=True, nogil=True)
def _new_number(graph: Graph) -> int:
    graph.count += 1
    if graph.free >= 0:
        node = graph.free
        graph.free = graph.chain[node]
        return int(node)
    node = graph.made
    graph.made += 1
    old = len(graph.functions)
    if node == old:
        length = old + old // 2 + 64
        graph.functions, graph.levels = grown(graph.functions, length), grown(graph.levels, length)
        graph.uses, graph.stamps = grown(graph.uses, length), grown(graph.stamps, length)
        graph.lefts, graph.rights = grown(graph.lefts, length), grown(graph.rights, length)
        graph.traits, graph.chain = grown(graph.traits, length), grown(graph.chain, length)
        graph.stamps[old:] = 0
        reserve_bags(graph.parents, length)
        reserve_bags(graph.slots, length)
    return int(node)


@numba.njit(cache=True, nogil=True)
def _count_in(graph: Graph, predicates: Predicates, node: int, by: int) -> None:
    """Count a node that came, or one that goes, wherever nodes are counted."""
    function, level = graph.functions[node], graph.levels[node]
    graph.populations[level] += by
    graph.by_priority[graph.traits[node] & PRIORITY] += by
    if is_inner(function):
        graph.by_filter[filter_for(function)] += by
    if is_sum(function) or is_topmost(function):
        graph.sums += by
    if reads_values(function):
        graph.sums += by
        for child in (graph.lefts[node], graph.rights[node]):
            if graph.functions[child] == PREDICATE and predicates.axes[graph.lefts[child]] >= 0:
                graph.readers[predicates.axes[graph.lefts[child]]] += by


@numba.njit(cache=True, nogil=True)
def _is_seed(graph: Graph, node: int) -> bool:
    """May it be true, or have a value, when no predicate holds? Then it has to be looked at for every event."""
    function = graph.functions[node]
    if reads_values(function):
        left, right = graph.functions[graph.lefts[node]], graph.functions[graph.rights[node]]
        return bool(left == CONSTANT and right == CONSTANT)
    return is_true_of_nothing(function)


@numba.njit(cache=True, nogil=True)
def _make(graph: Graph, predicates: Predicates, function: int, left: int, right: int) -> int:
    """A new node, with nobody who uses it yet; a leaf has a use of its predicate, which goes with it."""
    node = _new_number(graph)
    level = 1
    graph.functions[node], graph.uses[node] = function, 0
    graph.traits[node] = IS_OR if function == OR else 0
    if is_inner(function):
        if left > right and is_commutative(function):
            left, right = right, left
        level = 1 + max(graph.levels[left], graph.levels[right])
        put_in(graph.parents, left, node)
        if right != left:
            put_in(graph.parents, right, node)
    elif function == PREDICATE:
        graph.leaf_of[left] = node
        predicates.uses[left] += 1
    graph.lefts[node], graph.rights[node], graph.levels[node] = left, right, level
    if level >= len(graph.populations):
        old = len(graph.populations)
        graph.populations = grown(graph.populations, 2 * level)
        graph.populations[old:] = 0
    graph.highest = max(graph.highest, level)
    if is_tabled(graph, function):
        _put_in_table(graph, node)
    if _is_seed(graph, node):
        put_in(graph.seeds, 0, node)
    _count_in(graph, predicates, node, 1)
    return node


@numba.njit(cache=True, nogil=True)
def node_for(graph: Graph, predicates: Predicates, function: int, left: int, right: int) -> int:
    """The node that says this of its children, or the leaf; made if it is not there."""
    found = find(graph, function, left, right)
    return found if found >= 0 else _make(graph, predicates, function, left, right)


@numba.njit(cache=True, nogil=True)
def set_priority(graph: Graph, node: int, priority: int) -> None:
    """Of a node."""
    graph.by_priority[graph.traits[node] & PRIORITY] -= 1
    graph.by_priority[priority] += 1
    graph.traits[node] = (graph.traits[node] & (IS_OR | HAS_SLOTS)) | priority


@numba.njit(cache=True, nogil=True)
def unlink(graph: Graph, predicates: Predicates, node: int) -> None:
    """Take a node that nobody uses out of its children's lists, and of all else that finds it."""
    function = graph.functions[node]
    _count_in(graph, predicates, node, -1)
    if is_tabled(graph, function):
        _take_from_table(graph, node)
    if _is_seed(graph, node):
        take_out(graph.seeds, 0, node)
    if is_inner(function):
        left, right = np.int64(graph.lefts[node]), np.int64(graph.rights[node])
        take_out(graph.parents, left, node)
        if right != left:
            take_out(graph.parents, right, node)


@numba.njit(cache=True, nogil=True)
def release(graph: Graph, predicates: Predicates, node: int) -> None:
    """Make the number of a node free that is unlinked, as are all its parents."""
    if graph.functions[node] == PREDICATE:
        predicate = np.int64(graph.lefts[node])
        graph.leaf_of[predicate] = -1
        let_go(predicates, predicate)
    graph.functions[node] = FREE
    graph.chain[node] = graph.free
    graph.free = node
    graph.count -= 1


@numba.njit(cache=True, nogil=True)
def reach(graph: Graph, root: int) -> int:
    """Write the nodes of an expression to `reached`, each once; gives their number."""
    serial = next_serial(graph)
    functions, lefts, rights, stamps = graph.functions, graph.lefts, graph.rights, graph.stamps
    reached = graph.reached
    reached[0] = root
    stamps[root] = serial
    count, at = 1, 0
    while at < count:
        node = reached[at]
        at += 1
        if not is_inner(functions[node]):
            continue
        if count + 2 > len(reached):
            reached = grown(reached, 2 * len(reached))
        for child in (lefts[node], rights[node]):
            if stamps[child] != serial:
                stamps[child] = serial
                reached[count] = child
                count += 1
    graph.reached = reached
    return count
