"""Settling candidates: which of the events that an engine found satisfy the rest of their formulas.

Round by round every event names the unit that it wants to know next; calls of one operator that differ in
constants only are one run of it, for all events of the round.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.base import Matches
from tamis.engines.forest import Forest, forest_of
from tamis.engines.forest.axes import Axis
from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.language.expression import Call, Constant, Typed
from tamis.language.formula import Formula
from tamis.operators.calling import split
from tamis.operators.calls import shape_of
from tamis.operators.meters import meter
from tamis.operators.plan import Plan, Unit
from tamis.operators.search import (
    HOLDS,
    NULL,
    STRATEGIES,
    VALUE,
    State,
    ask,
    begin,
    empty_state,
    row_bytes,
    tell,
)
from tamis.predicates.base import Frame
from tamis.statistics import Statistics
from tamis.values.column import Column, column_of

Places: TypeAlias = npt.NDArray[np.int64]

_STATE_BYTES = 1 << 27
"""Memory for what is known of the rows that are settled at a time."""
_REFRESH_SHARE = 0.02
"""Time that may go into new orders of calls."""
_SPARE = 2e-4
"""Seconds of calls that an event may make too many in a round, to have fewer rounds."""
_PATIENT_ROUNDS = 4
"""Rounds in which no event makes a call too many."""
_LEARNED = 64
"""Answers of a round that are learned from."""


@dataclass(frozen=True, slots=True)
class Family:
    """Calls of one operator that differ in constants only.

    Attributes:
        pattern: One of them.
        axes: Their axes, one a unit.
        cells: The cells of these, one a unit.
        constants: Per argument its value in each unit, None if it is no constant.
    """

    pattern: Call
    axes: Sequence[Axis]
    cells: npt.NDArray[np.int64]
    constants: Sequence[Column | None]


class Manner(NamedTuple):
    """How calls are made: by what is known of them, which goes on learning, and by a name of `STRATEGIES`."""

    statistics: Statistics | None = None
    strategy: str = "greedy"


USUAL = Manner()


class Settler:
    """Formulas that call operators, by the slots of the subscriptions that they belong to.

    Attributes:
        slots: Rising; formula i is of `slots[i]`.
        forest: The formulas.
    """

    def __init__(self, slots: Places, forest: Forest) -> None:
        self.slots = slots
        self.forest = forest
        self._plan: Plan | None = None
        self._families: list[Family] = []
        self._family_of: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._place_of: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._seconds = self._refreshing = 0.0
        self._learned = 0

    def settle(self, frame: Frame, found: Matches, manner: Manner) -> Matches:
        """The pairs of an engine, without those whose slot has a formula here that does not hold."""
        if not len(found.slots):
            return found
        places = np.searchsorted(self.slots, found.slots)
        places[places == len(self.slots)] = 0
        is_open = self.slots[places] == found.slots
        if not is_open.any():
            return found
        keep = ~is_open
        keep[is_open] = self.holds(frame, found.rows[is_open], places[is_open].astype(np.int32), manner)
        return found if keep.all() else Matches(found.rows[keep], found.slots[keep])

    def holds(
        self,
        frame: Frame,
        rows: npt.NDArray[np.int32],
        numbers: npt.NDArray[np.int32],
        manner: Manner,
    ) -> npt.NDArray[np.bool_]:
        """For each pair of a row and a formula, whether it holds."""
        began = time.perf_counter()
        plan = self._refreshed(manner.statistics)
        order = np.argsort(rows, kind="stable")
        rows, numbers = rows[order], numbers[order]
        distinct, inverse = np.unique(rows, return_inverse=True)
        step = max(1, _STATE_BYTES // row_bytes(plan))
        verdicts = np.empty(len(rows), np.bool_)
        for first in range(0, len(distinct), step):
            low, high = np.searchsorted(inverse, [first, first + step])
            local = (inverse[low:high] - first).astype(np.int32)
            chosen = distinct[first : first + step].astype(np.int64)
            state = self._searched(plan, frame.chosen(chosen), local, numbers[low:high], manner)
            verdicts[low:high] = state.verdicts[local, numbers[low:high]] == HOLDS
        found = np.empty(len(rows), np.bool_)
        found[order] = verdicts
        self._seconds += time.perf_counter() - began
        return found

    def users(self, call: Call) -> int:
        """How many formulas make a call."""
        plan = self._planned(None)
        firsts = plan.formulas.user_firsts
        return sum(int(firsts[at + 1] - firsts[at]) for at, unit in enumerate(plan.units) if call in unit.calls)

    def _planned(self, statistics: Statistics | None) -> Plan:
        """The plan as it is, or a new one."""
        if self._plan is None:
            plan = Plan(self.forest, statistics)
            self._families, self._family_of, self._place_of = _families(plan.units)
            self._plan = plan  # last, because several threads may come here
        return self._plan

    def _refreshed(self, statistics: Statistics | None) -> Plan:
        """The plan, with what was learned, when the time for that is small."""
        plan = self._planned(statistics)
        if self._learned and self._refreshing <= _REFRESH_SHARE * self._seconds:
            began = time.perf_counter()
            plan.refresh(statistics)
            self._refreshing += time.perf_counter() - began
            self._learned = 0
        return plan

    def _searched(
        self,
        plan: Plan,
        frame: Frame,
        rows: npt.NDArray[np.int32],
        numbers: npt.NDArray[np.int32],
        manner: Manner,
    ) -> State:
        state = empty_state(plan, frame.rows)
        for unit in plan.cheap.tolist():
            _look(plan.units[unit], frame, np.arange(frame.rows), state)
            state.known[:, unit] = 1
        formulas, largest = plan.formulas, int(np.diff(plan.formulas.node_firsts).max(initial=1))
        weights, prices = plan.weights, plan.prices
        begin(formulas, weights, prices, largest, rows, numbers, state)
        saved = state.users.sum(axis=0, dtype=np.int64)
        strategy = STRATEGIES.index(manner.strategy)
        active = np.unique(rows)
        rounds = 0
        while len(active):
            spare = _SPARE if rounds >= _PATIENT_ROUNDS else 0.0
            rounds += 1
            asked, units = ask(formulas, prices, plan.ranked, plan.order, largest, strategy, spare, active, state)
            saved -= np.bincount(units, minlength=len(saved))
            self._find_out(plan, frame, asked, units, state, manner.statistics)
            tell(formulas, weights, prices, largest, strategy, asked, units, state)
            active = np.unique(asked)
        for name, calling in plan.by_operator.items():
            counts = meter(name)
            counts.count(saved=max(0, int(saved[calling].sum())))
            if manner.statistics is not None and counts.cost is not None:
                manner.statistics.costs[name] = counts.cost
        return state

    def _find_out(
        self,
        plan: Plan,
        frame: Frame,
        rows: npt.NDArray[np.int32],
        units: npt.NDArray[np.int32],
        state: State,
        statistics: Statistics | None,
    ) -> None:
        """Put into the state what units are in rows."""
        families = self._family_of[units]
        for number in np.unique(families).tolist():
            here = np.flatnonzero(families == number)
            if number >= 0:
                self._ask_family(
                    self._families[number], frame, rows[here], self._place_of[units[here]], state, statistics
                )
                continue
            for unit in np.unique(units[here]).tolist():
                asking = plan.units[unit]
                some = rows[here[units[here] == unit]].astype(np.int64)
                column = _look(asking, frame, some, state)
                if column is not None and asking.attribute is not None:
                    self._learn(asking.attribute, column, statistics)

    def _ask_family(
        self,
        family: Family,
        frame: Frame,
        rows: npt.NDArray[np.int32],
        places: Places,
        state: State,
        statistics: Statistics | None,
    ) -> None:
        some = frame.chosen(rows.astype(np.int64))
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


def made_calls(formula: Formula, batch: EventBatch, row: int, calls: Iterable[Call]) -> set[Call]:
    """Which of these calls are made to find out whether one event satisfies a formula, and nothing else."""
    frame = BatchFrame(batch).chosen(np.array([row]))
    relaxed, rest = split(formula)
    if rest is not None and relaxed.mask(frame)[0]:
        first = np.zeros(1, np.int32)
        Settler(np.zeros(1, np.int64), forest_of([rest])).holds(frame, first, first, USUAL)
    return {call for call in calls if frame.calls.is_made(call, row)}


def _look(unit: Unit, frame: Frame, rows: Places, state: State) -> Column | None:
    """Find out what a unit is in some rows; gives the values of its attribute, if these were asked for."""
    some = frame.chosen(rows)
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


def _families(units: Sequence[Unit]) -> tuple[list[Family], npt.NDArray[np.int32], Places]:
    """The families, and for every unit its family, -1 if it has none, and its place in it."""
    members: dict[object, list[int]] = {}
    for number, unit in enumerate(units):
        if unit.is_direct:
            members.setdefault(shape_of(unit.calls[0]), []).append(number)
    families: list[Family] = []
    family_of = np.full(len(units), -1, np.int32)
    place_of = np.zeros(len(units), np.int64)
    for numbers in members.values():
        calls = [units[number].calls[0] for number in numbers]
        axes = [units[number].axis for number in numbers]
        family_of[numbers] = len(families)
        place_of[numbers] = np.arange(len(numbers))
        families.append(
            Family(
                calls[0],
                [axis[0] for axis in axes if axis is not None],
                np.array([axis[1] for axis in axes if axis is not None], np.int64),
                [_constants(calls, place) for place in range(len(calls[0].arguments))],
            )
        )
    return families, family_of, place_of


def _constants(calls: Sequence[Call], place: int) -> Column | None:
    arguments = [call.arguments[place] for call in calls]
    values = [argument.value for argument in arguments if isinstance(argument, Constant)]
    return column_of(arguments[0].type, values) if len(values) == len(arguments) else None
