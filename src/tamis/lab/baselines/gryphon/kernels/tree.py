"""The matching tree: nodes, value edges, don't-care edges.

    attribute levels:   0 item     1 price     2 zoom

    root --test 0--(item = 'tv')--> n1 --test 2--(zoom = 3)--> n2      n2 ends: item = 'tv' AND zoom = 3
      '---don't care--test 1--(price = 9)--> n3                        n3 ends: price = 9

Every attribute that an equality was ever about has a level. A value edge stands for an equality and leads to a
node of its own; below it, levels only rise. A node has a test for each level at which value edges leave it, lowest
first, and the don't-care edge of a test leads to the next one: levels at which nothing leaves take no room.
Conjunctions with equal beginnings share nodes. Every node but the root has terms that end there, or a test. Each
edge counts as a use of its predicate.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    reserve_lists,
)
from tamis.lab.dynamic.kernels.predicates import Predicates, release_predicate, retain_predicate
from tamis.lab.dynamic.kernels.terms import Terms, empty_terms, term_bytes, term_predicates

PARENT, NUMBER, CHAIN, FIRST = 0, 1, 2, 3
"""Columns of a node: its parent, the predicate of the edge from there, the next node in the same hash bucket (of a
free node, the next free one), the first test."""
LEVEL, NEXT, EDGES = 0, 1, 2
"""Columns of a test: its level, the next test (of a free one, the next free one), its number of value edges."""
HELD, NODES, TESTS, CANDIDATES, FOUND = 0, 1, 2, 3, 4
"""Counts of work: satisfied predicates, nodes and tests visited, terms verified, terms that held."""
ROOT = 0
_FREE = -2
_MIX = np.uint64(0x9E3779B97F4A7C15)


@struct
class MatchingTree(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_tree`; only compiled code reads its fields.

    terms: all terms, with those predicates that are not on their paths.
    homes: int32[terms]: the node at which the path of a term ends; ends: the terms that end at each node.
    nodes: int32[nodes, 4]: see PARENT and so on.
    nodes_made, nodes_free, nodes_count: nodes ever made, a free one or -1, nodes in use.
    tests: int32[tests, 3]: see LEVEL and so on; tests_made, tests_free, tests_count: as of nodes.
    table: int32[a power of two]: the first node of each hash bucket of (parent, predicate), -1 if there is none.
    axis_levels: int32[axes]: the level of an axis, -1 if it has none; depth: how many levels there are.
    levels: int32[predicates]: the level of an equality, -1 of others.
    work: int64[5]: see HELD and so on.
    """

    terms: Terms
    homes: I32
    ends: PostingLists
    nodes: I32
    nodes_made: int
    nodes_free: int
    nodes_count: int
    tests: I32
    tests_made: int
    tests_free: int
    tests_count: int
    table: I32
    axis_levels: I32
    depth: int
    levels: I32
    work: I64


@kernel
def empty_tree() -> MatchingTree:
    """A tree that has only its root."""
    return MatchingTree(
        empty_terms(),
        np.empty(0, np.int32),
        empty_posting_lists(1),
        *(np.full((1, 4), -1, np.int32), 1, -1, 1),
        *(np.empty((0, 3), np.int32), 0, -1, 0),
        np.full(16, -1, np.int32),
        *(np.empty(0, np.int32), 0, np.empty(0, np.int32)),
        np.zeros(5, np.int64),
    )


@kernel
def _grow_records(records: I32) -> I32:
    count = len(records)
    longer = np.empty((count + count // 2 + 16, records.shape[1]), np.int32)
    longer[:count] = records
    return longer


@kernel
def _bucket_of(parent: int, number: int, table: I32) -> int:
    """The hash bucket of the child of a parent for a predicate."""
    mixed = (np.uint64(parent) << np.uint64(32) | np.uint64(number)) * _MIX
    return int((mixed ^ (mixed >> np.uint64(32))) & np.uint64(len(table) - 1))


@kernel
def child_of(nodes: I32, table: I32, parent: int, number: int) -> int:
    """The child of a parent for a predicate, -1 if there is none."""
    node = table[_bucket_of(parent, number, table)]
    while node >= 0 and (nodes[node, PARENT] != parent or nodes[node, NUMBER] != number):
        node = nodes[node, CHAIN]
    return int(node)


@kernel
def _grow_table(tree: MatchingTree) -> None:
    table = np.full(2 * len(tree.table), -1, np.int32)
    for node in range(ROOT + 1, tree.nodes_made):
        if tree.nodes[node, PARENT] != _FREE:
            place = _bucket_of(tree.nodes[node, PARENT], tree.nodes[node, NUMBER], table)
            tree.nodes[node, CHAIN] = table[place]
            table[place] = node
    tree.table = table


@kernel
def _add_edge(tree: MatchingTree, parent: int, level: int) -> None:
    """Count an edge at a level of a node; the first one makes a test."""
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
            tree.tests = _grow_records(tree.tests)
    tree.tests_count += 1
    tree.tests[test, LEVEL], tree.tests[test, NEXT], tree.tests[test, EDGES] = level, following, 1
    if before >= 0:
        tree.tests[before, NEXT] = test
    else:
        tree.nodes[parent, FIRST] = test


@kernel
def _remove_edge(tree: MatchingTree, parent: int, level: int) -> None:
    """Take back an edge at a level of a node; the last one takes the test with it."""
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


@kernel
def grow_child(tree: MatchingTree, predicates: Predicates, parent: int, number: int) -> int:
    """The child of a parent for an equality, made if it is missing."""
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
            tree.nodes = _grow_records(tree.nodes)
        reserve_lists(tree.ends, tree.nodes_made)
    tree.nodes_count += 1
    if tree.nodes_count > len(tree.table):
        tree.nodes[node, PARENT] = _FREE  # it has no place yet
        _grow_table(tree)
    place = _bucket_of(parent, number, tree.table)
    tree.nodes[node, PARENT], tree.nodes[node, NUMBER] = parent, number
    tree.nodes[node, CHAIN], tree.nodes[node, FIRST] = tree.table[place], -1
    tree.table[place] = node
    _add_edge(tree, parent, tree.levels[number])
    retain_predicate(predicates, number)
    return int(node)


@kernel
def prune(tree: MatchingTree, predicates: Predicates, node: int) -> None:
    """Free a node if nothing ends there or below, and then the nodes above it likewise."""
    while node != ROOT and tree.nodes[node, FIRST] < 0 and tree.ends.counts[node] == 0:
        parent, number = tree.nodes[node, PARENT], tree.nodes[node, NUMBER]
        place = _bucket_of(parent, number, tree.table)
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
        release_predicate(predicates, number)
        node = parent


@kernel
def tree_counts(tree: MatchingTree) -> tuple[int, int, int, int, int, int, int]:
    """The number of terms, of terms that always hold, levels, nodes, tests, edges, and nodes of a plain tree.

    A plain tree has a node at every level: all terms end below the last one, and where a node here has its tests,
    the plain one has a chain of don't-care edges down to the last of them.
    """
    always = 0
    for term in postings_in(tree.ends, ROOT):
        always += 1 if len(term_predicates(tree.terms, term)) == 0 else 0
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


@kernel
def tree_bytes(tree: MatchingTree) -> tuple[int, int, int, int, int, int, int]:
    """Bytes of nodes, tests, the table of value edges, ends of paths, residues, levels and slots."""
    residues, slots = term_bytes(tree.terms)
    return (
        16 * tree.nodes_made,
        12 * tree.tests_made,
        tree.table.nbytes,
        posting_list_bytes(tree.ends) + 4 * tree.terms.made,
        residues,
        tree.axis_levels.nbytes + tree.levels.nbytes,
        slots,
    )


@kernel
def take_work(tree: MatchingTree) -> I64:
    """Counts of the work since the last call; see HELD and so on."""
    done = tree.work.copy()
    tree.work[:] = 0
    return done
