"""Call plans: residual formulas as arrays, with the estimates by which a search decides them with few calls.

A *unit* is the object of one decision to call: an attribute with calls in it, whose value decides every predicate
on that attribute. A *cell* holds what is known of a row once a unit is evaluated: the attribute's coordinate on
its axis, or whether a test holds. Units without calls are cheap; they are evaluated first, in no particular order.

Example: `people(image) > 2 AND (plate(image) = 'x' OR speed > 90)` has three units of one cell each:
`people(image)`, `plate(image)` and the cheap `speed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.forest import TEST, Forest, Nodes
from tamis.engines.forest.axes import Axis
from tamis.engines.selectivity import leaf_selectivities
from tamis.formulas.calls import calls_of
from tamis.formulas.expression import OperatorCall, Typed, calls_in
from tamis.formulas.predicates.base import Predicate
from tamis.interpretation import Allowance
from tamis.kernels import kernel
from tamis.operators.meters import meter
from tamis.operators.registry import OPERATORS
from tamis.statistics import Statistics

BITS = 63
"""Bits of a mask over the units of a formula; units from the last bit on share it."""
_DEFAULT_COST = 1e-3
"""Assumed seconds of a call that was neither measured nor declared."""
allowance = Allowance(to_load=20_000, to_compile=1_000_000)
"""Of leaves of formulas that plans and searches consider without kernels."""


class UnitFormulas(NamedTuple):
    """Formulas as small graphs of their own, and the units that they read.

    Node n of a formula needs `least[n]` of `children[firsts[n]:firsts[n + 1]]`: another node, counted from the
    formula's first one, or the ones' complement of a leaf. The last node is the root.
    """

    node_firsts: I64  # per formula
    least: I32
    firsts: I64
    children: I32
    kinds: U8  # per leaf, as in a forest
    nulls: U8
    lows: I64
    highs: I64
    cells: I32
    places: I32  # of the leaf's unit among those of its formula
    piece_lows: I64
    piece_highs: I64
    unit_firsts: I64  # per formula
    units: I32
    user_firsts: I64  # per unit
    users: I32  # formulas


@dataclass(frozen=True, slots=True)
class Unit:
    """An attribute or test that is evaluated as a whole, with all the calls that this takes.

    Attributes:
        attribute: The expression to evaluate; None if only the truth of a test counts.
        calls: The operator calls that evaluation makes, nested ones included; none if the unit is cheap.
        axis: The axis of the attribute, and its cell.
        tests: Predicates of other kinds, and their cells.
    """

    attribute: Typed | None
    calls: tuple[OperatorCall, ...]
    axis: tuple[Axis, int] | None
    tests: tuple[tuple[Predicate, int], ...]

    @property
    def is_direct(self) -> bool:
        """Is the unit one call on cheap arguments, and nothing but the value of the call?"""
        return len(self.calls) == 1 and self.attribute == self.calls[0] and not self.tests


class CallPlan:
    """Formulas that call operators.

    Attributes:
        formulas: As arrays.
        units: What the formulas read.
        cells: The number of cells.
        cheap: The numbers of units without calls.
        by_operator: For every operator the numbers of the units that call it.
        costs: Expected seconds of each unit.
        probabilities: Per unit of a formula, the probability that it decides the formula.
        selectivities: Of the leaves of all formulas.
    """

    def __init__(self, forest: Forest, statistics: Statistics | None = None) -> None:
        self._forest = forest
        self.units, cells, unit_of_cell, self.cells = _units(forest)
        self.formulas = _formula_arrays(forest, cells, unit_of_cell, len(self.units))
        self.cheap = np.array([number for number, unit in enumerate(self.units) if not unit.calls], np.int32)
        self.by_operator: dict[str, list[int]] = {}
        for number, unit in enumerate(self.units):
            for name in dict.fromkeys(call.operator for call in unit.calls):
                self.by_operator.setdefault(name, []).append(number)
        self.refresh(statistics)

    def __len__(self) -> int:
        return len(self._forest)

    def refresh(self, statistics: Statistics | None) -> None:
        """Compute costs and probabilities from the current statistics."""
        self.costs = np.array([_unit_cost(unit, statistics) for unit in self.units])
        self.selectivities = leaf_selectivities(self._forest, statistics)
        decide = allowance.choose(_decision_probabilities, len(self.formulas.children))
        self.probabilities = decide(self.formulas, self.selectivities)


def _unit_cost(unit: Unit, statistics: Statistics | None) -> float:
    return max(sum(call_cost(call.operator, statistics) for call in unit.calls), 1e-9)


def call_cost(operator: str, statistics: Statistics | None) -> float:
    """Expected seconds of a call: measured in this process, or learned before, or declared, or assumed."""
    declared = OPERATORS[operator].cost if operator in OPERATORS else None
    known = None if statistics is None else statistics.costs.get(operator)
    return meter(operator).cost or known or declared or _DEFAULT_COST


def _units(forest: Forest) -> tuple[list[Unit], I32, I32, int]:
    """The units, the cell of every leaf, the unit of every cell, and the number of cells."""
    kinds, lows = forest.leaves.kinds, forest.leaves.lows
    is_test = kinds == TEST
    tests = np.unique(lows[is_test])
    cells = np.where(is_test, len(forest.axes) + np.searchsorted(tests, lows), forest.leaves.axes)
    numbers: dict[object, int] = {}
    axes: dict[int, tuple[Axis, int]] = {}
    asked: dict[int, list[tuple[Predicate, int]]] = {}
    keys: list[tuple[Typed | None, tuple[OperatorCall, ...]]] = []
    unit_of_cell = []

    def number(key: object, attribute: Typed | None, calls: tuple[OperatorCall, ...]) -> int:
        if key not in numbers:
            numbers[key] = len(keys)
            keys.append((attribute, calls))
        unit_of_cell.append(numbers[key])
        return numbers[key]

    for cell, axis in enumerate(forest.axes):
        axes[number(axis.attribute, axis.attribute, calls_in(axis.attribute))] = axis, cell
    for cell, test in enumerate(tests.tolist(), len(forest.axes)):
        predicate = forest.tests[test]
        calls = calls_of(predicate)
        on_attribute = calls == calls_in(predicate.attribute)
        attribute = predicate.attribute if on_attribute else None
        unit = number(attribute if on_attribute else predicate, attribute, calls)
        asked.setdefault(unit, []).append((predicate, cell))
    units = [
        Unit(attribute, calls, axes.get(unit), tuple(asked.get(unit, ())))
        for unit, (attribute, calls) in enumerate(keys)
    ]
    return units, cells.astype(np.int32), np.array(unit_of_cell, np.int32), len(forest.axes) + len(tests)


def _formula_arrays(forest: Forest, cells: I32, unit_of_cell: I32, units: int) -> UnitFormulas:
    leaves, nodes = forest.leaves, forest.nodes
    work = len(forest) + len(nodes.children)
    node_firsts, node_count, child_count = allowance.choose(_count_nodes, work)(nodes, forest.roots)
    least = np.empty(node_count, np.int32)
    firsts = np.zeros(node_count + 1, np.int64)
    children = np.empty(child_count, np.int32)
    places = np.zeros(len(leaves.kinds), np.int32)
    unit_firsts = np.zeros(len(forest) + 1, np.int64)
    unit_list = np.empty(child_count, np.int32)
    allowance.choose(_write_formulas, work)(
        nodes,
        forest.roots,
        node_firsts,
        least,
        firsts,
        children,
        unit_of_cell[cells],
        places,
        unit_firsts,
        unit_list,
    )
    unit_list = unit_list[: unit_firsts[-1]].copy()
    owners = np.repeat(np.arange(len(forest), dtype=np.int32), np.diff(unit_firsts))
    order = np.argsort(unit_list, kind="stable")
    user_firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(unit_list, minlength=units))])
    return UnitFormulas(
        node_firsts,
        least,
        firsts,
        children,
        leaves.kinds,
        leaves.nulls,
        leaves.lows,
        leaves.highs,
        cells,
        places,
        forest.pieces.lows,
        forest.pieces.highs,
        unit_firsts,
        unit_list,
        user_firsts,
        owners[order],
    )


@kernel
def _count_nodes(nodes: Nodes, roots: I32) -> tuple[I64, int, int]:
    """The first node of every formula, the number of nodes and the number of children."""
    firsts = np.zeros(len(roots) + 1, np.int64)
    seen = np.full(len(nodes.least), -1, np.int32)
    stack = np.empty(len(nodes.least) + 1, np.int32)
    children = 0
    for slot in range(len(roots)):
        count = 0
        if roots[slot] < 0:
            count, children = 1, children + 1
        else:
            stack[0], depth = roots[slot], 1
            seen[roots[slot]] = slot
            while depth:
                depth -= 1
                node = stack[depth]
                count += 1
                for at in range(nodes.firsts[node], nodes.firsts[node + 1]):
                    child = nodes.children[at]
                    children += 1
                    if child >= 0 and seen[child] != slot:
                        seen[child] = slot
                        stack[depth] = child
                        depth += 1
        firsts[slot + 1] = firsts[slot] + count
    return firsts, firsts[-1], children


@kernel
def _write_formulas(
    nodes: Nodes,
    roots: I32,
    node_firsts: I64,
    least: I32,
    firsts: I64,
    children: I32,
    leaf_units: I32,
    places: I32,
    unit_firsts: I64,
    units: I32,
) -> None:
    """Fill the arrays: each formula gets its own nodes, children before parents, and its list of units.

    A node of the forest that several formulas share is copied for each of them, so that the search decides a
    formula by one pass over consecutive nodes.
    """
    local = np.full(len(nodes.least), -1, np.int64)
    mine = np.empty(len(nodes.least), np.int32)
    stack = np.empty(len(nodes.least) + 1, np.int32)
    place_of = np.full(len(units) + 1, -1, np.int32)  # of a unit in the formula at hand, by unit number
    if len(leaf_units):
        place_of = np.full(leaf_units.max() + 1, -1, np.int32)
    at_child, at_unit = 0, 0
    for slot in range(len(roots)):
        begin = node_firsts[slot]
        count = 0
        if roots[slot] >= 0:
            stack[0], depth = roots[slot], 1
            local[roots[slot]] = begin
            while depth:
                depth -= 1
                mine[count] = stack[depth]
                count += 1
                for at in range(nodes.firsts[mine[count - 1]], nodes.firsts[mine[count - 1] + 1]):
                    child = nodes.children[at]
                    if child >= 0 and local[child] < begin:
                        local[child] = begin
                        stack[depth] = child
                        depth += 1
            ordered = np.sort(mine[:count])  # in a forest, children come before their parents
            for number in range(count):
                local[ordered[number]] = begin + number
        first_unit = at_unit
        for number in range(max(count, 1)):
            if count:
                node = ordered[number]
                low, high = nodes.firsts[node], nodes.firsts[node + 1]
                least[begin + number] = nodes.least[node]
            else:
                low, high = 0, 1
                least[begin] = 1
            for at in range(low, high):
                child = nodes.children[at] if count else roots[slot]
                if child >= 0:
                    children[at_child] = local[child] - begin
                else:
                    children[at_child] = child
                    unit = leaf_units[~child]
                    if place_of[unit] < 0:
                        place_of[unit] = at_unit - first_unit
                        units[at_unit] = unit
                        at_unit += 1
                    places[~child] = place_of[unit]
                at_child += 1
            firsts[begin + number + 1] = at_child
        for at in range(first_unit, at_unit):
            place_of[units[at]] = -1
        unit_firsts[slot + 1] = at_unit


@kernel
def _decision_probabilities(formulas: UnitFormulas, selectivities: F64) -> F64:
    """Per unit of a formula the probability that it decides it.

    A leaf that fails decides an AND, one that holds decides an OR. A verdict passes from a node to its parent if
    all siblings agree: `fail_up` and `hold_up` are the probabilities that it passes from a node up to the root.
    """
    count = len(formulas.node_firsts) - 1
    probabilities = np.zeros(len(formulas.units), np.float64)
    size = 1
    for number in range(count):
        size = max(size, formulas.node_firsts[number + 1] - formulas.node_firsts[number])
    holds = np.empty(size, np.float64)
    fail_up = np.empty(size, np.float64)
    hold_up = np.empty(size, np.float64)
    for number in range(count):
        begin = formulas.node_firsts[number]
        nodes = formulas.node_firsts[number + 1] - begin
        for node in range(nodes):
            low, high = formulas.firsts[begin + node], formulas.firsts[begin + node + 1]
            every, none, total = 1.0, 1.0, 0.0
            for at in range(low, high):
                child = formulas.children[at]
                selectivity = holds[child] if child >= 0 else selectivities[~child]
                every *= selectivity
                none *= 1.0 - selectivity
                total += selectivity
            least = formulas.least[begin + node]
            if least >= high - low:
                holds[node] = every
            elif least <= 1:
                holds[node] = 1.0 - none
            else:
                holds[node] = min(1.0 - 1e-6, total / (least + 1.0))
            fail_up[node] = hold_up[node] = 0.0
        root = nodes - 1
        fail_up[root] = hold_up[root] = 1.0
        low, high = formulas.firsts[begin + root], formulas.firsts[begin + root + 1]
        is_and = formulas.least[begin + root] >= high - low
        is_or = formulas.least[begin + root] <= 1 and not is_and
        failing, holding = 0.0 if is_or else 1.0, 0.0 if is_and else 1.0
        first_unit = formulas.unit_firsts[number]
        for node in range(root, -1, -1):
            low, high = formulas.firsts[begin + node], formulas.firsts[begin + node + 1]
            least = formulas.least[begin + node]
            for at in range(low, high):
                child = formulas.children[at]
                selectivity = holds[child] if child >= 0 else selectivities[~child]
                if least >= high - low:
                    fails, stands = fail_up[node], hold_up[node] * holds[node] / max(selectivity, 1e-9)
                elif least <= 1:
                    fails, stands = (
                        fail_up[node] * (1.0 - holds[node]) / max(1.0 - selectivity, 1e-9),
                        hold_up[node],
                    )
                else:
                    fails, stands = fail_up[node] * 0.5, hold_up[node] * 0.5
                if child >= 0:
                    fail_up[child] = max(fail_up[child], fails)
                    hold_up[child] = max(hold_up[child], stands)
                else:
                    place = first_unit + formulas.places[~child]
                    probabilities[place] += failing * fails * (1.0 - selectivity) + holding * stands * selectivity
    return np.maximum(probabilities, 1e-6)
