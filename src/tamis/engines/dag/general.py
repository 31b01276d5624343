"""The filters with queues: `general`, for every function, and `zero-suppression`.

The predicates that hold are put into the queue of level 1, and nodes that are true without them into their own.
Going up level by level, a node is looked at once, when all about its children is known; then its parents are
queued, each once: always by `general`, only if the node is true by `zero-suppression`, which therefore needs
functions that are false of two falses. A child that was not looked at is false, or undefined. A node reads the
results of its children, so that left and right are never mixed up, and nothing has to be reset: a stamp says of
which event a result is.

With priorities there are queues for each: all levels of the highest one first. A child's priority is never below
its parent's, so its result is there.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.conjunctions.formula_program import RowTests
from tamis.engines.dag.functions import (
    AND,
    CONSTANT,
    LESS,
    PREDICATE,
    TRUE,
    UNEQUAL,
    XNOR,
    is_sum,
    is_topmost,
    is_true_of,
    sum_bound,
    truth_of,
    value_of,
)
from tamis.engines.dag.nodes import HAS_SLOTS, PRIORITIES, PRIORITY, Graph, next_serial
from tamis.engines.dag.reporting import rows_of, with_slots_of
from tamis.engines.dynamic.bags import numbers_in, run_of, runs_of
from tamis.engines.dynamic.predicates import Predicates, held_in, room_for_held
from tamis.engines.encoding import Encoded

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Reals: TypeAlias = npt.NDArray[np.float64]


class Queues(NamedTuple):
    """What the filters with queues need besides the graph.

    firsts: int32[priorities * (levels + 1)]: the first node of the queue of a priority and level, or -1.
    following: int32[nodes]: the next node in the same queue.
    true: int32[nodes]: room for those of an event that are true and have slots.
    values: float64[nodes]: results that are values; without nodes if the graph has no such functions.
    readings: float64[lines, rows]: values of attributes, NaN where undefined.
    lines: int32[axes]: of each axis its line there, -1 if nobody reads it.
    """

    firsts: Shorts
    following: Shorts
    true: Shorts
    values: Reals
    readings: Reals
    lines: Shorts


@numba.njit(cache=True, nogil=True)
def _value(graph: Graph, values: Reals, node: int, truth: int) -> float:
    """Of a child; NaN if it is undefined."""
    if graph.functions[node] == CONSTANT:
        bits = np.empty(1, np.int64)
        bits[0] = (np.int64(graph.lefts[node]) << 32) | (np.int64(graph.rights[node]) & 0xFFFFFFFF)
        return float(bits.view(np.float64)[0])
    return float(values[node]) if graph.stamps[node] == truth else math.nan


@numba.njit(cache=True, nogil=True)
def _counted(graph: Graph, values: Reals, node: int, truth: int) -> float:
    """What a child adds to a sum."""
    if graph.stamps[node] != truth:
        return 0.0
    return float(values[node]) if is_sum(graph.functions[node]) else 1.0


@numba.njit(cache=True, nogil=True)
def _has_result(graph: Graph, values: Reals, node: int, truth: int) -> bool:
    """Work out a node whose children have values; gives whether it is true, or has a value."""
    function, left, right = graph.functions[node], graph.lefts[node], graph.rights[node]
    if is_sum(function) or is_topmost(function):
        bound = float(sum_bound(function))
        value = _counted(graph, values, left, truth)
        if value < bound:
            value = min(value + _counted(graph, values, right, truth), bound)
        values[node] = value
        return value > 0.0 if is_sum(function) else value == bound
    one, other = _value(graph, values, left, truth), _value(graph, values, right, truth)
    if LESS <= function <= UNEQUAL:
        return is_true_of(function, one, other)
    values[node] = value_of(function, one, other)
    return not math.isnan(values[node])


@numba.njit(cache=True, nogil=True)
def _climb(graph: Graph, serial: int, queues: Queues, suppress: int) -> tuple[int, int]:
    """Look at all that is queued or comes to be; gives how many nodes with slots are true, and were seen."""
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
                    is_true = truth_of(function, left, right)
                elif function == PREDICATE or function == TRUE:
                    is_true = True
                else:
                    is_true = _has_result(graph, queues.values, node, truth)
                if is_true:
                    stamps[node] = truth
                    if traits[node] & HAS_SLOTS:
                        true[count] = node
                        count += 1
                if is_true or not suppress:
                    for run in range(runs_of(counts, heads, cells, node)):
                        start, end = run_of(counts, heads, cells, node, run)
                        for place in range(start, end):
                            parent = cells[place]
                            if stamps[parent] < serial:
                                stamps[parent] = serial
                                at = (traits[parent] & PRIORITY) * levels_up + levels[parent]
                                following[parent], firsts[at] = firsts[at], parent
                node = following[node]
    return count, visits


@numba.njit(cache=True, nogil=True)
def match_by_levels(
    graph: Graph,
    predicates: Predicates,
    event: Encoded,
    tests: RowTests,
    with_null: Shorts,
    queues: Queues,
    suppress: int,
) -> tuple[Shorts, Shorts, Ints]:
    """All pairs, and the number of nodes that were looked at for each row.

    `suppress` is 1 for zero-suppression: what is false is not passed on.
    """
    held = room_for_held(predicates)
    seeds = numbers_in(graph.seeds, 0)
    stamps, traits, levels = graph.stamps, graph.traits, graph.levels
    firsts, following, values = queues.firsts, queues.following, queues.values
    levels_up = graph.highest + 1
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(event.rows, np.int64), np.zeros(event.rows, np.int64)
    for row in range(event.rows):
        serial = next_serial(graph)
        for place in range(held_in(predicates, event, tests, with_null, row, held)):
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
        true, visited[row] = _climb(graph, serial, queues, suppress)
        found, count = with_slots_of(graph.slots, queues.true[:true], found, count)
        ends[row] = count
    return rows_of(ends, count), found[:count].copy(), visited
