"""Putting formulas into the graph, in the brackets that use the most of what is there.

An operator with many operands becomes nodes of two, in brackets of our choice; the order of the operands stays.
The brackets are found by dynamic programming over all parts of the row of operands: the cost of a part is that of
the two parts it is split into, plus that of the node which joins them. More than `LONGEST` operands are cut into
rows of that length first, since the work grows with the cube of it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dag.functions import CONSTANT, FALSE, PREDICATE, TRUE, partial_of
from tamis.engines.dag.nodes import (
    HAS_SLOTS,
    PRIORITY,
    Graph,
    find,
    node_for,
    reach,
    set_priority,
)
from tamis.engines.dag.program import Program
from tamis.engines.dynamic.bags import put_in
from tamis.engines.dynamic.predicates import Predicates, let_go
from tamis.engines.grouping import grown

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

LONGEST = 24


class Rules(NamedTuple):
    """How brackets are chosen.

    by_frequency: what a node costs that is there: 0 nothing, 1 the less the more subscriptions use it. A new node
        costs 1.
    highest: of equally good places to split, 1 the last one, 0 the first one.
    """

    by_frequency: int
    highest: int


class _Table(NamedTuple):
    """Of dynamic programming, by first and last operand of a part.

    costs: float64[LONGEST, LONGEST].
    nodes: int32[LONGEST, LONGEST]: the node that is there for it, or -1.
    splits: int32[LONGEST, LONGEST]: the last operand of its first half.
    wanted: uint8[LONGEST, LONGEST]: is it in the brackets that were chosen?
    """

    costs: npt.NDArray[np.float64]
    nodes: Shorts
    splits: Shorts
    wanted: Bytes


@numba.njit(cache=True, nogil=True)
def _table() -> _Table:
    size = (LONGEST, LONGEST)
    return _Table(
        np.zeros(size, np.float64), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.uint8)
    )


@numba.njit(cache=True, nogil=True)
def _choose(graph: Graph, row: Shorts, function: int, rules: Rules, table: _Table) -> None:
    """Where to split every part of a row."""
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
                node = find(graph, joining, left, right) if left >= 0 and right >= 0 else -1
                cost = costs[first, split] + costs[split + 1, last]
                if node < 0:
                    cost += 1.0
                elif rules.by_frequency:
                    cost += 1.0 / (1.0 + graph.uses[node])
                if cost < best or (rules.highest and cost == best):
                    best, best_node, best_split = cost, node, split
            costs[first, last], nodes[first, last], splits[first, last] = best, best_node, best_split


@numba.njit(cache=True, nogil=True)
def _bracketed(
    graph: Graph, predicates: Predicates, row: Shorts, function: int, rules: Rules, table: _Table
) -> int:
    """The node of a row of operands that is not too long."""
    count = len(row)
    if count == 1:
        return np.int64(row[0])
    if count == 2:
        return node_for(graph, predicates, function, np.int64(row[0]), np.int64(row[1]))
    _choose(graph, row, function, rules, table)
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


@numba.njit(cache=True, nogil=True)
def _joined(graph: Graph, predicates: Predicates, row: Shorts, function: int, rules: Rules, table: _Table) -> int:
    """The node of a row of operands; the row is written over."""
    count = len(row)
    while count > LONGEST:
        pieces = 0
        for start in range(0, count, LONGEST):
            piece = row[start : min(start + LONGEST, count)]
            row[pieces] = _bracketed(graph, predicates, piece, partial_of(function), rules, table)
            pieces += 1
        count = pieces
    return _bracketed(graph, predicates, row[:count], function, rules, table)


@numba.njit(cache=True, nogil=True)
def _adopt(graph: Graph, root: int, slot: int, priority: int) -> None:
    """Let a slot use an expression."""
    for place in range(reach(graph, root)):
        node = np.int64(graph.reached[place])
        graph.uses[node] += 1
        if graph.traits[node] & PRIORITY < priority:
            set_priority(graph, node, priority)
    put_in(graph.slots, root, slot)
    graph.traits[root] |= HAS_SLOTS
    graph.root_of[slot], graph.slot_priorities[slot] = root, priority
    graph.held += 1


@numba.njit(cache=True, nogil=True)
def _reserve(graph: Graph, predicates: Predicates, slots: int) -> None:
    """Let there be room for so many slots, and for all predicates and axes."""
    old = len(graph.root_of)
    if slots > old:
        length = max(slots, old + old // 2)
        graph.root_of = grown(graph.root_of, length)
        graph.slot_priorities = grown(graph.slot_priorities, length)
        graph.root_of[old:] = -1
    old = len(graph.leaf_of)
    if predicates.made > old:
        graph.leaf_of = grown(graph.leaf_of, max(predicates.made, old + old // 2))
        graph.leaf_of[old:] = -1
    old = len(graph.readers)
    if len(predicates.intervals.axes) > old:
        graph.readers = grown(graph.readers, len(predicates.intervals.axes))
        graph.readers[old:] = 0


@numba.njit(cache=True, nogil=True)
def insert_all(
    graph: Graph,
    predicates: Predicates,
    program: Program,
    numbers: Shorts,
    slots: Shorts,
    priorities: Bytes,
    rules: Rules,
) -> None:
    """Put expressions into empty slots.

    Args:
        graph: What changes.
        predicates: Of the leaves.
        program: The expressions.
        numbers: int32[leaves]: the predicate of each leaf, with a use that is let go of here.
        slots: int32[expressions].
        priorities: uint8[expressions].
        rules: How brackets are chosen.
    """
    if len(slots):
        _reserve(graph, predicates, np.max(slots) + 1)
    table = _table()
    known = np.full(len(program.functions), -1, np.int32)
    path = np.empty(len(program.functions) + 1, np.int32)
    nexts = np.empty(len(program.functions) + 1, np.int64)
    for place in range(len(slots)):
        root = program.roots[place]
        depth = 0 if root >= 0 else -1
        path[0], nexts[0] = root, program.firsts[max(root, 0)]
        while depth >= 0:
            term = path[depth]
            end = program.firsts[term + 1] if program.functions[term] > CONSTANT else nexts[depth]
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
        _adopt(graph, np.int64(node), np.int64(slots[place]), np.int64(priorities[place]))
    for number in numbers:
        let_go(predicates, np.int64(number))


@numba.njit(cache=True, nogil=True)
def _node_of(
    graph: Graph,
    predicates: Predicates,
    program: Program,
    term: int,
    numbers: Shorts,
    known: Shorts,
    rules: Rules,
    table: _Table,
) -> int:
    """The node of a term whose operands have theirs."""
    function, first = np.int64(program.functions[term]), program.firsts[term]
    if function == TRUE or function == FALSE:
        return node_for(graph, predicates, function, 0, 0)
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
    return _joined(graph, predicates, row, function, rules, table)
