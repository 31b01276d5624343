"""The evaluator of a formula for one event: it verifies candidates that an index could not decide.

Only events that an index has let through get here, so a formula is walked with short circuits instead of being
computed as a mask over the batch: a node is left as soon as enough of its children hold, or too few are left.

A formula is a graph, not a tree, so the value of a node is remembered for as long as the event stays the same:
nested XORs share nodes, and walking them as a tree would take exponential time. Where a program shares nodes
between formulas, as that of `bitslice` does, a node is evaluated once an event, however many formulas contain it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.engines.base import Matches
from tamis.engines.encoding import EncodedBatch
from tamis.engines.forest import INTERVAL, TEST, Forest
from tamis.kernels import kernel


class FormulaGraph(NamedTuple):
    """Leaves, pieces and nodes of formulas, with the meaning that they have in `tamis.engines.forest`."""

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


class FormulaProgram(NamedTuple):
    """A graph as it is evaluated: a node is one record, so that reading it waits for memory once.

    A record is the number of children times 8, plus SHARED if its value is remembered, plus ALL, ANY or AT_LEAST;
    then how many children must hold if that is AT_LEAST; then the place where its value is remembered if it is
    SHARED; then its children. Nodes are named by the places of their records, leaves as in the graph. Children
    stand before their parents, mostly next to them.

    One flat tuple, because its arrays are stored in segments under these names.

    sizes: int64[3]: how many nodes there are, how many stand above one another at most, and how many values are
        remembered.
    """

    kinds: U8
    nulls: U8
    axes: I32
    lows: I64
    highs: I64
    piece_lows: I64
    piece_highs: I64
    records: I32
    sizes: I64


ALL, ANY, AT_LEAST, SHARED = 0, 1, 2, 4
"""In the first word of a record: which of its children must hold; and that several nodes or roots name it."""
_KIND, _COUNT_SHIFT = 3, 3


class EvaluationMemory(NamedTuple):
    """What one thread needs to evaluate.

    turn: int64[1]: number of the evaluation under way; it never repeats, so nothing has to be cleared.
    values: int64[shared nodes]: twice the turn in which the node was evaluated, plus its value.
    path: int64[depth, 5]: the nodes above the one under way; of each, where its value is remembered or -1, its
        next child, the end of its children, how many must hold, and how many held so far.
    held: uint8[tests]: 1 for the tests that hold in the event under way.
    """

    turn: I64
    values: I64
    path: I64
    held: U8


def program_of(forest: Forest) -> tuple[FormulaProgram, I32]:
    """The formulas of a forest, and where each of them begins."""
    graph = FormulaGraph(*map(np.ascontiguousarray, (*forest.leaves, *forest.pieces, *forest.nodes)))
    program, roots = lay_out(graph, forest.roots.astype(np.int64))
    return program, roots.astype(np.int32)


def lay_out(graph: FormulaGraph, roots: I64) -> tuple[FormulaProgram, I64]:
    """The program of a graph, and the roots in it: places of records, or leaves ~root."""
    least, firsts, children = graph.least, graph.firsts, graph.children
    counts = np.diff(firsts)
    kinds = np.where(least == counts, ALL, np.where(least == 1, ANY, AT_LEAST))
    uses = np.bincount(children[children >= 0], minlength=len(least))
    uses += np.bincount(roots[roots >= 0], minlength=len(least))
    is_shared = uses > 1
    # First words of all records, and their places.
    heads = (counts << _COUNT_SHIFT) + SHARED * is_shared + kinds
    places = np.concatenate([[0], np.cumsum(1 + (kinds == AT_LEAST) + is_shared + counts)])
    if places[-1] >= 1 << 31:
        msg = "formulas of more than 2,147,483,647 words"
        raise OverflowError(msg)
    records = np.empty(int(places[-1]), np.int32)
    sizes = np.array([len(least), 0, 0])
    write_records(heads.astype(np.int32), places, least, firsts, children, records, sizes)
    numbers = np.where(roots >= 0, places[np.maximum(roots, 0)], roots) if len(least) else roots
    return FormulaProgram(*graph[:7], records, sizes), numbers


def child_counts(program: FormulaProgram, nodes: I32) -> I32:
    """How many children nodes have."""
    return program.records[nodes] >> _COUNT_SHIFT


@kernel(borrows=True)
def write_records(
    heads: I32, places: I64, least: I32, firsts: I64, children: I32, records: I32, sizes: I64
) -> None:
    """Fill the records of a program, whose first words and places are given, and its sizes."""
    # The depths of nodes stand in their first words meanwhile: those come back when all parents have seen them.
    for node in range(len(heads)):
        at = places[node] + 1
        if heads[node] & _KIND == AT_LEAST:
            records[at] = least[node]
            at += 1
        if heads[node] & SHARED:
            records[at] = sizes[2]
            sizes[2] += 1
            at += 1
        deepest = 0
        for edge in range(firsts[node], firsts[node + 1]):
            child = children[edge]
            if child >= 0:
                child = places[child]
                deepest = max(deepest, records[child])
            records[at] = child
            at += 1
        records[places[node]] = deepest + 1
        sizes[1] = max(sizes[1], deepest + 1)
    for node in range(len(heads)):
        records[places[node]] = heads[node]


def new_memory(program: FormulaProgram, tests: int) -> EvaluationMemory:
    """Memory for a program and so many tests, with nothing remembered."""
    _, depth, shared = program.sizes.tolist()
    return EvaluationMemory(
        np.zeros(1, np.int64),
        np.zeros(shared, np.int64),
        np.zeros((depth, 5), np.int64),
        np.zeros(tests, np.uint8),
    )


@kernel(forceinline=True, borrows=True)
def leaf_holds(
    program: FormulaProgram, leaf: Any, events: EncodedBatch, row: int, memory: EvaluationMemory
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


@kernel(forceinline=True, borrows=True)
def _begin(records: I32, node: Any) -> Any:
    """Of a record: where its value is remembered, or -1; its first child; the end; how many children must hold."""
    head, at, place = np.int64(records[node]), node + 1, np.int64(-1)
    count = head >> _COUNT_SHIFT
    least = np.int64(1) if head & _KIND == ANY else count
    if head & _KIND == AT_LEAST:
        least = np.int64(records[at])
        at += 1
    if head & SHARED:
        place = np.int64(records[at])
        at += 1
    return place, at, at + count, least


@kernel(forceinline=True, borrows=True)
def holds(program: FormulaProgram, root: int, events: EncodedBatch, row: int, memory: EvaluationMemory) -> bool:
    """Does a node, or leaf ~root if it is negative, hold in a row?

    The row's tests must be in `memory.held`, and `memory.turn` must have grown since another row was evaluated.
    The walk keeps its own stack: compiled code that calls itself crashes when numba loads it from its cache.
    """
    if root < 0:
        return leaf_holds(program, ~root, events, row, memory)
    records, values, path, turn = program.records, memory.values, memory.path, memory.turn[0]
    place, at, last, least = _begin(records, np.int64(root))
    if place >= 0 and values[place] >> 1 == turn:
        return bool(values[place] & 1)
    top, holding = 0, 0
    while True:
        # Go on while the node is undecided: too few children hold, but enough are left.
        while holding < least and holding + last - at >= least:
            child = np.int64(records[at])  # whatever it names: no number turns into one of another width
            at += 1
            if child < 0:
                holding += leaf_holds(program, ~child, events, row, memory)
                continue
            below = _begin(records, child)
            if below[0] >= 0 and values[below[0]] >> 1 == turn:
                holding += values[below[0]] & 1
                continue
            path[top, 0], path[top, 1], path[top, 2] = place, at, last
            path[top, 3], path[top, 4] = least, holding
            top += 1
            place, at, last, least = below
            holding = 0
        value = 1 if holding >= least else 0
        if place >= 0:
            values[place] = 2 * turn + value
        if top == 0:
            return value != 0
        top -= 1
        place, at, last = path[top, 0], path[top, 1], path[top, 2]
        least, holding = path[top, 3], path[top, 4] + value


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


@kernel(borrows=True)
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
    found = Matches(np.empty_like(candidates.rows), np.empty_like(candidates.slots))
    count = _verify(program, roots, events, row_tests, candidates, memory, found)
    return Matches(found.rows[:count].copy(), found.slots[:count].copy())


@kernel(borrows=True)
def _verify(
    program: FormulaProgram,
    roots: I32,
    events: EncodedBatch,
    row_tests: RowTests,
    candidates: Candidates,
    memory: EvaluationMemory,
    found: Matches,
) -> int:
    """Write the candidates that hold to `found`, which has room for all; returns how many."""
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
        found.rows[count], found.slots[count] = row, slot
        count += 1
    set_held(row_tests, held_row, 0, memory)
    return count
