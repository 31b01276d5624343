"""Which call to make next for an event: the search for verdicts with few calls, as kernels.

A search is over some rows of a batch and the formulas that are undecided in each. It names one unit a row; whoever
runs it finds out what the unit's cells are and tells; that goes on until everything is decided. Strategies:

- `greedy`: the unit that is likely to decide most of what is undecided, for its price. Ours.
- `sub-order`: formulas one after the other in the order of the plan, each by the unit that decides it soonest;
  what is decided meanwhile is passed over (Liu et al., chains in score order).
- `sequential`: formulas one after the other; all units of one that was undecided when its turn came, as long as
  somebody undecided asks for them (Liu et al.; never more than d times the least number of calls).
- `naive`: formulas one after the other, left to right, stopping when decided; only results are shared.

What a unit is worth is, of every undecided formula that asks for it, the chance to decide it, out of the sum of
squares of all such chances over their prices; and that by its own price. A formula that any of many will decide
need not be hurried, one that hangs on a single unit must. (Found by experiment: docs/operators.md has figures.)
A heap holds units by their worth when they were put there. Worth falls when formulas are decided, which is
noticed at the top; it rises when a formula comes to hang on fewer units, and then the unit is put there again.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from tamis.engines.forest import INTERVAL, PIECES
from tamis.operators.plan import BITS, Bytes, Floats, Formulas, Ints, Plan, Shorts

STRATEGIES = ("greedy", "sub-order", "sequential", "naive")
GREEDY, SUB_ORDER, SEQUENTIAL, NAIVE = range(4)

ABSENT, UNDECIDED, HOLDS, FAILS = range(4)
UNKNOWN, VALUE, NULL = range(3)
_EVERYTHING = 1 << 30


class State(NamedTuple):
    """What is known of every row; all arrays are [rows, ...]."""

    status: Bytes  # per cell: UNKNOWN, VALUE or NULL
    coordinates: Ints  # per cell
    known: Bytes  # per unit
    verdicts: Bytes  # per formula: ABSENT, UNDECIDED, HOLDS or FAILS
    relevant: Ints  # per formula: a bit for each of its units that may still decide it
    scale: Floats  # per formula: the sum of squares of chances over prices
    worth: Floats  # per unit
    users: Shorts  # per unit: undecided formulas that it may decide
    heap: Shorts  # units, that of greatest worth when it was put there on top
    heap_worth: Floats
    heap_size: Ints  # per row
    turn: Ints  # per row: place in the order of formulas
    step: Ints  # per row: place in the formula whose turn it is


def empty_state(plan: Plan, rows: int) -> State:
    """Nothing is known of any row, and nothing asked."""
    units, formulas = len(plan.units), len(plan)
    return State(
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
        np.zeros(rows, np.int64),
        np.full(rows, -1, np.int64),
    )


def row_bytes(plan: Plan) -> int:
    """Memory that the state of one row takes."""
    return 9 * plan.cells + 37 * len(plan.units) + 17 * len(plan) + 48


@numba.njit(cache=True)
def _leaf(formulas: Formulas, leaf: int, status: Bytes, coordinates: Ints) -> int:
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


@numba.njit(cache=True)
def _decide(
    formulas: Formulas, number: int, status: Bytes, coordinates: Ints, upto: int, verdicts: Bytes, needed: Bytes
) -> tuple[int, int]:
    """The verdict on a formula, and the units that may still decide it; only units before `upto` are looked at."""
    begin, end = formulas.node_firsts[number], formulas.node_firsts[number + 1]
    for node in range(begin, end):
        low, high = formulas.firsts[node], formulas.firsts[node + 1]
        holding, failing = 0, 0
        for at in range(low, high):
            child = formulas.children[at]
            if child >= 0:
                found = verdicts[child]
            elif formulas.places[~child] < upto:
                found = _leaf(formulas, ~child, status, coordinates)
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
                bits |= 1 << min(formulas.places[~child], BITS - 1)
    return UNDECIDED, bits


@numba.njit(cache=True)
def _change(
    formulas: Formulas,
    weights: Floats,
    prices: Floats,
    state: State,
    row: int,
    number: int,
    after: int,
    heaps: bool,
) -> None:
    """Other units may decide a formula now than before, and so all of them are worth something else."""
    before = state.relevant[row, number]
    state.relevant[row, number] = after
    if after == before:
        return
    first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
    old, new = state.scale[row, number], 0.0
    for place in range(first, last):
        if after & (1 << min(place - first, BITS - 1)):
            new += weights[place] ** 2 / prices[formulas.units[place]]
    state.scale[row, number] = new
    for place in range(first, last):
        bit = 1 << min(place - first, BITS - 1)
        unit = formulas.units[place]
        rate = weights[place] / prices[unit]
        if before & bit:
            state.worth[row, unit] -= rate / old
            state.users[row, unit] -= 1
        if after & bit:
            state.worth[row, unit] += rate / new
            state.users[row, unit] += 1
            if heaps and new < old and not state.known[row, unit]:
                _put(row, unit, state)


@numba.njit(cache=True)
def _put(row: int, unit: int, state: State) -> None:
    """Put a unit into the heap of its row; when that is full, what is out of date leaves it first."""
    size = state.heap_size[row]
    if size == state.heap.shape[1]:
        size = _fill(row, state)
    _push(state.heap[row], state.heap_worth[row], size, unit, state.worth[row, unit])
    state.heap_size[row] = size + 1


@numba.njit(cache=True)
def _fill(row: int, state: State) -> int:
    """Make the heap of a row anew; gives its size."""
    size = 0
    for unit in range(state.users.shape[1]):
        if state.users[row, unit] > 0 and not state.known[row, unit]:
            _push(state.heap[row], state.heap_worth[row], size, unit, state.worth[row, unit])
            size += 1
    state.heap_size[row] = size
    return size


@numba.njit(cache=True)
def _push(heap: Shorts, keys: Floats, size: int, unit: int, key: float) -> None:
    at = size
    while at > 0 and keys[(at - 1) // 2] < key:
        heap[at], keys[at] = heap[(at - 1) // 2], keys[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at], keys[at] = unit, key


@numba.njit(cache=True)
def _sink(heap: Shorts, keys: Floats, size: int, unit: int, key: float) -> None:
    """Put an entry in the place of the top one."""
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


@numba.njit(cache=True, nogil=True)
def begin(
    formulas: Formulas, weights: Floats, prices: Floats, largest: int, rows: Shorts, numbers: Shorts, state: State
) -> None:
    """Ask some formulas of some rows, after the cheap units were told."""
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    for pair in range(len(rows)):
        row, number = rows[pair], numbers[pair]
        found, bits = _decide(
            formulas, number, state.status[row], state.coordinates[row], _EVERYTHING, verdicts, needed
        )
        state.verdicts[row, number] = found
        if found == UNDECIDED:
            _change(formulas, weights, prices, state, row, number, bits, False)
    for row in range(len(state.turn)):
        _fill(row, state)


@numba.njit(cache=True, nogil=True)
def tell(
    formulas: Formulas,
    weights: Floats,
    prices: Floats,
    largest: int,
    strategy: int,
    rows: Shorts,
    units: Shorts,
    state: State,
) -> None:
    """The cells of some units in some rows are known now."""
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    for at in range(len(rows)):
        row, unit = rows[at], units[at]
        state.known[row, unit] = 1
        for user in range(formulas.user_firsts[unit], formulas.user_firsts[unit + 1]):
            number = formulas.users[user]
            if state.verdicts[row, number] != UNDECIDED:
                continue
            found, bits = _decide(
                formulas, number, state.status[row], state.coordinates[row], _EVERYTHING, verdicts, needed
            )
            state.verdicts[row, number] = found
            _change(formulas, weights, prices, state, row, number, bits, strategy == GREEDY)


@numba.njit(cache=True, nogil=True)
def ask(
    formulas: Formulas,
    prices: Floats,
    ranked: Shorts,
    order: Shorts,
    largest: int,
    strategy: int,
    spare: float,
    rows: Shorts,
    state: State,
) -> tuple[Shorts, Shorts]:
    """Rows and the units to find out about in them; a row in which all is decided has none.

    Most rows have one. With `greedy`, a row has more as long as they cost no more than `spare` seconds together.
    """
    found_rows, found_units = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    count = 0
    for at in range(len(rows)):
        row = rows[at]
        left = spare
        while True:
            if strategy == GREEDY:
                unit = _best(row, state)
            else:
                unit = _next(formulas, ranked, order, strategy, row, state, verdicts, needed)
            if unit < 0:
                break
            if count == len(found_rows):
                found_rows = np.concatenate((found_rows, np.empty(len(found_rows), np.int32)))
                found_units = np.concatenate((found_units, np.empty(len(found_units), np.int32)))
            found_rows[count], found_units[count] = row, unit
            count += 1
            left -= prices[unit]
            if strategy != GREEDY or left < 0.0:
                break
            state.known[row, unit] = 1  # as good as: it is told before anything else is asked
    return found_rows[:count], found_units[:count]


@numba.njit(cache=True)
def _best(row: int, state: State) -> int:
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


@numba.njit(cache=True)
def _next(
    formulas: Formulas,
    ranked: Shorts,
    order: Shorts,
    strategy: int,
    row: int,
    state: State,
    verdicts: Bytes,
    needed: Bytes,
) -> int:
    while state.turn[row] < len(order):
        number = order[state.turn[row]]
        first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
        step = state.step[row]
        if step < 0:  # its turn has just come
            asked = state.verdicts[row, number] != ABSENT
            if strategy != NAIVE:
                asked = state.verdicts[row, number] == UNDECIDED
            step = 0 if asked else last - first
        if strategy == SUB_ORDER and state.verdicts[row, number] != UNDECIDED:
            step = last - first
        while step < last - first:
            place = ranked[first + step] if strategy == SUB_ORDER else step
            unit = formulas.units[first + place]
            if strategy == NAIVE:
                verdict, _ = _decide(
                    formulas, number, state.status[row], state.coordinates[row], step, verdicts, needed
                )
                if verdict != UNDECIDED:
                    break
                wanted = True
            elif strategy == SUB_ORDER:
                wanted = state.relevant[row, number] & (1 << min(place, BITS - 1)) != 0
            else:
                wanted = state.users[row, unit] > 0
            if wanted and not state.known[row, unit]:
                state.step[row] = step
                return unit
            step += 1
        state.turn[row] += 1
        state.step[row] = -1
    return -1
