"""Which call to make next for an event: the search for verdicts with few calls, as kernels.

A search is over some rows of a batch and the formulas that are undecided in each. `next_units` names a unit for
each row; the caller evaluates these units, writes their cells and calls `update_search`; so on until every formula
is decided.

The unit comes next that is likely to decide most undecided formulas for its cost. The worth of unit u, with
p(u, f) the probability that u decides formula f and c(u) its cost, is the sum over the undecided formulas f that
read u of

    p(u, f) / c(u)  /  (sum over the units v of f of p(v, f)^2 / c(v))

A formula that any of many units will decide can wait; one that depends on a single unit cannot. The rule was
found by experiment. A heap holds units by their worth at the time they were pushed.
Worth falls when formulas are decided: the pop notices and sinks the unit. Worth rises when fewer units of a
formula remain: then the unit is pushed again. So the top of the heap is never below the true maximum.

This order is called `greedy`. Liu's orders, which decide one formula after the other, are found by their names.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, TypeAlias

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.engines import LABORATORY
from tamis.engines.forest import INTERVAL, PIECES
from tamis.kernels import kernel
from tamis.verification.plan import BITS, CallPlan, UnitFormulas, allowance

GREEDY = "greedy"

ABSENT, UNDECIDED, HOLDS, FAILS = range(4)
UNKNOWN, VALUE, NULL = range(3)
_EVERYTHING = 1 << 30


class CallSearchState(NamedTuple):
    """What is known of every row. The first dimension of every array is the row."""

    status: U8  # per cell: UNKNOWN, VALUE or NULL
    coordinates: I64  # per cell
    known: U8  # per unit
    verdicts: U8  # per formula: ABSENT, UNDECIDED, HOLDS or FAILS
    relevant: I64  # per formula: a bit for each of its units that may still decide it
    scale: F64  # per formula: the sum of squared probabilities over costs, of its relevant units
    worth: F64  # per unit
    users: I32  # per unit: undecided formulas that it may decide
    heap: I32  # units, a binary heap by `heap_worth`; a unit may be in it more than once
    heap_worth: F64  # the worth of a unit when it was pushed
    heap_size: I64  # per row


class Spare(NamedTuple):
    """What a row may spend in a round on calls that may turn out needless, because they save rounds.

    Attributes:
        seconds: All of them together.
        per_call: Seconds of a call beside its operator.
    """

    seconds: float = 0.0
    per_call: float = 0.0


NextUnits: TypeAlias = Callable[[I32, Spare, CallSearchState], tuple[I32, I32]]
"""Of some rows, with what each may spare: those in which something is undecided, and what to evaluate in each."""


def known_orders() -> tuple[str, ...]:
    """The orders of calls: `GREEDY`, and those of the laboratory."""
    return (GREEDY, *import_module(LABORATORY).CALL_ORDERS)


def check_order(name: str) -> str:
    """The name, if there is an order of calls of that name; the laboratory is looked into only for its own.

    Raises:
        ValueError: There is none.
    """
    if name != GREEDY and name not in known_orders():
        msg = f"there is no order of calls {name!r}; known are {', '.join(known_orders())}"
        raise ValueError(msg)
    return name


def start_order(name: str, plan: CallPlan, rows: int) -> NextUnits:
    """What names the next units in a search over so many rows, by one of `known_orders()`."""
    if name == GREEDY:
        return lambda rows, spare, state: allowance.choose(next_units, len(rows))(plan.costs, rows, spare, state)
    module, _, function = import_module(LABORATORY).CALL_ORDERS[name].partition(":")
    found: NextUnits = getattr(import_module(module), function)(name, plan, rows)
    return found


def empty_state(plan: CallPlan, rows: int) -> CallSearchState:
    """The state in which nothing is known of any row and no formula is to be decided."""
    units, formulas = len(plan.units), len(plan)
    return CallSearchState(
        np.zeros((rows, plan.cells), np.uint8),
        np.zeros((rows, plan.cells), np.int64),
        np.zeros((rows, units), np.uint8),
        np.zeros((rows, formulas), np.uint8),
        np.zeros((rows, formulas), np.int64),
        np.zeros((rows, formulas), np.float64),
        np.zeros((rows, units), np.float64),
        np.zeros((rows, units), np.int32),
        np.zeros((rows, 2 * units + 2), np.int32),
        np.zeros((rows, 2 * units + 2), np.float64),
        np.zeros(rows, np.int64),
    )


def row_bytes(plan: CallPlan) -> int:
    """Bytes of state for one row."""
    return 9 * plan.cells + 37 * len(plan.units) + 17 * len(plan) + 32


@kernel
def _leaf_verdict(formulas: UnitFormulas, leaf: int, status: U8, coordinates: I64) -> int:
    """UNDECIDED, HOLDS or FAILS."""
    cell = formulas.cells[leaf]
    if status[cell] == UNKNOWN:
        return UNDECIDED
    if status[cell] == NULL:
        return HOLDS if formulas.nulls[leaf] else FAILS
    at = coordinates[cell]
    low, high = formulas.lows[leaf], formulas.highs[leaf]
    if formulas.kinds[leaf] == INTERVAL:
        return HOLDS if low <= at <= high else FAILS
    if formulas.kinds[leaf] == PIECES:
        for piece in range(low, high):
            if formulas.piece_lows[piece] <= at <= formulas.piece_highs[piece]:
                return HOLDS
        return FAILS
    return HOLDS if at == 1 else FAILS


# Why formulas are evaluated here and in `engines.formula_program.holds`: that one knows the value of every leaf,
# needs two truth values, and stops at the first children that settle a node. Here most calls have not been made
# yet, so a leaf, and each node above it, may also be UNDECIDED, and the walk looks at every child: it must find
# out not only whether the formula is decided, but which units can still decide it, since one of these is called
# next. One function for both would take the third value, and the mask, into the inner loop of every match.
@kernel
def decide(
    formulas: UnitFormulas, number: int, status: U8, coordinates: I64, upto: int, verdicts: U8, needed: U8
) -> tuple[int, int]:
    """The verdict on a formula, and a mask of the units that may still decide it.

    Units at places from `upto` on count as unknown.
    """
    begin, end = formulas.node_firsts[number], formulas.node_firsts[number + 1]
    for node in range(begin, end):
        low, high = formulas.firsts[node], formulas.firsts[node + 1]
        holding, failing = 0, 0
        for at in range(low, high):
            child = formulas.children[at]
            if child >= 0:
                found = verdicts[child]
            elif formulas.places[~child] < upto:
                found = _leaf_verdict(formulas, ~child, status, coordinates)
            else:
                found = UNDECIDED
            if found == HOLDS:
                holding += 1
            elif found == FAILS:
                failing += 1
        least = formulas.least[node]
        if holding >= least:
            verdicts[node - begin] = HOLDS
        elif failing > high - low - least:
            verdicts[node - begin] = FAILS
        else:
            verdicts[node - begin] = UNDECIDED
        needed[node - begin] = 0
    root = end - begin - 1
    if verdicts[root] != UNDECIDED:
        return verdicts[root], 0
    needed[root] = 1
    bits = 0
    for node in range(root, -1, -1):
        if not needed[node]:
            continue
        for at in range(formulas.firsts[begin + node], formulas.firsts[begin + node + 1]):
            child = formulas.children[at]
            if child >= 0:
                if verdicts[child] == UNDECIDED:
                    needed[child] = 1
            elif status[formulas.cells[~child]] == UNKNOWN:
                bits |= np.int64(1) << min(formulas.places[~child], BITS - 1)
    return UNDECIDED, bits


@kernel
def _change_relevant(
    formulas: UnitFormulas,
    probabilities: F64,
    costs: F64,
    state: CallSearchState,
    row: int,
    number: int,
    after: int,
    heaps: bool,
) -> None:
    """Set the mask of the units that may decide a formula, and adjust the worth of all its units."""
    before = state.relevant[row, number]
    state.relevant[row, number] = after
    if after == before:
        return
    first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
    old, new = state.scale[row, number], 0.0
    for place in range(first, last):
        if after & (np.int64(1) << min(place - first, BITS - 1)):
            new += probabilities[place] ** 2 / costs[formulas.units[place]]
    state.scale[row, number] = new
    for place in range(first, last):
        bit = np.int64(1) << min(place - first, BITS - 1)
        unit = formulas.units[place]
        rate = probabilities[place] / costs[unit]
        if before & bit:
            state.worth[row, unit] -= rate / old
            state.users[row, unit] -= 1
        if after & bit:
            state.worth[row, unit] += rate / new
            state.users[row, unit] += 1
            if heaps and new < old and not state.known[row, unit]:
                _push_unit(row, unit, state)


@kernel
def _push_unit(row: int, unit: int, state: CallSearchState) -> None:
    """Push a unit onto the heap of its row; a full heap is rebuilt first, which drops stale entries."""
    size = state.heap_size[row]
    if size == state.heap.shape[1]:
        size = _rebuild_heap(row, state)
    _push(state.heap[row], state.heap_worth[row], size, unit, state.worth[row, unit])
    state.heap_size[row] = size + 1


@kernel
def _rebuild_heap(row: int, state: CallSearchState) -> int:
    """Build the heap of a row from all units that may decide something; gives its size."""
    size = 0
    for unit in range(state.users.shape[1]):
        if state.users[row, unit] > 0 and not state.known[row, unit]:
            _push(state.heap[row], state.heap_worth[row], size, unit, state.worth[row, unit])
            size += 1
    state.heap_size[row] = size
    return size


@kernel
def _push(heap: I32, keys: F64, size: int, unit: int, key: float) -> None:
    at = size
    while at > 0 and keys[(at - 1) // 2] < key:
        heap[at], keys[at] = heap[(at - 1) // 2], keys[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at], keys[at] = unit, key


@kernel
def _sink(heap: I32, keys: F64, size: int, unit: int, key: float) -> None:
    """Replace the top entry, and restore the heap."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        heap[at], keys[at] = heap[child], keys[child]
        at = child
    heap[at], keys[at] = unit, key


@kernel
def start_search(
    formulas: UnitFormulas,
    probabilities: F64,
    costs: F64,
    largest: int,
    rows: I32,
    numbers: I32,
    state: CallSearchState,
) -> None:
    """Enter pairs of rows and formulas that are to be decided; the cells of cheap units are filled already."""
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    for pair in range(len(rows)):
        row, number = rows[pair], numbers[pair]
        found, bits = decide(
            formulas, number, state.status[row], state.coordinates[row], _EVERYTHING, verdicts, needed
        )
        state.verdicts[row, number] = found
        if found == UNDECIDED:
            _change_relevant(formulas, probabilities, costs, state, row, number, bits, False)
    for row in range(len(state.heap_size)):
        _rebuild_heap(row, state)


@kernel
def update_search(
    formulas: UnitFormulas,
    probabilities: F64,
    costs: F64,
    largest: int,
    rows: I32,
    units: I32,
    state: CallSearchState,
) -> None:
    """Decide what can be decided now that the cells of some units in some rows are filled."""
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    for at in range(len(rows)):
        row, unit = rows[at], units[at]
        state.known[row, unit] = 1
        for user in range(formulas.user_firsts[unit], formulas.user_firsts[unit + 1]):
            number = formulas.users[user]
            if state.verdicts[row, number] != UNDECIDED:
                continue
            found, bits = decide(
                formulas, number, state.status[row], state.coordinates[row], _EVERYTHING, verdicts, needed
            )
            state.verdicts[row, number] = found
            _change_relevant(formulas, probabilities, costs, state, row, number, bits, True)


@kernel
def next_units(costs: F64, rows: I32, spare: Spare, state: CallSearchState) -> tuple[I32, I32]:
    """Rows and the units to evaluate in them next; a row in which all is decided has none.

    A row has the best unit, whatever it costs, and the next best ones as long as they fit into `spare` together.
    """
    found_rows, found_units = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    count = 0
    for at in range(len(rows)):
        row = rows[at]
        left = spare.seconds
        is_first = True
        while True:
            unit = _best_unit(row, state)
            if unit < 0:
                break
            if not is_first:
                left -= costs[unit] + spare.per_call
                if left < 0.0:
                    break
            if count == len(found_rows):
                found_rows = np.concatenate((found_rows, np.empty(len(found_rows), np.int32)))
                found_units = np.concatenate((found_units, np.empty(len(found_units), np.int32)))
            found_rows[count], found_units[count] = row, unit
            count += 1
            is_first = False
            state.known[row, unit] = 1  # the caller evaluates it before the next call of this function
    return found_rows[:count], found_units[:count]


@kernel
def _best_unit(row: int, state: CallSearchState) -> int:
    heap, keys = state.heap[row], state.heap_worth[row]
    while state.heap_size[row] > 0:
        unit, size = heap[0], state.heap_size[row]
        if not state.known[row, unit] and state.users[row, unit] > 0:
            worth = state.worth[row, unit]
            if worth >= keys[0]:
                return unit
            _sink(heap, keys, size, unit, worth)
        else:
            _sink(heap, keys, size - 1, heap[size - 1], keys[size - 1])
            state.heap_size[row] = size - 1
    return -1
