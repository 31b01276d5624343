"""Plans: formulas over calls as arrays, ready to be decided with few calls.

A *unit* is what one decision to call is about: an attribute with calls in it, whose value decides every predicate
on it. A *cell* is what is known of a row after that: the attribute's coordinate on its axis, or whether a test
holds. Units without a call are cheap; they are looked at first, and in no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.dynamic.chances import leaf_chances
from tamis.engines.forest import TEST, Forest, Nodes
from tamis.engines.forest.axes import Axis
from tamis.language.expression import Call, Typed, calls_in
from tamis.operators.calling import calls_of
from tamis.operators.meters import meter
from tamis.operators.registry import OPERATORS
from tamis.predicates.base import Predicate
from tamis.statistics import Statistics

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]

BITS = 63
"""Units of a formula that are told apart; those from here on count as one."""
_UNKNOWN_COST = 1e-3
"""Seconds that a call takes, as long as nobody knows."""


class Formulas(NamedTuple):
    """Formulas as small graphs of their own, and what they ask.

    Node n of a formula needs `least[n]` of `children[firsts[n]:firsts[n + 1]]`: another node, counted from the
    formula's first one, or the ones' complement of a leaf. The last node is the root.
    """

    node_firsts: Ints  # per formula
    least: Shorts
    firsts: Ints
    children: Shorts
    kinds: Bytes  # per leaf, as in a forest
    nulls: Bytes
    lows: Ints
    highs: Ints
    cells: Shorts
    places: Shorts  # of the leaf's unit among those of its formula
    piece_lows: Ints
    piece_highs: Ints
    unit_firsts: Ints  # per formula
    units: Shorts
    user_firsts: Ints  # per unit
    users: Shorts  # formulas
    user_places: Shorts  # of the unit among those of the formula


@dataclass(frozen=True, slots=True)
class Unit:
    """What one decision to call is about.

    Attributes:
        attribute: Its value is asked for; None if all that counts is whether a test holds.
        calls: The operators' calls that it takes, inner ones included; none if it is cheap.
        axis: The axis of the attribute, and its cell.
        tests: Predicates of other kinds, and their cells.
    """

    attribute: Typed | None
    calls: tuple[Call, ...]
    axis: tuple[Axis, int] | None
    tests: tuple[tuple[Predicate, int], ...]

    @property
    def is_direct(self) -> bool:
        """Is it one call on cheap arguments, whose result is all that counts?"""
        return len(self.calls) == 1 and self.attribute == self.calls[0] and not self.tests


class Plan:
    """Formulas that call operators.

    Attributes:
        formulas: As arrays.
        units: What they ask.
        cells: How many there are.
        cheap: The numbers of units without a call.
        by_operator: The numbers of the units that call an operator.
        prices: Expected seconds of each unit.
        weights: Per unit of a formula, how likely it is to decide the formula.
        ranked: Per formula the places of its units, in the order in which it is best decided alone.
        order: The formulas, in the order in which they are best decided one after the other.
    """

    def __init__(self, forest: Forest, statistics: Statistics | None = None) -> None:
        self._forest = forest
        self.units, cells, unit_of_cell, self.cells = _units(forest)
        self.formulas = _formulas(forest, cells, unit_of_cell, len(self.units))
        self.cheap = np.array([number for number, unit in enumerate(self.units) if not unit.calls], np.int32)
        self.by_operator: dict[str, list[int]] = {}
        for number, unit in enumerate(self.units):
            for name in dict.fromkeys(call.operator for call in unit.calls):
                self.by_operator.setdefault(name, []).append(number)
        self.refresh(statistics)

    def __len__(self) -> int:
        """Number of formulas."""
        return len(self._forest)

    def refresh(self, statistics: Statistics | None) -> None:
        """Take what is known of values and of prices into account."""
        self.prices = np.array([_price(unit, statistics) for unit in self.units])
        chances = leaf_chances(self._forest, statistics)
        self.weights, self.ranked = _weights(self.formulas, chances, self.prices)
        self.order = _order(self.formulas, self.ranked, chances, self.prices)


def _price(unit: Unit, statistics: Statistics | None) -> float:
    return max(sum(price_of(call.operator, statistics) for call in unit.calls), 1e-9)


def price_of(operator: str, statistics: Statistics | None) -> float:
    """Expected seconds of a call: as it was measured here, or before, or as it was declared, or a guess."""
    declared = OPERATORS[operator].cost if operator in OPERATORS else None
    known = None if statistics is None else statistics.costs.get(operator)
    return meter(operator).cost or known or declared or _UNKNOWN_COST


def _units(forest: Forest) -> tuple[list[Unit], Shorts, Shorts, int]:
    """The units, the cell of every leaf, the unit of every cell, and the number of cells."""
    kinds, lows = forest.leaves.kinds, forest.leaves.lows
    is_test = kinds == TEST
    tests = np.unique(lows[is_test])
    cells = np.where(is_test, len(forest.axes) + np.searchsorted(tests, lows), forest.leaves.axes)
    numbers: dict[object, int] = {}
    axes: dict[int, tuple[Axis, int]] = {}
    asked: dict[int, list[tuple[Predicate, int]]] = {}
    keys: list[tuple[Typed | None, tuple[Call, ...]]] = []
    unit_of_cell = []

    def number(key: object, attribute: Typed | None, calls: tuple[Call, ...]) -> int:
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


def _formulas(forest: Forest, cells: Shorts, unit_of_cell: Shorts, units: int) -> Formulas:
    leaves, nodes = forest.leaves, forest.nodes
    node_firsts, node_count, child_count = _measured(nodes, forest.roots)
    least = np.empty(node_count, np.int32)
    firsts = np.zeros(node_count + 1, np.int64)
    children = np.empty(child_count, np.int32)
    places = np.zeros(len(leaves.kinds), np.int32)
    unit_firsts = np.zeros(len(forest) + 1, np.int64)
    unit_list = np.empty(child_count, np.int32)
    _grow(
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
    inside = (np.arange(len(unit_list)) - unit_firsts[owners]).astype(np.int32)
    return Formulas(
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
        inside[order],
    )


@numba.njit(cache=True)
def _measured(nodes: Nodes, roots: Shorts) -> tuple[Ints, int, int]:
    """Where the nodes of every formula begin, and how many nodes and children there are."""
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


@numba.njit(cache=True)
def _grow(
    nodes: Nodes,
    roots: Shorts,
    node_firsts: Ints,
    least: Shorts,
    firsts: Ints,
    children: Shorts,
    leaf_units: Shorts,
    places: Shorts,
    unit_firsts: Ints,
    units: Shorts,
) -> None:
    """Write the formulas, each with its own nodes, children before parents, and the units that it asks."""
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
            ordered = np.sort(mine[:count])  # children stand before their parents
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


@numba.njit(cache=True)
def _weights(formulas: Formulas, chances: Floats, prices: Floats) -> tuple[Floats, Shorts]:
    """Per unit of a formula the chance that it decides it, and the places of a formula's units, best first.

    A leaf that fails decides an AND, one that holds decides an OR, and what is between passes a verdict on if all
    that stands beside it agrees.
    """
    count = len(formulas.node_firsts) - 1
    weights = np.zeros(len(formulas.units), np.float64)
    ranked = np.zeros(len(formulas.units), np.int32)
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
                chance = holds[child] if child >= 0 else chances[~child]
                every *= chance
                none *= 1.0 - chance
                total += chance
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
                chance = holds[child] if child >= 0 else chances[~child]
                if least >= high - low:
                    fails, stands = fail_up[node], hold_up[node] * holds[node] / max(chance, 1e-9)
                elif least <= 1:
                    fails, stands = fail_up[node] * (1.0 - holds[node]) / max(1.0 - chance, 1e-9), hold_up[node]
                else:
                    fails, stands = fail_up[node] * 0.5, hold_up[node] * 0.5
                if child >= 0:
                    fail_up[child] = max(fail_up[child], fails)
                    hold_up[child] = max(hold_up[child], stands)
                else:
                    place = first_unit + formulas.places[~child]
                    weights[place] += failing * fails * (1.0 - chance) + holding * stands * chance
        last_unit = formulas.unit_firsts[number + 1]
        by_unit = np.argsort(formulas.units[first_unit:last_unit])
        rates = np.empty(last_unit - first_unit, np.float64)
        for place in range(first_unit, last_unit):
            weights[place] = max(weights[place], 1e-6)
            rates[place - first_unit] = weights[place] / prices[formulas.units[place]]
        # Ties go by unit, so that chains never cross.
        best = np.argsort(-rates[by_unit], kind="mergesort")
        for rank in range(last_unit - first_unit):
            ranked[first_unit + rank] = by_unit[best[rank]]
    return weights, ranked


def _order(formulas: Formulas, ranked: Shorts, chances: Floats, prices: Floats) -> Shorts:
    """The formulas by their score, best first: what others save if it is decided before them."""
    scores = _scores(formulas, ranked, _unit_chances(formulas, chances), prices)
    return np.argsort(-scores, kind="stable").astype(np.int32)


@numba.njit(cache=True)
def _unit_chances(formulas: Formulas, chances: Floats) -> Floats:
    """Per unit of a formula, the chance that what the formula asks of it holds, as if it asked for all of it."""
    found = np.ones(len(formulas.units), np.float64)
    for number in range(len(formulas.node_firsts) - 1):
        first = formulas.unit_firsts[number]
        for node in range(formulas.node_firsts[number], formulas.node_firsts[number + 1]):
            for at in range(formulas.firsts[node], formulas.firsts[node + 1]):
                child = formulas.children[at]
                if child < 0:
                    found[first + formulas.places[~child]] *= chances[~child]
    return found


@numba.njit(cache=True)
def _scores(formulas: Formulas, ranked: Shorts, chances: Floats, prices: Floats) -> Floats:
    """Liu's pairwise gains summed over all other chains: (1 - p)(P * sum of C - C * sum of P), a term a unit.

    P is the chance that everything above a unit in its chain holds, C the price that is expected to be paid there.
    """
    count = len(formulas.node_firsts) - 1
    above = np.empty(len(formulas.units), np.float64)
    paid = np.empty(len(formulas.units), np.float64)
    all_above = np.zeros(len(prices), np.float64)
    all_paid = np.zeros(len(prices), np.float64)
    for number in range(count):
        first, last = formulas.unit_firsts[number], formulas.unit_firsts[number + 1]
        reach, price = 1.0, 0.0
        for rank in range(first, last):
            place = first + ranked[rank]
            above[place], paid[place] = reach, price
            unit = formulas.units[place]
            all_above[unit] += reach
            all_paid[unit] += price
            price += reach * prices[unit]
            reach *= chances[place]
    scores = np.zeros(count, np.float64)
    for number in range(count):
        for place in range(formulas.unit_firsts[number], formulas.unit_firsts[number + 1]):
            unit = formulas.units[place]
            gain = above[place] * all_paid[unit] - paid[place] * all_above[unit]
            scores[number] += (1.0 - chances[place]) * gain
    return scores
