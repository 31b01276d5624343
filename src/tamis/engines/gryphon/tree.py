"""The matching tree: nodes, value edges, don't-care edges.

Every attribute that an equality was ever about has a level. A node is reached by a value edge, which says an
equality, from a node above; below it, levels only rise. A node has a test for each level at which value edges
leave it, lowest first; from a test the don't-care edge leads to the next one. So levels at which nothing leaves
take no room. A path is the value edges from the root: equal beginnings of paths are the same nodes, and every node
but the root has terms that end there, or a test. A predicate has a use for every edge that says it.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.dynamic.bags import Bags, bag_bytes, bags_of, numbers_in, reserve_bags
from tamis.engines.dynamic.predicates import Predicates, hold_on, let_go
from tamis.engines.dynamic.terms import Terms, predicates_of_term, term_bytes, terms_of
from tamis.engines.structs import struct

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Records: TypeAlias = npt.NDArray[np.int32]

PARENT, NUMBER, CHAIN, FIRST = 0, 1, 2, 3
"""Of a node: the one above, the predicate of the edge from it, the next node in the same place of the table (of a
free node, the next free one), the first test."""
LEVEL, NEXT, EDGES = 0, 1, 2
"""Of a test: its level, the next test (of a free one, the next free one), how many value edges leave there."""
HELD, NODES, TESTS, CANDIDATES, FOUND = 0, 1, 2, 3, 4
"""What is counted of the work: predicates that held, nodes and tests visited, terms looked at, terms that held."""
ROOT = 0
_FREE = -2
_MIX = np.uint64(0x9E3779B97F4A7C15)


@struct
class Tree(structref.StructRefProxy):  # type: ignore[misc]
    """What `tree_of` gives; only compiled code looks into it.

    terms: all terms, with those predicates that are not on their paths.
    homes: int32[terms]: the node at which a term's path ends; ends: the bag of a node's terms.
    nodes: int32[nodes, 4]: see PARENT and so on.
    nodes_made, nodes_free, nodes_count: nodes ever made, a free one or -1, nodes in use.
    tests: int32[tests, 3]: see LEVEL and so on; tests_made, tests_free, tests_count: as of nodes.
    table: int32[a power of two]: a node by its parent and predicate, -1 if there is none.
    axis_levels: int32[axes]: the level of an axis, -1 if it has none; depth: how many levels there are.
    levels: int32[predicates]: the level of an equality, -1 of others.
    work: int64[5]: see HELD and so on.
    """

    terms: Terms
    homes: Shorts
    ends: Bags
    nodes: Records
    nodes_made: int
    nodes_free: int
    nodes_count: int
    tests: Records
    tests_made: int
    tests_free: int
    tests_count: int
    table: Shorts
    axis_levels: Shorts
    depth: int
    levels: Shorts
    work: Ints


@numba.njit(cache=True, nogil=True)
def tree_of() -> Tree:
    """A root."""
    return Tree(
        terms_of(),
        np.empty(0, np.int32),
        bags_of(1),
        *(np.full((1, 4), -1, np.int32), 1, -1, 1),
        *(np.empty((0, 3), np.int32), 0, -1, 0),
        np.full(16, -1, np.int32),
        *(np.empty(0, np.int32), 0, np.empty(0, np.int32)),
        np.zeros(5, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _longer(records: Records) -> Records:
    """More room."""
    count = len(records)
    longer = np.empty((count + count // 2 + 16, records.shape[1]), np.int32)
    longer[:count] = records
    return longer


@numba.njit(cache=True, nogil=True)
def _place(parent: int, number: int, table: Shorts) -> int:
    """Where the table has the node below a parent for a predicate."""
    mixed = (np.uint64(parent) << np.uint64(32) | np.uint64(number)) * _MIX
    return int((mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(table) - 1))


@numba.njit(cache=True, nogil=True)
def child_of(nodes: Records, table: Shorts, parent: int, number: int) -> int:
    """The node below a parent for a predicate, -1 if there is none."""
    node = table[_place(parent, number, table)]
    while node >= 0 and (nodes[node, PARENT] != parent or nodes[node, NUMBER] != number):
        node = nodes[node, CHAIN]
    return int(node)


@numba.njit(cache=True, nogil=True)
def _widen_table(tree: Tree) -> None:
    table = np.full(2 * len(tree.table), -1, np.int32)
    for node in range(ROOT + 1, tree.nodes_made):
        if tree.nodes[node, PARENT] != _FREE:
            place = _place(tree.nodes[node, PARENT], tree.nodes[node, NUMBER], table)
            tree.nodes[node, CHAIN] = table[place]
            table[place] = node
    tree.table = table


@numba.njit(cache=True, nogil=True)
def _add_edge(tree: Tree, parent: int, level: int) -> None:
    """An edge more at a level of a node, with a test if it is the first."""
    before, test = -1, tree.nodes[parent, FIRST]
    while test >= 0 and tree.tests[test, LEVEL] < level:
        before, test = test, tree.tests[test, NEXT]
    if test >= 0 and tree.tests[test, LEVEL] == level:
        tree.tests[test, EDGES] += 1
        return
    following = test
    if tree.tests_free >= 0:
        test = tree.tests_free
        tree.tests_free = tree.tests[test, NEXT]
    else:
        test = tree.tests_made
        tree.tests_made += 1
        if test == len(tree.tests):
            tree.tests = _longer(tree.tests)
    tree.tests_count += 1
    tree.tests[test, LEVEL], tree.tests[test, NEXT], tree.tests[test, EDGES] = level, following, 1
    if before >= 0:
        tree.tests[before, NEXT] = test
    else:
        tree.nodes[parent, FIRST] = test


@numba.njit(cache=True, nogil=True)
def _remove_edge(tree: Tree, parent: int, level: int) -> None:
    """An edge less at a level of a node, without the test if it was the last."""
    before, test = -1, tree.nodes[parent, FIRST]
    while tree.tests[test, LEVEL] != level:
        before, test = test, tree.tests[test, NEXT]
    tree.tests[test, EDGES] -= 1
    if tree.tests[test, EDGES]:
        return
    if before >= 0:
        tree.tests[before, NEXT] = tree.tests[test, NEXT]
    else:
        tree.nodes[parent, FIRST] = tree.tests[test, NEXT]
    tree.tests[test, NEXT] = tree.tests_free
    tree.tests_free = test
    tree.tests_count -= 1


@numba.njit(cache=True, nogil=True)
def grow_child(tree: Tree, predicates: Predicates, parent: int, number: int) -> int:
    """The node below a parent for an equality, made if there is none."""
    node = child_of(tree.nodes, tree.table, parent, number)
    if node >= 0:
        return node
    if tree.nodes_free >= 0:
        node = tree.nodes_free
        tree.nodes_free = tree.nodes[node, CHAIN]
    else:
        node = tree.nodes_made
        tree.nodes_made += 1
        if node == len(tree.nodes):
            tree.nodes = _longer(tree.nodes)
        reserve_bags(tree.ends, tree.nodes_made)
    tree.nodes_count += 1
    if tree.nodes_count > len(tree.table):
        tree.nodes[node, PARENT] = _FREE  # it has no place yet
        _widen_table(tree)
    place = _place(parent, number, tree.table)
    tree.nodes[node, PARENT], tree.nodes[node, NUMBER] = parent, number
    tree.nodes[node, CHAIN], tree.nodes[node, FIRST] = tree.table[place], -1
    tree.table[place] = node
    _add_edge(tree, parent, tree.levels[number])
    hold_on(predicates, number)
    return int(node)


@numba.njit(cache=True, nogil=True)
def prune(tree: Tree, predicates: Predicates, node: int) -> None:
    """Free a node if nothing ends there or below, and so all nodes above it."""
    while node != ROOT and tree.nodes[node, FIRST] < 0 and tree.ends.counts[node] == 0:
        parent, number = tree.nodes[node, PARENT], tree.nodes[node, NUMBER]
        place = _place(parent, number, tree.table)
        if tree.table[place] == node:
            tree.table[place] = tree.nodes[node, CHAIN]
        else:
            before = tree.table[place]
            while tree.nodes[before, CHAIN] != node:
                before = tree.nodes[before, CHAIN]
            tree.nodes[before, CHAIN] = tree.nodes[node, CHAIN]
        tree.nodes[node, PARENT], tree.nodes[node, CHAIN] = _FREE, tree.nodes_free
        tree.nodes_free = node
        tree.nodes_count -= 1
        _remove_edge(tree, parent, tree.levels[number])
        let_go(predicates, number)
        node = parent


@numba.njit(cache=True, nogil=True)
def tree_counts(tree: Tree) -> tuple[int, int, int, int, int, int, int]:
    """Terms, those that always hold, levels, nodes, tests, edges of both kinds, and nodes of a plain tree.

    A plain tree has a node at every level: all terms end below the last one, and where a node here has its tests,
    the plain one has a chain of don't-care edges down to the last of them.
    """
    always = 0
    for term in numbers_in(tree.ends, ROOT):
        always += 1 if len(predicates_of_term(tree.terms, term)) == 0 else 0
    edges, plain = 0, 0
    for node in range(tree.nodes_made):
        if tree.nodes[node, PARENT] == _FREE:
            continue
        own = -1 if node == ROOT else tree.levels[tree.nodes[node, NUMBER]]
        last, test = 0, tree.nodes[node, FIRST]
        while test >= 0:
            last = tree.tests[test, LEVEL]
            test = tree.tests[test, NEXT]
            edges += 1 if test >= 0 else 0
        if tree.ends.counts[node]:
            last = tree.depth
        plain += last - own
        edges += 1 if node != ROOT else 0
    return tree.terms.count, always, tree.depth, tree.nodes_count, tree.tests_count, edges, plain


@numba.njit(cache=True, nogil=True)
def tree_bytes(tree: Tree) -> tuple[int, int, int, int, int, int, int]:
    """Of nodes, tests, the table of value edges, ends of paths, residues, levels and slots, with free places."""
    residues, slots = term_bytes(tree.terms)
    return (
        16 * tree.nodes_made,
        12 * tree.tests_made,
        tree.table.nbytes,
        bag_bytes(tree.ends) + 4 * tree.terms.made,
        residues,
        tree.axis_levels.nbytes + tree.levels.nbytes,
        slots,
    )


@numba.njit(cache=True, nogil=True)
def tree_work(tree: Tree) -> Ints:
    """What was done since this was asked last; see HELD and so on."""
    done = tree.work.copy()
    tree.work[:] = 0
    return done
