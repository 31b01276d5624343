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

Compiled code cannot call operators, so a call has three answers: yes, no, and not asked yet, which makes nodes
above it possible (*maybe*). Where a formula ends as maybe, one of its calls is asked for, the event is matched
again with the
answer, and so on: a call is made only if a formula depends on it. Free nodes (`nodes.IS_FREE`) are queued for
    every
event and need not queue their parents: a parent that is not free is an AND, which its other child queues.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I8, I32, I64
from tamis.engines.encoding import EncodedBatch
from tamis.engines.formula_program import RowTests
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import postings_in, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates, satisfied_buffer, satisfied_in
from tamis.lab.jewel.dag.kernels.functions import (
    AND,
    CALLED,
    CONSTANT,
    LESS,
    OR,
    PREDICATE,
    TRUE,
    UNEQUAL,
    XNOR,
    XOR_OF_KNOWN,
    calculate,
    combine,
    compare,
    is_sum,
    is_topmost,
    sum_bound,
)
from tamis.lab.jewel.dag.kernels.nodes import HAS_SLOTS, IS_FREE, PRIORITIES, PRIORITY, Graph, next_serial
from tamis.lab.jewel.dag.kernels.pairs import rows_of, with_slots_of
from tamis.lab.jewel.dag.kernels.unknown import is_unknown

NO, YES, UNASKED, ASKED = 0, 1, 2, 3
"""The answers of calls."""
_FIRST_SERIAL = 4
"""The serial number after a reset: what was remembered under later ones is void."""


class Queues(NamedTuple):
    """Scratch space and input of the filters with queues.

    firsts: int32[priorities * (levels + 1)]: the first node of the queue of a priority and level, or -1.
    following: int32[nodes]: the next node in the same queue.
    true: int32[nodes]: the nodes of an event that have slots: from the front those that are true, from the back
        those that may be.
    values: float64[nodes]: results that are values; empty if the graph has no such functions.
    most: float64[nodes]: the sums of "at least k" if all calls that were not made say yes; empty without calls.
    hopes, path: as `is_unknown` takes them; empty without XOR.
    answers: int8[calls, rows].
    readings: float64[lines, rows]: attribute values, NaN where undefined.
    lines: int32[axes]: the line of each axis there, -1 if no node reads it.
    """

    firsts: I32
    following: I32
    true: I32
    values: F64
    most: F64
    hopes: I32
    path: I32
    answers: I8
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
    """What a child adds to a partial sum of "at least k"; with `most` as values, what it may add."""
    if graph.stamps[node] == truth:
        return float(values[node]) if is_sum(graph.functions[node]) else 1.0
    return 0.0


@kernel
def _compute_sum(graph: Graph, queues: Queues, node: int, truth: int) -> int:
    """Compute a sum of "at least k": NO, YES, or UNASKED for maybe; a partial sum is YES if it has a value."""
    left, right, function = graph.lefts[node], graph.rights[node], graph.functions[node]
    bound = float(sum_bound(function))
    value = _sum_share(graph, queues.values, left, truth)
    if value < bound:
        value = min(value + _sum_share(graph, queues.values, right, truth), bound)
    queues.values[node] = value
    most = value
    if len(queues.most):
        most = 0.0
        for child in (left, right):
            is_maybe = graph.stamps[child] == truth + 1
            most += 1.0 if is_maybe else _sum_share(graph, queues.most, child, truth)
        most = min(most, bound)
        queues.most[node] = most
    if is_sum(function):
        return YES if most > 0.0 else NO
    return YES if value == bound else UNASKED if most == bound else NO


@kernel
def _compute_value(graph: Graph, values: F64, node: int, truth: int) -> bool:
    """Compute a node whose children have values; returns whether it is true, or has a value."""
    function, left, right = graph.functions[node], graph.lefts[node], graph.rights[node]
    one, other = _operand_value(graph, values, left, truth), _operand_value(graph, values, right, truth)
    if LESS <= function <= UNEQUAL:
        return compare(function, one, other)
    values[node] = calculate(function, one, other)
    return not math.isnan(values[node])


@kernel
def _run_levels(
    graph: Graph,
    predicates: Predicates,
    event: EncodedBatch,
    row: int,
    serial: int,
    queues: Queues,
    suppress: int,
) -> tuple[int, int, int]:
    """Empty all queues, level by level.

    Returns how many nodes with slots are true, how many of them may be, and how many nodes were visited.
    """
    functions, lefts, rights, levels = graph.functions, graph.lefts, graph.rights, graph.levels
    stamps, traits = graph.stamps, graph.traits
    counts, heads, cells = graph.parents.counts, graph.parents.heads, graph.parents.cells
    firsts, following, true = queues.firsts, queues.following, queues.true
    levels_up = graph.highest + 1
    truth, maybe = serial + 1, serial + 2
    has_calls = graph.called > 0
    count, open_, visits = 0, 0, 0
    for priority in range(PRIORITIES - 1, -1, -1):
        if graph.by_priority[priority] == 0:
            continue
        for queue in range(priority * levels_up + 1, (priority + 1) * levels_up):
            node = firsts[queue]
            firsts[queue] = -1
            while node >= 0:
                visits += 1
                function = functions[node]
                is_maybe = False
                if AND <= function <= XNOR:
                    left, right = stamps[lefts[node]], stamps[rights[node]]
                    is_true = combine(function, left == truth, right == truth)
                    if has_calls and function <= OR and not is_true:
                        is_maybe = combine(function, left >= truth, right >= truth)
                elif function == PREDICATE or function == TRUE:
                    is_true = True
                elif function == XOR_OF_KNOWN:
                    is_true, other = stamps[lefts[node]] == truth, rights[node]
                    if stamps[other] == truth:
                        is_true, other = not is_true, lefts[node]
                    if is_true:
                        is_true = not is_unknown(
                            graph, predicates, event, row, other, serial, queues.hopes, queues.path
                        )
                elif function == CALLED or is_sum(function) or is_topmost(function):
                    if function == CALLED:
                        state = np.int64(queues.answers[lefts[node], row])
                    else:
                        state = _compute_sum(graph, queues, node, truth)
                    is_true, is_maybe = state == YES, state > YES
                else:
                    is_true = _compute_value(graph, queues.values, node, truth)
                if is_true:
                    stamps[node] = truth
                    if traits[node] & HAS_SLOTS:
                        true[count] = node
                        count += 1
                elif is_maybe:
                    stamps[node] = maybe
                    if traits[node] & HAS_SLOTS:
                        open_ += 1
                        true[len(true) - open_] = node
                if (is_true or not suppress) and traits[node] & IS_FREE == 0:
                    for run in range(run_count(counts, heads, cells, node)):
                        start, end = run_bounds(counts, heads, cells, node, run)
                        for place in range(start, end):
                            parent = cells[place]
                            if stamps[parent] < serial:
                                stamps[parent] = serial
                                at = (traits[parent] & PRIORITY) * levels_up + levels[parent]
                                following[parent], firsts[at] = firsts[at], parent
                node = following[node]
    return count, open_, visits


@kernel
def _is_open(graph: Graph, queues: Queues, node: int, serial: int) -> bool:
    """Does the result of a node depend on a call that was not made?"""
    if graph.stamps[node] == serial + 1 and is_sum(graph.functions[node]):
        return bool(queues.most[node] > queues.values[node])
    return bool(graph.stamps[node] == serial + 2)


@kernel
def _ask(graph: Graph, queues: Queues, node: int, serial: int, row: int) -> None:
    """Mark one call that a node depends on; of two operands the one that is nearer to its predicates."""
    while graph.functions[node] != CALLED:
        left, right = graph.lefts[node], graph.rights[node]
        first, second = (left, right) if graph.levels[left] <= graph.levels[right] else (right, left)
        node = np.int64(first if _is_open(graph, queues, first, serial) else second)
    queues.answers[graph.lefts[node], row] = ASKED


@kernel
def match_by_levels(
    graph: Graph,
    predicates: Predicates,
    event: EncodedBatch,
    tests: RowTests,
    with_null: I32,
    rows: I64,
    queues: Queues,
    suppress: int,
) -> tuple[I32, I32, I64, I64]:
    """Match some rows; `suppress` is 1 for zero suppression: false results do not propagate.

    Returns the places in `rows` and the slots of all pairs; the rows that need answers, which have no pairs yet,
    and whose calls are marked in `queues.answers`; and how many nodes each row visited.
    """
    held = satisfied_buffer(predicates)
    seeds = postings_in(graph.seeds, 0)
    stamps, traits, levels = graph.stamps, graph.traits, graph.levels
    firsts, following, values = queues.firsts, queues.following, queues.values
    levels_up = graph.highest + 1
    found, count = np.empty(1024, np.int32), 0
    ends, visited = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    open_rows, open_count = np.empty(len(rows), np.int64), 0
    for place_of_row, row in enumerate(rows):
        serial = next_serial(graph)
        if serial == _FIRST_SERIAL:
            queues.hopes[:] = 0
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
        true, maybe, visited[place_of_row] = _run_levels(graph, predicates, event, row, serial, queues, suppress)
        if maybe:
            for node in queues.true[len(queues.true) - maybe :]:
                _ask(graph, queues, np.int64(node), serial, row)
            open_rows[open_count] = row
            open_count += 1
        else:
            found, count = with_slots_of(graph.slots, queues.true[:true], found, count)
        ends[place_of_row] = count
    return rows_of(ends, count), found[:count].copy(), open_rows[:open_count].copy(), visited
