"""The verifier of candidates that depend on operators: which pairs of an engine satisfy their residual formulas.

It works in rounds. In each, the search names the next unit for every undecided event; calls of one operator that
differ in constants only are made in one run of it, for all events of the round.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamis.arrays import F64, I32, I64, Bools, RowIndices
from tamis.engines.base import Matches
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import Axis
from tamis.events.batch import EventBatch
from tamis.formulas.expression import Constant, OperatorCall, Typed
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame
from tamis.operators.calls import call_shape
from tamis.operators.meters import meter
from tamis.statistics import Statistics
from tamis.values.column import Column, column_of
from tamis.verification.plan import CallPlan, Unit, allowance
from tamis.verification.residuals import split_formula
from tamis.verification.rounds import RoundCosts, spare_of
from tamis.verification.search import (
    GREEDY,
    HOLDS,
    NULL,
    VALUE,
    CallSearchState,
    Spare,
    empty_state,
    row_bytes,
    start_order,
    start_search,
    update_search,
)

_STATE_BYTES = 1 << 27
"""Memory for the search state of the rows that are verified at a time."""
_REFRESH_SHARE = 0.02
"""Share of the time of verification that may go into recomputing orders of calls."""
_PATIENT_ROUNDS = 4
"""Rounds at the start in which no event makes a needless call."""
_EXPENSIVE = 1e-4
"""Seconds of a call that make an event expensive."""
_LEARNED = 64
"""Results of a round that statistics learn from."""


@dataclass(frozen=True, slots=True)
class CallFamily:
    """Calls of one operator that differ in constants only.

    Attributes:
        pattern: One of them.
        axes: The axis of each unit.
        cells: The cell of each unit.
        constants: Per argument its value in each unit, None if it is no constant.
    """

    pattern: OperatorCall
    axes: Sequence[Axis]
    cells: I64
    constants: Sequence[Column | None]


class CallPolicy(NamedTuple):
    """How calls are made.

    Attributes:
        statistics: What is known of values and costs; verification adds what it learns.
        order: One of `known_orders()`.
    """

    statistics: Statistics | None = None
    order: str = GREEDY


DEFAULT_POLICY = CallPolicy()


class CallVerifier:
    """Residual formulas by the slots of their subscriptions, and their call plan.

    Attributes:
        slots: Ascending; formula i belongs to `slots[i]`.
        forest: The formulas.
    """

    def __init__(self, slots: RowIndices, forest: Forest) -> None:
        self.slots = slots
        self.forest = forest
        self._plan: CallPlan | None = None
        self._families: list[CallFamily] = []
        self._family_of: I32 = np.empty(0, np.int32)
        self._place_of: I64 = np.empty(0, np.int64)
        self._seconds = self._refreshing = 0.0
        self._learned = 0
        self._rounds = RoundCosts()

    def verify(self, frame: Frame, found: Matches, policy: CallPolicy) -> Matches:
        """The pairs of an engine without those whose residual formula does not hold."""
        places, is_open = self._formulas_of(found.slots)
        if not is_open.any():
            return found
        keep = ~is_open
        keep[is_open] = self.holds(frame, found.rows[is_open], places[is_open].astype(np.int32), policy)
        return found if keep.all() else Matches(found.rows[keep], found.slots[keep])

    def expected_seconds(self, rows: int, found: Matches, policy: CallPolicy) -> F64:
        """Of each row, about how long the calls take that its pairs may need; 0 if they need none."""
        plan = self._call_plan(policy.statistics)
        costs = plan.costs.copy()
        costs[plan.cheap] = 0.0
        totals = np.concatenate([np.zeros(1), np.cumsum(costs[plan.formulas.units])])
        of_formula = np.diff(totals[plan.formulas.unit_firsts])
        places, is_open = self._formulas_of(found.slots)
        seconds = np.bincount(found.rows[is_open], of_formula[places[is_open]], minlength=rows)
        return np.asarray(np.minimum(seconds, costs.sum()))  # pairs of an event share calls

    def is_expensive(self, policy: CallPolicy) -> bool:
        """Does a call take longer than finding out who needs it?"""
        plan = self._call_plan(policy.statistics)
        return bool(plan.costs.max(initial=0.0) > _EXPENSIVE)

    def _formulas_of(self, slots: I32) -> tuple[I64, Bools]:
        """The place of each slot among the formulas, and whether it is there."""
        places = np.searchsorted(self.slots, slots)
        places[places == len(self.slots)] = 0
        return places, self.slots[places] == slots if len(self.slots) else np.zeros(len(slots), np.bool_)

    def holds(
        self,
        frame: Frame,
        rows: I32,
        numbers: I32,
        policy: CallPolicy,
    ) -> Bools:
        """For each pair of a row and a formula, whether the formula holds."""
        began = time.perf_counter()
        plan = self._refreshed_plan(policy.statistics)
        order = np.argsort(rows, kind="stable")
        rows, numbers = rows[order], numbers[order]
        distinct, inverse = np.unique(rows, return_inverse=True)
        step = max(1, _STATE_BYTES // row_bytes(plan))
        verdicts = np.empty(len(rows), np.bool_)
        for first in range(0, len(distinct), step):
            low, high = np.searchsorted(inverse, [first, first + step])
            local = (inverse[low:high] - first).astype(np.int32)
            chosen = distinct[first : first + step].astype(np.int64)
            state = self._search(plan, frame.take(chosen), local, numbers[low:high], policy)
            verdicts[low:high] = state.verdicts[local, numbers[low:high]] == HOLDS
        found = np.empty(len(rows), np.bool_)
        found[order] = verdicts
        self._seconds += time.perf_counter() - began
        return found

    def count_users(self, call: OperatorCall) -> int:
        """How many formulas make a call."""
        plan = self._call_plan(None)
        firsts = plan.formulas.user_firsts
        return sum(int(firsts[at + 1] - firsts[at]) for at, unit in enumerate(plan.units) if call in unit.calls)

    def _call_plan(self, statistics: Statistics | None) -> CallPlan:
        """The plan, made when it is first needed."""
        if self._plan is None:
            plan = CallPlan(self.forest, statistics)
            self._families, self._family_of, self._place_of = _group_calls(plan.units)
            self._plan = plan  # last, because several threads may get here
        return self._plan

    def _refreshed_plan(self, statistics: Statistics | None) -> CallPlan:
        """The plan, recomputed from what was learned unless that took too much time already."""
        plan = self._call_plan(statistics)
        if self._learned and self._refreshing <= _REFRESH_SHARE * self._seconds:
            began = time.perf_counter()
            plan.refresh(statistics)
            self._refreshing += time.perf_counter() - began
            self._learned = 0
        return plan

    def _search(
        self,
        plan: CallPlan,
        frame: Frame,
        rows: I32,
        numbers: I32,
        policy: CallPolicy,
    ) -> CallSearchState:
        state = empty_state(plan, frame.rows)
        for unit in plan.cheap.tolist():
            _evaluate_unit(plan.units[unit], frame, np.arange(frame.rows), state)
            state.known[:, unit] = 1
        formulas, largest = plan.formulas, int(np.diff(plan.formulas.node_firsts).max(initial=1))
        probabilities, costs = plan.probabilities, plan.costs
        leaves = -(-len(formulas.children) // len(plan))
        start = allowance.choose(start_search, frame.rows * len(plan.units) + len(rows) * leaves)
        start(formulas, probabilities, costs, largest, rows, numbers, state)
        saved = state.users.sum(axis=0, dtype=np.int64)
        following = start_order(policy.order, plan, frame.rows)
        active = np.unique(rows)
        rounds = 0
        while len(active):
            spare = spare_of(self._rounds, len(active)) if rounds >= _PATIENT_ROUNDS else Spare()
            rounds += 1
            began, calling = time.perf_counter(), _operator_seconds(plan)
            asked, units = following(active, spare, state)
            saved -= np.bincount(units, minlength=len(saved))
            self._evaluate(plan, frame, asked, units, state, policy.statistics)
            users = formulas.user_firsts[units + 1] - formulas.user_firsts[units]
            update = allowance.choose(update_search, int(users.sum()) * leaves)
            update(formulas, probabilities, costs, largest, asked, units, state)
            calling -= _operator_seconds(plan)
            if len(units):
                self._rounds = self._rounds.after(len(units), time.perf_counter() - began + calling)
            active = np.unique(asked)
        for name, callers in plan.by_operator.items():
            counts = meter(name)
            counts.count(saved=max(0, int(saved[callers].sum())))
            if policy.statistics is not None and counts.cost is not None:
                policy.statistics.costs[name] = counts.cost
        return state

    def _evaluate(
        self,
        plan: CallPlan,
        frame: Frame,
        rows: I32,
        units: I32,
        state: CallSearchState,
        statistics: Statistics | None,
    ) -> None:
        """Write the cells of some units in some rows into the state."""
        families = self._family_of[units]
        for number in np.unique(families).tolist():
            here = np.flatnonzero(families == number)
            if number >= 0:
                self._call_family(
                    self._families[number], frame, rows[here], self._place_of[units[here]], state, statistics
                )
                continue
            for unit in np.unique(units[here]).tolist():
                evaluated = plan.units[unit]
                some = rows[here[units[here] == unit]].astype(np.int64)
                column = _evaluate_unit(evaluated, frame, some, state)
                if column is not None and evaluated.attribute is not None:
                    self._learn(evaluated.attribute, column, statistics)

    def _call_family(
        self,
        family: CallFamily,
        frame: Frame,
        rows: I32,
        places: RowIndices,
        state: CallSearchState,
        statistics: Statistics | None,
    ) -> None:
        some = frame.take(rows.astype(np.int64))
        arguments = [
            some.column(argument) if constants is None else constants.take(places)
            for argument, constants in zip(family.pattern.arguments, family.constants, strict=True)
        ]
        column = frame.calls.several(family.pattern, arguments, some.batch_rows)
        cells = family.cells[places]
        axes = {id(family.axes[place].scale): family.axes[place].scale for place in np.unique(places).tolist()}
        if len(axes) == 1:
            coordinates = next(iter(axes.values())).coordinates(column)
        else:
            coordinates = np.empty(len(rows), np.int64)
            for place in np.unique(places).tolist():
                here = np.flatnonzero(places == place)
                coordinates[here] = family.axes[place].scale.coordinates(column.take(here))
        state.coordinates[rows, cells] = np.where(column.valid, coordinates, 0)
        state.status[rows, cells] = np.where(column.valid, VALUE, NULL)
        if len(family.axes) == 1:
            self._learn(family.axes[0].attribute, column, statistics)
        else:
            for at in range(0, len(rows), max(1, len(rows) // _LEARNED)):
                self._learn(family.axes[places[at]].attribute, column.take(np.array([at])), statistics)

    def _learn(self, attribute: Typed, column: Column, statistics: Statistics | None) -> None:
        if statistics is not None:
            statistics.learn(attribute, column)
            self._learned += len(column)


def _operator_seconds(plan: CallPlan) -> float:
    """Seconds that the operators of a plan have taken so far, in all threads."""
    return sum(meter(name).seconds for name in plan.by_operator)


def made_calls(formula: Formula, batch: EventBatch, row: int, calls: Iterable[OperatorCall]) -> set[OperatorCall]:
    """Which of these calls it takes to decide whether one event satisfies a formula."""
    frame = BatchFrame(batch).take(np.array([row]))
    relaxed, residual = split_formula(formula)
    if residual is not None and relaxed.mask(frame)[0]:
        first = np.zeros(1, np.int32)
        CallVerifier(np.zeros(1, np.int64), forest_of([residual])).holds(frame, first, first, DEFAULT_POLICY)
    return {call for call in calls if frame.calls.is_made(call, row)}


def _evaluate_unit(unit: Unit, frame: Frame, rows: RowIndices, state: CallSearchState) -> Column | None:
    """Write the cells of a unit in some rows into the state; gives the values of its attribute on an axis."""
    some = frame.take(rows)
    column = None
    if unit.axis is not None:
        axis, cell = unit.axis
        column = some.column(axis.attribute)
        state.coordinates[rows, cell] = np.where(column.valid, axis.scale.coordinates(column), 0)
        state.status[rows, cell] = np.where(column.valid, VALUE, NULL)
    for predicate, cell in unit.tests:
        state.coordinates[rows, cell] = predicate.mask(some)
        state.status[rows, cell] = VALUE
    return column


def _group_calls(units: Sequence[Unit]) -> tuple[list[CallFamily], I32, RowIndices]:
    """The families; for every unit the number of its family, -1 if it has none, and its place in the family."""
    members: dict[object, list[int]] = {}
    for number, unit in enumerate(units):
        if unit.is_direct:
            members.setdefault(call_shape(unit.calls[0]), []).append(number)
    families: list[CallFamily] = []
    family_of = np.full(len(units), -1, np.int32)
    place_of = np.zeros(len(units), np.int64)
    for numbers in members.values():
        calls = [units[number].calls[0] for number in numbers]
        axes = [units[number].axis for number in numbers]
        family_of[numbers] = len(families)
        place_of[numbers] = np.arange(len(numbers))
        families.append(
            CallFamily(
                calls[0],
                [axis[0] for axis in axes if axis is not None],
                np.array([axis[1] for axis in axes if axis is not None], np.int64),
                [_constant_column(calls, place) for place in range(len(calls[0].arguments))],
            )
        )
    return families, family_of, place_of


def _constant_column(calls: Sequence[OperatorCall], place: int) -> Column | None:
    arguments = [call.arguments[place] for call in calls]
    values = [argument.value for argument in arguments if isinstance(argument, Constant)]
    return column_of(arguments[0].type, values) if len(values) == len(arguments) else None
