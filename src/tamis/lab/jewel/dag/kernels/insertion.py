"""Insertion (thesis, 3.6.2): expressions get the brackets that reuse the most nodes.

An operator of many operands becomes nodes of two children; the order of operands stays, the brackets are chosen.
For AND of a, b, c, where b AND c is a node already:

    cost of (a b) c:  a AND b is new, so is the whole: 2
    cost of a (b c):  b AND c exists, the whole is new: 1      -> chosen

Dynamic programming over all parts of the row of operands finds the cheapest brackets in O(n^3). Rows longer than
`MAX_ROW` are cut into rows of that length first. The nodes chosen for a part influence later costs, so ties make
this a heuristic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, U8
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import add_posting
from tamis.lab.dynamic.kernels.predicates import Predicates, release_predicate
from tamis.lab.jewel.dag.kernels.functions import CALLED, CONSTANT, FALSE, PREDICATE, TRUE, is_inner, partial_of
from tamis.lab.jewel.dag.kernels.nodes import (
    HAS_SLOTS,
    PRIORITY,
    Graph,
    collect_nodes,
    find_node,
    node_for,
    set_priority,
)
from tamis.lab.jewel.dag.program import ExpressionProgram

MAX_ROW = 24


class BracketRules(NamedTuple):
    """How brackets are chosen.

    by_frequency: the cost of an existing node: 0 for nothing, 1 for the less, the more subscriptions use it. A new
        node costs 1.
    highest: of equally cheap splits, 1 for the last one, 0 for the first one.
    """

    by_frequency: int
    highest: int


class _BracketTable(NamedTuple):
    """The table of the dynamic programme, by first and last operand of a part.

    costs: float64[MAX_ROW, MAX_ROW].
    nodes: int32[MAX_ROW, MAX_ROW]: its existing node, or -1.
    splits: int32[MAX_ROW, MAX_ROW]: the last operand of its first half.
    wanted: uint8[MAX_ROW, MAX_ROW]: 1 if it is in the chosen brackets.
    """

    costs: F64
    nodes: I32
    splits: I32
    wanted: U8


@kernel
def _empty_bracket_table() -> _BracketTable:
    size = (MAX_ROW, MAX_ROW)
    return _BracketTable(
        np.zeros(size, np.float64), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.uint8)
    )


@kernel
def _choose_splits(graph: Graph, row: I32, function: int, rules: BracketRules, table: _BracketTable) -> None:
    """Fill the table: the cheapest split of every part of a row."""
    count = len(row)
    costs, nodes, splits = table.costs, table.nodes, table.splits
    for place in range(count):
        costs[place, place], nodes[place, place] = 0.0, row[place]
    for span in range(1, count):
        joining = function if span == count - 1 else partial_of(function)
        for first in range(count - span):
            last = first + span
            best, best_node, best_split = np.inf, -1, first
            for split in range(first, last):
                left, right = np.int64(nodes[first, split]), np.int64(nodes[split + 1, last])
                node = find_node(graph, joining, left, right) if left >= 0 and right >= 0 else -1
                cost = costs[first, split] + costs[split + 1, last]
                if node < 0:
                    cost += 1.0
                elif rules.by_frequency:
                    cost += 1.0 / (1.0 + graph.uses[node])
                if cost < best or (rules.highest and cost == best):
                    best, best_node, best_split = cost, node, split
            costs[first, last], nodes[first, last], splits[first, last] = best, best_node, best_split


@kernel
def _bracket_row(
    graph: Graph, predicates: Predicates, row: I32, function: int, rules: BracketRules, table: _BracketTable
) -> int:
    """The node of a row of at most `MAX_ROW` operands, in the chosen brackets."""
    count = len(row)
    if count == 1:
        return np.int64(row[0])
    if count == 2:
        return node_for(graph, predicates, function, np.int64(row[0]), np.int64(row[1]))
    _choose_splits(graph, row, function, rules, table)
    nodes, splits, wanted = table.nodes, table.splits, table.wanted
    wanted[:count, :count] = 0
    wanted[0, count - 1] = 1
    for span in range(count - 1, 0, -1):
        for first in range(count - span):
            if wanted[first, first + span]:
                split = splits[first, first + span]
                wanted[first, split] = wanted[split + 1, first + span] = 1
    for span in range(1, count):
        joining = function if span == count - 1 else partial_of(function)
        for first in range(count - span):
            last = first + span
            if wanted[first, last]:
                split = splits[first, last]
                nodes[first, last] = node_for(
                    graph, predicates, joining, np.int64(nodes[first, split]), np.int64(nodes[split + 1, last])
                )
    return np.int64(nodes[0, count - 1])


@kernel
def _join_row(
    graph: Graph, predicates: Predicates, row: I32, function: int, rules: BracketRules, table: _BracketTable
) -> int:
    """The node of a row of operands; overwrites the row."""
    count = len(row)
    while count > MAX_ROW:
        pieces = 0
        for start in range(0, count, MAX_ROW):
            piece = row[start : min(start + MAX_ROW, count)]
            row[pieces] = _bracket_row(graph, predicates, piece, partial_of(function), rules, table)
            pieces += 1
        count = pieces
    return _bracket_row(graph, predicates, row[:count], function, rules, table)


@kernel
def _attach_slot(graph: Graph, root: int, slot: int, priority: int) -> None:
    """Make an expression the formula of a slot: count uses, raise priorities."""
    for place in range(collect_nodes(graph, root)):
        node = np.int64(graph.reached[place])
        graph.uses[node] += 1
        if graph.traits[node] & PRIORITY < priority:
            set_priority(graph, node, priority)
    add_posting(graph.slots, root, slot)
    graph.traits[root] |= HAS_SLOTS
    graph.root_of[slot], graph.slot_priorities[slot] = root, priority
    graph.held += 1


@kernel
def _reserve(graph: Graph, predicates: Predicates, slots: int) -> None:
    """Grow the tables of slots, predicates and axes."""
    old = len(graph.root_of)
    if slots > old:
        length = max(slots, old + old // 2)
        graph.root_of = grow(graph.root_of, length)
        graph.slot_priorities = grow(graph.slot_priorities, length)
        graph.root_of[old:] = -1
    old = len(graph.leaf_of)
    if predicates.made > old:
        graph.leaf_of = grow(graph.leaf_of, max(predicates.made, old + old // 2))
        graph.leaf_of[old:] = -1
    old = len(graph.readers)
    if len(predicates.intervals.axes) > old:
        graph.readers = grow(graph.readers, len(predicates.intervals.axes))
        graph.readers[old:] = 0


@kernel
def insert_all(
    graph: Graph,
    predicates: Predicates,
    program: ExpressionProgram,
    numbers: I32,
    pattern_axes: I32,
    slots: I32,
    priorities: U8,
    rules: BracketRules,
) -> None:
    """Insert expressions into empty slots.

    Args:
        graph: The graph.
        predicates: The interned predicates.
        program: The expressions.
        numbers: int32[leaves]: the predicate of each leaf, with a use that is released here.
        pattern_axes: int32[leaves]: the axis whose NULLs make a pattern unknown to a XOR, -1 elsewhere; or
            nothing.
        slots: int32[expressions].
        priorities: uint8[expressions].
        rules: How brackets are chosen.
    """
    if len(slots):
        _reserve(graph, predicates, np.max(slots) + 1)
    table = _empty_bracket_table()
    known = np.full(len(program.functions), -1, np.int32)
    path = np.empty(len(program.functions) + 1, np.int32)
    nexts = np.empty(len(program.functions) + 1, np.int64)
    for place in range(len(slots)):
        root = program.roots[place]
        depth = 0 if root >= 0 else -1
        path[0], nexts[0] = root, program.firsts[max(root, 0)]
        while depth >= 0:
            term = path[depth]
            end = program.firsts[term + 1] if is_inner(program.functions[term]) else nexts[depth]
            while nexts[depth] < end:
                child = program.children[nexts[depth]]
                if child >= 0 and known[child] < 0:
                    break
                nexts[depth] += 1
            if nexts[depth] < end:
                depth += 1
                path[depth], nexts[depth] = child, program.firsts[child]
                continue
            if known[term] < 0:
                known[term] = _node_of(graph, predicates, program, term, numbers, known, rules, table)
            depth -= 1
        node = known[root] if root >= 0 else node_for(graph, predicates, PREDICATE, np.int64(numbers[~root]), -1)
        _attach_slot(graph, np.int64(node), np.int64(slots[place]), np.int64(priorities[place]))
    for leaf in range(len(pattern_axes)):
        node = graph.leaf_of[numbers[leaf]]
        if node >= 0 and pattern_axes[leaf] >= 0:
            graph.rights[node] = pattern_axes[leaf]
    for number in numbers:
        release_predicate(predicates, np.int64(number))


@kernel
def _node_of(
    graph: Graph,
    predicates: Predicates,
    program: ExpressionProgram,
    term: int,
    numbers: I32,
    known: I32,
    rules: BracketRules,
    table: _BracketTable,
) -> int:
    """The node of a term whose operands have nodes."""
    function, first = np.int64(program.functions[term]), program.firsts[term]
    if function == TRUE or function == FALSE:
        return node_for(graph, predicates, function, 0, 0)
    if function == CALLED:
        return node_for(graph, predicates, function, np.int64(program.children[first]), 0)
    if function == CONSTANT:
        bits = program.constants[program.children[first]]
        return node_for(
            graph, predicates, function, np.int64(np.int32(bits >> 32)), np.int64(np.int32(bits & 0xFFFFFFFF))
        )
    row = program.children[first : program.firsts[term + 1]].copy()
    for place in range(len(row)):
        child = row[place]
        if child >= 0:
            row[place] = known[child]
        else:
            row[place] = node_for(graph, predicates, PREDICATE, np.int64(numbers[~child]), -1)
    return _join_row(graph, predicates, row, function, rules, table)
