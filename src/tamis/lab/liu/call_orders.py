"""Liu's orders of calls on general formulas: formulas one after the other, for `Matcher(call_order=...)`.

- `sub-order`: formulas in the order of their scores, each by the unit that decides it soonest; formulas that are
  decided meanwhile are skipped (chains in score order).
- `sequential`: all units of a formula that was undecided when its turn came, as long as an undecided formula reads
  them; never more than d times the least number of calls.
- `naive`: units left to right, stopping when the formula is decided; only results are shared.

Formulas, units and cells are those of `tamis.verification.plan`, the state that of `tamis.verification.search`.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.kernels import kernel
from tamis.verification.plan import BITS, CallPlan, UnitFormulas
from tamis.verification.search import ABSENT, UNDECIDED, CallSearchState, NextUnits, Spare, decide

_SUB_ORDER, _SEQUENTIAL, _NAIVE = range(3)
_NUMBERS = {"sub-order": _SUB_ORDER, "sequential": _SEQUENTIAL, "naive": _NAIVE}


class Ranks(NamedTuple):
    """The orders of a plan.

    Attributes:
        costs: Of the units when the orders were computed.
        units: Per formula the places of its units, in the best order to decide this formula alone.
        formulas: In the best order to decide them one after the other.
    """

    costs: F64
    units: I32
    formulas: I32


_ranks: WeakKeyDictionary[CallPlan, Ranks] = WeakKeyDictionary()


def start_order(name: str, plan: CallPlan, rows: int) -> NextUnits:
    """What names the next units in a search over so many rows."""
    ranks, number = ranks_of(plan), _NUMBERS[name]
    largest = int(np.diff(plan.formulas.node_firsts).max(initial=1))
    turns, steps = np.zeros(rows, np.int64), np.full(rows, -1, np.int64)

    def following(rows: I32, spare: Spare, state: CallSearchState) -> tuple[I32, I32]:
        return _next_units(plan.formulas, ranks.units, ranks.formulas, largest, number, turns, steps, rows, state)

    return following


def ranks_of(plan: CallPlan) -> Ranks:
    """The orders of a plan by its current estimates."""
    known = _ranks.get(plan)
    if known is None or known.costs is not plan.costs:  # a refreshed plan has new arrays
        units = _ranked_units(plan.formulas, plan.probabilities, plan.costs)
        order = _order(plan.formulas, units, plan.selectivities, plan.costs)
        known = _ranks[plan] = Ranks(plan.costs, units, order)
    return known


@kernel
def _ranked_units(formulas: UnitFormulas, probabilities: F64, costs: F64) -> I32:
    """Per formula the places of its units, those that decide it soonest for their cost first."""
    ranked = np.zeros(len(formulas.units), np.int32)
    for number in range(len(formulas.node_firsts) - 1):
        first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
        by_unit = np.argsort(formulas.units[first:last])
        rates = np.empty(last - first, np.float64)
        for place in range(first, last):
            rates[place - first] = probabilities[place] / costs[formulas.units[place]]
        # Ties go by unit, so that chains never cross.
        best = np.argsort(-rates[by_unit], kind="mergesort")
        for rank in range(last - first):
            ranked[first + rank] = by_unit[best[rank]]
    return ranked


def _order(formulas: UnitFormulas, ranked: I32, selectivities: F64, costs: F64) -> I32:
    """The formulas by their score, best first: the cost that others save if it is decided before them."""
    scores = _scores(formulas, ranked, _unit_selectivities(formulas, selectivities), costs)
    return np.argsort(-scores, kind="stable").astype(np.int32)


@kernel
def _unit_selectivities(formulas: UnitFormulas, selectivities: F64) -> F64:
    """Per unit of a formula, the selectivity of the conjunction of all leaves of the formula on that unit."""
    found = np.ones(len(formulas.units), np.float64)
    for number in range(len(formulas.node_firsts) - 1):
        first = formulas.unit_firsts[number]
        for node in range(formulas.node_firsts[number], formulas.node_firsts[number + 1]):
            for at in range(formulas.firsts[node], formulas.firsts[node + 1]):
                child = formulas.children[at]
                if child < 0:
                    found[first + formulas.places[~child]] *= selectivities[~child]
    return found


@kernel
def _scores(formulas: UnitFormulas, ranked: I32, selectivities: F64, costs: F64) -> F64:
    """Liu's pairwise gains summed over all other chains: (1 - p)(P * sum of C - C * sum of P), a term a unit.

    P is the probability that everything before a unit in its chain holds, C the expected cost up to there.
    """
    count = len(formulas.node_firsts) - 1
    above = np.empty(len(formulas.units), np.float64)
    paid = np.empty(len(formulas.units), np.float64)
    all_above = np.zeros(len(costs), np.float64)
    all_paid = np.zeros(len(costs), np.float64)
    for number in range(count):
        first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
        reach, cost = 1.0, 0.0
        for rank in range(first, last):
            place = first + ranked[rank]
            above[place], paid[place] = reach, cost
            unit = formulas.units[place]
            all_above[unit] += reach
            all_paid[unit] += cost
            cost += reach * costs[unit]
            reach *= selectivities[place]
    scores = np.zeros(count, np.float64)
    for number in range(count):
        for place in range(formulas.unit_firsts[number], formulas.unit_firsts[number + 1]):
            unit = formulas.units[place]
            gain = above[place] * all_paid[unit] - paid[place] * all_above[unit]
            scores[number] += (1.0 - selectivities[place]) * gain
    return scores


@kernel
def _next_units(
    formulas: UnitFormulas,
    ranked: I32,
    order: I32,
    largest: int,
    strategy: int,
    turns: I64,
    steps: I64,
    rows: I32,
    state: CallSearchState,
) -> tuple[I32, I32]:
    """Rows and the unit to evaluate in each next; a row in which all is decided has none."""
    found_rows, found_units = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    verdicts, needed = np.empty(largest, np.uint8), np.empty(largest, np.uint8)
    count = 0
    for at in range(len(rows)):
        unit = _next_in_order(formulas, ranked, order, strategy, turns, steps, rows[at], state, verdicts, needed)
        if unit >= 0:
            found_rows[count], found_units[count] = rows[at], unit
            count += 1
    return found_rows[:count], found_units[:count]


@kernel
def _next_in_order(
    formulas: UnitFormulas,
    ranked: I32,
    order: I32,
    strategy: int,
    turns: I64,
    steps: I64,
    row: int,
    state: CallSearchState,
    verdicts: U8,
    needed: U8,
) -> int:
    """The unit to evaluate next in a row, -1 for none; `turns` and `steps` say in which formula, and where."""
    while turns[row] < len(order):
        number = order[turns[row]]
        first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
        step = steps[row]
        if step < 0:  # its turn has just come
            asked = state.verdicts[row, number] != ABSENT
            if strategy != _NAIVE:
                asked = state.verdicts[row, number] == UNDECIDED
            step = 0 if asked else last - first
        if strategy == _SUB_ORDER and state.verdicts[row, number] != UNDECIDED:
            step = last - first
        while step < last - first:
            place = ranked[first + step] if strategy == _SUB_ORDER else step
            unit = formulas.units[first + place]
            if strategy == _NAIVE:
                verdict, _ = decide(
                    formulas, number, state.status[row], state.coordinates[row], step, verdicts, needed
                )
                if verdict != UNDECIDED:
                    break
                wanted = True
            elif strategy == _SUB_ORDER:
                wanted = state.relevant[row, number] & (1 << min(place, BITS - 1)) != 0
            else:
                wanted = state.users[row, unit] > 0
            if wanted and not state.known[row, unit]:
                steps[row] = step
                return unit
            step += 1
        turns[row] += 1
        steps[row] = -1
    return -1
