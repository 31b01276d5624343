r"""The nodes of the A-Tree: numbers, links, levels.

    level 3        10 = 6 XOR 7          an inner node has a function and two children, left <= right if that is
                  /   \                   commutative; it is in the sorted parent list of each child
    level 2   6 = A&B   7 = C&D
              /  \       /  \
    level 1  A    B     C    D           a leaf is a predicate, a constant or a call of an operator

There is one node for each expression, whoever uses it. Its level is one more than the greater level of its
children, 1 for a leaf; no level up to the highest is empty. A node is once in a parent list, also where both
children are the same. `uses` counts the subscriptions that contain a node, each once however often it occurs
there: a child never has fewer uses than a parent, and inserting a formula costs no more than it has nodes.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    remove_posting,
    reserve_lists,
    run_bounds,
    run_count,
)
from tamis.lab.dynamic.kernels.predicates import Predicates, release_predicate
from tamis.lab.jewel.dag.kernels.functions import (
    AND,
    CALLED,
    CONSTANT,
    OR,
    PREDICATE,
    filter_for,
    is_commutative,
    is_idempotent,
    is_inner,
    is_sum,
    is_topmost,
    is_true_of_falses,
    reads_values,
)

PRIORITIES = 8
"""Priorities are from 0 up to, but without, this."""
PRIORITY, IS_OR, HAS_SLOTS, IS_FREE = 7, 8, 16, 32
"""Bits of the traits of a node: its priority, and what filters read most. A free node may be true when no
predicate
is, by calls alone: a call, an AND of free nodes, anything else with a free child."""
FREE = -1
"""The function of a free number."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LAST_SERIAL = 2**31 - 8


@struct
class Graph(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_graph`; only compiled code reads its fields.

    functions, levels, uses: int32[nodes].
    lefts, rights: int32[nodes]: the children; of a predicate its number and, if it is a pattern below a XOR, the
        axis of its attribute; of a constant the halves of its bits; of a call its number.
    stamps: int32[nodes]: the serial number of the last walk that came here, one more where an event made it true,
        two more where calls that were not made yet may make it true.
    traits: uint8[nodes]: PRIORITY, the greatest one of the subscriptions that use it; IS_OR; HAS_SLOTS; IS_FREE.
    chain: int32[nodes]: the next one in the same hash bucket; of a free number the next free one.
    made, free, count: numbers ever given, a free one or -1, nodes.
    parents, slots: posting lists by node: its parents, the slots whose formula it is.
    leaf_of: int32[predicates]: their nodes, -1 if there is none (the thesis's table PT).
    root_of, slot_priorities: [slots]: the root of its formula, -1 if it is empty (the table ST); its priority.
    held: how many slots are not empty.
    populations: int64[levels + 1]: how many nodes a level has.
    highest: the highest level that has some.
    by_filter: int64[filters]: inner nodes by the first filter that supports them.
    by_priority: int64[PRIORITIES]: nodes by priority.
    sums: how many nodes have a value: arithmetic and sums.
    called: how many nodes are calls.
    readers: int32[axes]: how many nodes read the value of predicates on an axis.
    seeds: one list: the nodes that may be true when no predicate is.
    table: int32[a power of two]: the first node of each hash bucket: constants, and inner nodes if `hashed`.
    tabled: how many are in the table.
    hashed: 1 if inner nodes are found by the table, 0 if by the parents of their children.
    serial: of the last walk; a multiple of four.
    reached: int32[...]: the result of `collect_nodes`.
    """

    functions: I32
    levels: I32
    uses: I32
    lefts: I32
    rights: I32
    stamps: I32
    traits: U8
    chain: I32
    made: int
    free: int
    count: int
    parents: PostingLists
    slots: PostingLists
    leaf_of: I32
    root_of: I32
    slot_priorities: U8
    held: int
    populations: I64
    highest: int
    by_filter: I64
    by_priority: I64
    sums: int
    called: int
    readers: I32
    seeds: PostingLists
    table: I32
    tabled: int
    hashed: int
    serial: int
    reached: I32


@kernel
def empty_graph(hashed: int) -> Graph:
    return Graph(
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)),
        np.empty(0, np.uint8),
        np.empty(0, np.int32),
        *(0, -1, 0),
        *(empty_posting_lists(0), empty_posting_lists(0)),
        *(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.uint8), 0),
        np.zeros(8, np.int64),
        0,
        *(np.zeros(3, np.int64), np.zeros(PRIORITIES, np.int64)),
        *(0, 0),
        np.empty(0, np.int32),
        empty_posting_lists(1),
        np.full(16, -1, np.int32),
        *(0, hashed, 0),
        np.empty(16, np.int32),
    )


@kernel
def next_serial(graph: Graph) -> int:
    """The serial number of a new walk; all stamps are less, so nothing has to be reset."""
    if graph.serial >= _LAST_SERIAL:
        graph.stamps[:] = 0
        graph.serial = 0
    graph.serial += 4
    return int(graph.serial)


@kernel
def _bucket_of(graph: Graph, function: int, left: int, right: int) -> int:
    """The hash bucket of an expression."""
    mixed = ((np.uint64(left) << np.uint64(32)) ^ np.uint64(right & 0xFFFFFFFF) ^ np.uint64(function)) * _MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return np.int64((mixed >> np.uint64(32)) & np.uint64(len(graph.table) - 1))


@kernel
def _add_to_table(graph: Graph, node: int) -> None:
    place = _bucket_of(graph, graph.functions[node], graph.lefts[node], graph.rights[node])
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
            place = _bucket_of(graph, graph.functions[first], graph.lefts[first], graph.rights[first])
            graph.chain[first] = graph.table[place]
            graph.table[place] = first
            first = following  # noqa: PLW2901


@kernel
def _remove_from_table(graph: Graph, node: int) -> None:
    place = _bucket_of(graph, graph.functions[node], graph.lefts[node], graph.rights[node])
    if graph.table[place] == node:
        graph.table[place] = graph.chain[node]
    else:
        before = graph.table[place]
        while graph.chain[before] != node:
            before = graph.chain[before]
        graph.chain[before] = graph.chain[node]
    graph.tabled -= 1


@kernel
def is_tabled(graph: Graph, function: int) -> bool:
    """Are nodes of this function in the hash table?"""
    return bool(graph.hashed) if is_inner(function) else function != PREDICATE


@kernel
def _in_table(graph: Graph, function: int, left: int, right: int) -> int:
    node = graph.table[_bucket_of(graph, function, left, right)]
    functions, lefts, rights, chain = graph.functions, graph.lefts, graph.rights, graph.chain
    while node >= 0 and not (functions[node] == function and lefts[node] == left and rights[node] == right):
        node = chain[node]
    return int(node)


@kernel
def _common_parent(graph: Graph, function: int, left: int, right: int) -> int:
    """The node of an expression, by the shorter of the parent lists of its children; -1 if there is none."""
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    functions, lefts, rights = graph.functions, graph.lefts, graph.rights
    child = left if counts[left] <= counts[right] else right
    for run in range(run_count(counts, heads, cells, child)):
        start, end = run_bounds(counts, heads, cells, child, run)
        for place in range(start, end):
            node = cells[place]
            if functions[node] == function and lefts[node] == left and rights[node] == right:
                return int(node)
    return -1


@kernel
def find_node(graph: Graph, function: int, left: int, right: int) -> int:
    """The node of an expression or leaf, -1 if there is none."""
    if function == PREDICATE:
        return int(graph.leaf_of[left])
    if left == right and is_idempotent(function):
        return left
    if is_inner(function) and left > right and is_commutative(function):
        left, right = right, left
    if is_tabled(graph, function):
        return _in_table(graph, function, left, right)
    return _common_parent(graph, function, left, right)


@kernel
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
        graph.functions, graph.levels = grow(graph.functions, length), grow(graph.levels, length)
        graph.uses, graph.stamps = grow(graph.uses, length), grow(graph.stamps, length)
        graph.lefts, graph.rights = grow(graph.lefts, length), grow(graph.rights, length)
        graph.traits, graph.chain = grow(graph.traits, length), grow(graph.chain, length)
        graph.stamps[old:] = 0
        reserve_lists(graph.parents, length)
        reserve_lists(graph.slots, length)
    return int(node)


@kernel
def _adjust_counts(graph: Graph, predicates: Predicates, node: int, by: int) -> None:
    """Add a node to all counts of nodes, or subtract it (`by` is -1)."""
    function, level = graph.functions[node], graph.levels[node]
    graph.populations[level] += by
    graph.by_priority[graph.traits[node] & PRIORITY] += by
    if is_inner(function):
        graph.by_filter[filter_for(function)] += by
    if function == CALLED:
        graph.called += by
    if is_sum(function) or is_topmost(function):
        graph.sums += by
    if reads_values(function):
        graph.sums += by
        for child in (graph.lefts[node], graph.rights[node]):
            if graph.functions[child] == PREDICATE and predicates.axes[graph.lefts[child]] >= 0:
                graph.readers[predicates.axes[graph.lefts[child]]] += by


@kernel
def _is_seed(graph: Graph, node: int) -> bool:
    """May it be true, or have a value, when no predicate is satisfied? Then every event visits it."""
    function = graph.functions[node]
    if reads_values(function):
        left, right = graph.functions[graph.lefts[node]], graph.functions[graph.rights[node]]
        return bool(left == CONSTANT and right == CONSTANT)
    return is_true_of_falses(function) or graph.traits[node] & IS_FREE != 0


@kernel
def _is_free(graph: Graph, function: int, left: int, right: int) -> bool:
    if not is_inner(function):
        return bool(function == CALLED)
    one, other = graph.traits[left] & IS_FREE != 0, graph.traits[right] & IS_FREE != 0
    return bool(one and other) if function == AND else bool(one or other)


@kernel
def _new_node(graph: Graph, predicates: Predicates, function: int, left: int, right: int) -> int:
    """Make a node without uses; a leaf counts as a use of its predicate."""
    node = _new_number(graph)
    level = 1
    graph.functions[node], graph.uses[node] = function, 0
    graph.traits[node] = (IS_OR if function == OR else 0) | (
        IS_FREE if _is_free(graph, function, left, right) else 0
    )
    if is_inner(function):
        if left > right and is_commutative(function):
            left, right = right, left
        level = 1 + max(graph.levels[left], graph.levels[right])
        add_posting(graph.parents, left, node)
        if right != left:
            add_posting(graph.parents, right, node)
    elif function == PREDICATE:
        graph.leaf_of[left] = node
        predicates.uses[left] += 1
    graph.lefts[node], graph.rights[node], graph.levels[node] = left, right, level
    if level >= len(graph.populations):
        old = len(graph.populations)
        graph.populations = grow(graph.populations, 2 * level)
        graph.populations[old:] = 0
    graph.highest = max(graph.highest, level)
    if is_tabled(graph, function):
        _add_to_table(graph, node)
    if _is_seed(graph, node):
        add_posting(graph.seeds, 0, node)
    _adjust_counts(graph, predicates, node, 1)
    return node


@kernel
def node_for(graph: Graph, predicates: Predicates, function: int, left: int, right: int) -> int:
    """The node of an expression or leaf, made if it is missing."""
    found = find_node(graph, function, left, right)
    return found if found >= 0 else _new_node(graph, predicates, function, left, right)


@kernel
def set_priority(graph: Graph, node: int, priority: int) -> None:
    graph.by_priority[graph.traits[node] & PRIORITY] -= 1
    graph.by_priority[priority] += 1
    graph.traits[node] = (graph.traits[node] & (IS_OR | HAS_SLOTS | IS_FREE)) | priority


@kernel
def unlink(graph: Graph, predicates: Predicates, node: int) -> None:
    """Remove an unused node from the parent lists of its children, the hash table and all counts."""
    function = graph.functions[node]
    _adjust_counts(graph, predicates, node, -1)
    if is_tabled(graph, function):
        _remove_from_table(graph, node)
    if _is_seed(graph, node):
        remove_posting(graph.seeds, 0, node)
    if is_inner(function):
        left, right = np.int64(graph.lefts[node]), np.int64(graph.rights[node])
        remove_posting(graph.parents, left, node)
        if right != left:
            remove_posting(graph.parents, right, node)


@kernel
def free_node(graph: Graph, predicates: Predicates, node: int) -> None:
    """Free the number of a node that is unlinked, as are all its parents."""
    if graph.functions[node] == PREDICATE:
        predicate = np.int64(graph.lefts[node])
        graph.leaf_of[predicate] = -1
        release_predicate(predicates, predicate)
    graph.functions[node] = FREE
    graph.chain[node] = graph.free
    graph.free = node
    graph.count -= 1


@kernel
def collect_nodes(graph: Graph, root: int) -> int:
    """Write the nodes of an expression to `reached`, each once; returns how many there are."""
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
            reached = grow(reached, 2 * len(reached))
        for child in (lefts[node], rights[node]):
            if stamps[child] != serial:
                stamps[child] = serial
                reached[count] = child
                count += 1
    graph.reached = reached
    return count
