"""Formulas of a forest evaluated one by one, for one event: what settles what an index could not decide.

A formula is a graph, so a node's value is remembered while its formula is being evaluated: nested XORs share
nodes, and walking them as a tree would take exponential time. A node is left as soon as it is decided.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches
from tamis.engines.encoding import Encoded
from tamis.engines.forest import INTERVAL, TEST, Forest, Leaves, Nodes, Pieces

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]


class Program(NamedTuple):
    """The formulas: the arrays of a forest.

    tests: how many tests there are.
    depth: how many nodes stand above one another at most.
    """

    leaves: Leaves
    pieces: Pieces
    nodes: Nodes
    roots: Shorts
    tests: int
    depth: int


class Memory(NamedTuple):
    """Room for evaluation, for one thread.

    turn: int64[1]: number of the evaluation under way.
    values: int64[nodes]: twice the turn in which the node was evaluated, plus its value.
    path: int64[depth + 1, 3]: the nodes under way; of each its number, its next child, how many held so far.
    held: uint8[tests]: 1 for the tests that hold in the row under way.
    """

    turn: Ints
    values: Ints
    path: Ints
    held: Bytes


def program_of(forest: Forest) -> Program:
    """The formulas of a forest."""
    nodes = Nodes(*map(np.ascontiguousarray, forest.nodes))
    return Program(
        Leaves(*map(np.ascontiguousarray, forest.leaves)),
        Pieces(*map(np.ascontiguousarray, forest.pieces)),
        nodes,
        np.ascontiguousarray(forest.roots),
        len(forest.tests),
        int(_depth(nodes)),
    )


def memory_for(program: Program) -> Memory:
    """Fresh room."""
    return Memory(
        np.zeros(1, np.int64),
        np.zeros(len(program.nodes.least), np.int64),
        np.zeros((program.depth + 1, 3), np.int64),
        np.zeros(program.tests, np.uint8),
    )


@numba.njit(cache=True, nogil=True)
def _depth(nodes: Nodes) -> int:
    """Of the highest tree; children stand before their parents."""
    depths = np.zeros(len(nodes.least), np.int64)
    highest = 0
    for node in range(len(depths)):
        depth = 0
        for at in range(nodes.firsts[node], nodes.firsts[node + 1]):
            child = nodes.children[at]
            if child >= 0:
                depth = max(depth, depths[child])
        depths[node] = depth + 1
        highest = max(highest, depth + 1)
    return highest


@numba.njit(cache=True, nogil=True)
def leaf_holds(program: Program, leaf: int, event: Encoded, row: int, memory: Memory) -> bool:
    """Does a leaf hold in a row? The row's tests must be in `memory.held`."""
    leaves = program.leaves
    kind = leaves.kinds[leaf]
    if kind == TEST:
        return bool(memory.held[leaves.lows[leaf]])
    line = event.columns[leaves.axes[leaf]]
    if line < 0 or event.valid[line, row] == 0:
        return bool(leaves.nulls[leaf])
    value = event.coordinates[line, row]
    low, high = leaves.lows[leaf], leaves.highs[leaf]
    if kind == INTERVAL:
        return bool(low <= value <= high)
    # The last piece that does not begin above the value.
    last = high
    while low < last:
        middle = (low + last) >> 1
        if program.pieces.lows[middle] <= value:
            low = middle + 1
        else:
            last = middle
    return bool(low > leaves.lows[leaf] and value <= program.pieces.highs[low - 1])


@numba.njit(cache=True, nogil=True)
def formula_holds(program: Program, slot: int, event: Encoded, row: int, memory: Memory) -> bool:
    """Does the formula of a slot hold in a row? The row's tests must be in `memory.held`."""
    root = program.roots[slot]
    if root < 0:
        return leaf_holds(program, ~root, event, row, memory)
    nodes, path = program.nodes, memory.path
    memory.turn[0] += 1
    turn = memory.turn[0]
    top = 0
    path[0, 0], path[0, 1], path[0, 2] = root, nodes.firsts[root], 0
    while True:
        node, at, holding = path[top, 0], path[top, 1], path[top, 2]
        least, last = nodes.least[node], nodes.firsts[node + 1]
        deeper = False
        while holding < least and holding + last - at >= least:
            child = nodes.children[at]
            at += 1
            if child < 0:
                if leaf_holds(program, ~child, event, row, memory):
                    holding += 1
            elif memory.values[child] >> 1 == turn:
                holding += memory.values[child] & 1
            else:
                path[top, 1], path[top, 2] = at, holding
                top += 1
                path[top, 0], path[top, 1], path[top, 2] = child, nodes.firsts[child], 0
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

    firsts: Ints
    tests: Shorts


def row_tests_of(event: Encoded) -> RowTests:
    """Which tests hold in each row, from the rows in which each test holds."""
    firsts = np.zeros(event.rows + 1, np.int64)
    if len(event.hits) == 0:
        return RowTests(firsts, event.tests)
    np.cumsum(np.bincount(event.hits, minlength=event.rows), out=firsts[1:])
    tests = np.repeat(event.tests, np.diff(event.firsts))
    return RowTests(firsts, tests[np.argsort(event.hits, kind="stable")])


class Found(NamedTuple):
    """What an index has found, in the order of rows.

    rows, slots: int32[...]: the pairs, each once.
    sure: uint8[...]: 0 where the formula must be evaluated.
    """

    rows: Shorts
    slots: Shorts
    sure: Bytes


def settled(program: Program, event: Encoded, row_tests: RowTests, found: Found, memory: Memory) -> Matches:
    """The pairs that hold."""
    if found.sure.all():
        return Matches(found.rows, found.slots)
    return Matches(*_settled(program, event, row_tests, found, memory))


@numba.njit(cache=True, nogil=True)
def _settled(
    program: Program, event: Encoded, row_tests: RowTests, found: Found, memory: Memory
) -> tuple[Shorts, Shorts]:
    rows, slots = np.empty_like(found.rows), np.empty_like(found.slots)
    count = 0
    held_row = -1
    for at in range(len(found.rows)):
        row, slot = found.rows[at], found.slots[at]
        if found.sure[at] == 0:
            if row != held_row:
                _hold(row_tests, held_row, 0, memory)
                _hold(row_tests, row, 1, memory)
                held_row = row
            if not formula_holds(program, slot, event, row, memory):
                continue
        rows[count], slots[count] = row, slot
        count += 1
    _hold(row_tests, held_row, 0, memory)
    return rows[:count].copy(), slots[:count].copy()


@numba.njit(cache=True, nogil=True)
def _hold(row_tests: RowTests, row: int, value: int, memory: Memory) -> None:
    """Write 1 before a row is evaluated, and 0 afterwards; row -1 has no tests."""
    if row >= 0:
        for at in range(row_tests.firsts[row], row_tests.firsts[row + 1]):
            memory.held[row_tests.tests[at]] = value
