"""The evaluator of a formula for one event: it verifies candidates that an index could not decide.

Only events that an index has let through get here, so a formula is walked with short circuits instead of being
computed as a mask over the batch: a node is left as soon as enough of its children hold, or too few are left.

A formula is a graph, not a tree, so the value of a node is remembered for as long as the event stays the same:
nested XORs share nodes, and walking them as a tree would take exponential time. Where a program shares nodes
between formulas, as that of `bitslice` does, a node is evaluated once an event, however many formulas contain it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.base import Matches
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest import INTERVAL, TEST, Forest
from tamis.kernels import kernel


class FormulaProgram(NamedTuple):
    """Leaves, pieces and nodes of formulas, with the meaning that they have in `tamis.engines.forest`.

    One flat tuple, because its arrays are stored in segments under these names.
    """

    kinds: U8
    nulls: U8
    axes: I32
    lows: I64
    highs: I64
    piece_lows: I64
    piece_highs: I64
    least: I32
    firsts: I64
    children: I32


class EvaluationMemory(NamedTuple):
    """What one thread needs to evaluate.

    turn: int64[1]: number of the evaluation under way; it never repeats, so nothing has to be cleared.
    values: int64[nodes]: twice the turn in which the node was evaluated, plus its value.
    path: int64[depth + 1, 3]: the nodes under way; of each its number, its next child, how many held so far.
    held: uint8[tests]: 1 for the tests that hold in the event under way.
    """

    turn: I64
    values: I64
    path: I64
    held: U8


def program_of(forest: Forest) -> FormulaProgram:
    """The formulas of a forest; `forest.roots` says where each of them begins."""
    return FormulaProgram(*map(np.ascontiguousarray, (*forest.leaves, *forest.pieces, *forest.nodes)))


def new_memory(program: FormulaProgram, tests: int) -> EvaluationMemory:
    """Memory for a program and so many tests, with nothing remembered."""
    return EvaluationMemory(
        np.zeros(1, np.int64),
        np.zeros(len(program.least), np.int64),
        np.zeros((int(depth(program)) + 1, 3), np.int64),
        np.zeros(tests, np.uint8),
    )


@kernel
def depth(program: FormulaProgram) -> int:
    """How many nodes stand above one another at most; children have lower numbers than their parents."""
    depths = np.zeros(len(program.least), np.int64)
    deepest = 0
    for node in range(len(depths)):
        below = 0
        for at in range(program.firsts[node], program.firsts[node + 1]):
            child = program.children[at]
            if child >= 0:
                below = max(below, depths[child])
        depths[node] = below + 1
        deepest = max(deepest, below + 1)
    return deepest


@kernel(forceinline=True)
def leaf_holds(
    program: FormulaProgram, leaf: int, events: EncodedBatch, row: int, memory: EvaluationMemory
) -> bool:
    """Does a leaf hold in a row? The row's tests must be in `memory.held`."""
    kind = program.kinds[leaf]
    if kind == TEST:
        return bool(memory.held[program.lows[leaf]])
    line = events.columns[program.axes[leaf]]
    if line < 0 or events.valid[line, row] == 0:
        return bool(program.nulls[leaf])
    value = events.coordinates[line, row]
    low, high = program.lows[leaf], program.highs[leaf]
    if kind == INTERVAL:
        return bool(low <= value <= high)
    # Several pieces, rising: the first one that ends at or above the value is the only one that can contain it.
    last = high
    while low < last:
        middle = (low + last) >> 1
        if program.piece_highs[middle] < value:
            low = middle + 1
        else:
            last = middle
    return bool(low < high and program.piece_lows[low] <= value)


@kernel(forceinline=True)
def holds(program: FormulaProgram, root: int, events: EncodedBatch, row: int, memory: EvaluationMemory) -> bool:
    """Does a node, or leaf ~root if it is negative, hold in a row?

    The row's tests must be in `memory.held`, and `memory.turn` must have grown since another row was evaluated.
    The walk keeps its own stack: compiled code that calls itself crashes when numba loads it from its cache.
    """
    if root < 0:
        return leaf_holds(program, ~root, events, row, memory)
    path, turn = memory.path, memory.turn[0]
    if memory.values[root] >> 1 == turn:
        return bool(memory.values[root] & 1)
    top = 0
    path[0, 0], path[0, 1], path[0, 2] = root, program.firsts[root], 0
    while True:
        node, at, holding = path[top, 0], path[top, 1], path[top, 2]
        least, last = program.least[node], program.firsts[node + 1]
        deeper = False
        # Go on while the node is undecided: too few children hold, but enough are left.
        while holding < least and holding + last - at >= least:
            child = program.children[at]
            at += 1
            if child < 0:
                holding += leaf_holds(program, ~child, events, row, memory)
            elif memory.values[child] >> 1 == turn:
                holding += memory.values[child] & 1
            else:
                path[top, 1], path[top, 2] = at, holding
                top += 1
                path[top, 0], path[top, 1], path[top, 2] = child, program.firsts[child], 0
                deeper = True
                break
        if deeper:
            continue
        value = 1 if holding >= least else 0
        memory.values[node] = 2 * turn + value
        if top == 0:
            return value != 0
        top -= 1
        path[top, 2] += value


class RowTests(NamedTuple):
    """The tests that hold in row r are `tests[firsts[r]:firsts[r + 1]]`."""

    firsts: I64
    tests: I32


def row_tests_of(events: EncodedBatch) -> RowTests:
    """Which tests hold in each row, from the rows in which each test holds."""
    firsts = np.zeros(events.rows + 1, np.int64)
    if len(events.hits) == 0:
        return RowTests(firsts, events.tests)
    np.cumsum(np.bincount(events.hits, minlength=events.rows), out=firsts[1:])
    tests = np.repeat(events.tests, np.diff(events.firsts))
    return RowTests(firsts, tests[np.argsort(events.hits, kind="stable")])


@kernel
def set_held(row_tests: RowTests, row: int, value: int, memory: EvaluationMemory) -> None:
    """Mark the tests of a row: write 1 before the row is evaluated, and 0 afterwards. Row -1 has no tests."""
    if row >= 0:
        for at in range(row_tests.firsts[row], row_tests.firsts[row + 1]):
            memory.held[row_tests.tests[at]] = value


class Candidates(NamedTuple):
    """Pairs that an index has found, in the order of rows.

    rows, slots: int32[...]: the pairs, each once.
    sure: uint8[...]: 0 where the formula must be evaluated.
    """

    rows: I32
    slots: I32
    sure: U8


def verify_candidates(
    program: FormulaProgram,
    roots: I32,
    events: EncodedBatch,
    row_tests: RowTests,
    candidates: Candidates,
    memory: EvaluationMemory,
) -> Matches:
    """The pairs of candidates that hold; `roots` has the root of every slot."""
    if candidates.sure.all():
        return Matches(candidates.rows, candidates.slots)
    return Matches(*_verify(program, roots, events, row_tests, candidates, memory))


@kernel
def _verify(
    program: FormulaProgram,
    roots: I32,
    events: EncodedBatch,
    row_tests: RowTests,
    candidates: Candidates,
    memory: EvaluationMemory,
) -> tuple[I32, I32]:
    rows, slots = np.empty_like(candidates.rows), np.empty_like(candidates.slots)
    count = 0
    held_row = -1
    for at in range(len(candidates.rows)):
        row, slot = candidates.rows[at], candidates.slots[at]
        if candidates.sure[at] == 0:
            if row != held_row:
                set_held(row_tests, held_row, 0, memory)
                set_held(row_tests, row, 1, memory)
                held_row = row
                memory.turn[0] += 1
            if not holds(program, roots[slot], events, row, memory):
                continue
        rows[count], slots[count] = row, slot
        count += 1
    set_held(row_tests, held_row, 0, memory)
    return rows[:count].copy(), slots[:count].copy()
