"""The filters with a queue for each level: `general` (thesis, 3.4), and `zero-suppression` (3.5.1).

    Q[1]: satisfied predicates      Q[2]: their parents      Q[3]: ...        one queue for each level and priority

Satisfied predicates go into the queue of level 1, seeds into that of their level. Going up, a node is visited
once, when the results of its children are final; then its parents are queued, each once: always by `general`, only
if the node is true by `zero-suppression`, which therefore needs functions that are false of two falses. A child
that was not visited is false, or undefined. A node reads the results of its children instead of being handed
operands, so that sides are never mixed up; and a result is valid only with the stamp of the event, so that nothing
is reset.

All levels of the highest priority come first. The priority of a child is never below that of its parent, so its
result is there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import RowTests
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import postings_in, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates, satisfied_buffer, satisfied_in
from tamis.lab.jewel.dag.kernels.functions import (
    AND,
    CONSTANT,
    LESS,
    PREDICATE,
    TRUE,
    UNEQUAL,
    XNOR,
    calculate,
    combine,
    compare,
    is_sum,
    is_topmost,
    sum_bound,
)
from tamis.lab.jewel.dag.kernels.nodes import HAS_SLOTS, PRIORITIES, PRIORITY, Graph, next_serial
from tamis.lab.jewel.dag.kernels.pairs import rows_of, with_slots_of


class Queues(NamedTuple):
    """Scratch space and input of the filters with queues.

    firsts: int32[priorities * (levels + 1)]: the first node of the queue of a priority and level, or -1.
    following: int32[nodes]: the next node in the same queue.
    true: int32[nodes]: the nodes of an event that are true and have slots.
    values: float64[nodes]: results that are values; empty if the graph has no such functions.
    readings: float64[lines, rows]: attribute values, NaN where undefined.
    lines: int32[axes]: the line of each axis there, -1 if no node reads it.
    """

    firsts: I32
    following: I32
    true: I32
    values: F64
    readings: F64
    lines: I32


@kernel
def _operand_value(graph: Graph, values: F64, node: int, truth: int) -> float:
    """The value of a child, NaN if it is undefined."""
    if graph.functions[node] == CONSTANT:
        bits = np.empty(1, np.int64)
        bits[0] = (np.int64(graph.lefts[node]) << 32) | (np.int64(graph.rights[node]) & 0xFFFFFFFF)
        return float(bits.view(np.float64)[0])
    return float(values[node]) if graph.stamps[node] == truth else math.nan


@kernel
def _sum_share(graph: Graph, values: F64, node: int, truth: int) -> float:
    """What a child adds to a partial sum of "at least k"."""
    if graph.stamps[node] != truth:
        return 0.0
    return float(values[node]) if is_sum(graph.functions[node]) else 1.0


@kernel
def _compute_value(graph: Graph, values: F64, node: int, truth: int) -> bool:
    """Compute a node whose children have values; returns whether it is true, or has a value."""
    function, left, right = graph.functions[node], graph.lefts[node], graph.rights[node]
    if is_sum(function) or is_topmost(function):
        bound = float(sum_bound(function))
        value = _sum_share(graph, values, left, truth)
        if value < bound:
            value = min(value + _sum_share(graph, values, right, truth), bound)
        values[node] = value
        return value > 0.0 if is_sum(function) else value == bound
    one, other = _operand_value(graph, values, left, truth), _operand_value(graph, values, right, truth)
    if LESS <= function <= UNEQUAL:
        return compare(function, one, other)
    values[node] = calculate(function, one, other)
    return not math.isnan(values[node])


@kernel
def _run_levels(graph: Graph, serial: int, queues: Queues, suppress: int) -> tuple[int, int]:
    """Empty all queues, level by level; returns how many nodes with slots are true, and how many were visited."""
    functions, lefts, rights, levels = graph.functions, graph.lefts, graph.rights, graph.levels
    stamps, traits = graph.stamps, graph.traits
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    firsts, following, true = queues.firsts, queues.following, queues.true
    levels_up = graph.highest + 1
    truth = serial + 1
    count, visits = 0, 0
    for priority in range(PRIORITIES - 1, -1, -1):
        if graph.by_priority[priority] == 0:
            continue
        for queue in range(priority * levels_up + 1, (priority + 1) * levels_up):
            node = firsts[queue]
            firsts[queue] = -1
            while node >= 0:
                visits += 1
                function = functions[node]
                if AND <= function <= XNOR:
                    left, right = stamps[lefts[node]] == truth, stamps[rights[node]] == truth
                    is_true = combine(function, left, right)
                elif function == PREDICATE or function == TRUE:
                    is_true = True
                else:
                    is_true = _compute_value(graph, queues.values, node, truth)
                if is_true:
                    stamps[node] = truth
                    if traits[node] & HAS_SLOTS:
                        true[count] = node
                        count += 1
                if is_true or not suppress:
                    for run in range(run_count(counts, heads, cells, node)):
                        start, end = run_bounds(counts, heads, cells, node, run)
                        for place in range(start, end):
                            parent = cells[place]
                            if stamps[parent] < serial:
                                stamps[parent] = serial
                                at = (traits[parent] & PRIORITY) * levels_up + levels[parent]
                                following[parent], firsts[at] = firsts[at], parent
                node = following[node]
    return count, visits


@kernel
def match_by_levels(
    graph: Graph,
    predicates: Predicates,
    event: EncodedBatch,
    tests: RowTests,
    with_null: I32,
    queues: Queues,
    suppress: int,
) -> tuple[I32, I32, I64]:
    """Rows and slots of all pairs, and int64[rows]: how many nodes were visited.

    `suppress` is 1 for zero suppression: false results do not propagate.
    """
    held = satisfied_buffer(predicates)
    seeds = postings_in(graph.seeds, 0)
    stamps, traits, levels = graph.stamps, graph.traits, graph.levels
    firsts, following, values = queues.firsts, queues.following, queues.values
    levels_up = graph.highest + 1
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(event.rows, np.int64), np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        serial = next_serial(graph)
        for place in range(satisfied_in(predicates, event, tests, with_null, row, held)):
            leaf = graph.leaf_of[held[place]]
            if leaf < 0:
                continue
            stamps[leaf] = serial
            at = (traits[leaf] & PRIORITY) * levels_up + 1
            following[leaf], firsts[at] = firsts[at], leaf
            if len(values):
                axis = predicates.axes[held[place]]
                line = queues.lines[axis] if axis >= 0 else -1
                values[leaf] = queues.readings[line, row] if line >= 0 else math.nan
        for node in seeds:
            stamps[node] = serial
            at = (traits[node] & PRIORITY) * levels_up + levels[node]
            following[node], firsts[at] = firsts[at], node
        true, visited[row] = _run_levels(graph, serial, queues, suppress)
        found, count = with_slots_of(graph.slots, queues.true[:true], found, count)
        ends[row] = count
    return rows_of(ends, count), found[:count].copy(), visited
