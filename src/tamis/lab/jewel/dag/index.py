"""The engine `dag` and its index: the graph and the predicates of its leaves, behind a lock.

Matching writes stamps into nodes, so one thread at a time matches or changes an index.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.arrays import I32, I64, U8, Bools
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.forest import Forest, forest_of
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.lab.dynamic.predicate_index import PredicateIndex
from tamis.lab.jewel.dag.expressions import Expression, compile_expression
from tamis.lab.jewel.dag.invariants import check_graph
from tamis.lab.jewel.dag.kernels.deletion import delete_all
from tamis.lab.jewel.dag.kernels.functions import (
    FILTERS,
    GENERAL,
    TRUE_VALUE_PATH,
    ZERO_SUPPRESSION,
    filter_for,
    name_of,
)
from tamis.lab.jewel.dag.kernels.insertion import BracketRules, insert_all
from tamis.lab.jewel.dag.kernels.inspection import graph_bytes, graph_counts, roots_of, value_readers
from tamis.lab.jewel.dag.kernels.level_filter import Queues, match_by_levels
from tamis.lab.jewel.dag.kernels.nodes import PRIORITIES, empty_graph
from tamis.lab.jewel.dag.kernels.true_value_path import match_by_paths
from tamis.lab.jewel.dag.numeric_values import numeric_values
from tamis.lab.jewel.dag.program import ExpressionProgram, program_of
from tamis.language.bulk import FormulaColumn
from tamis.statistics import Statistics

Filter: TypeAlias = Literal["auto", "true-value-path", "zero-suppression", "general"]

_SUPPORTED = ("AND and OR", "AND, OR and XOR", "everything")


class FilterError(TamisError):
    """A filter does not support a function that it was given."""


class SlotError(TamisError):
    """A slot is not empty, or is empty, where the other was expected; or there is no such slot or priority."""


class Dag:
    """The engine `dag`.

    Args:
        filter: The filter to match with; "auto" is the fastest that supports all functions of the index at the
            time.
        find: How an existing node is found: "hash", by a table of all expressions, or "parents", by the parent
            lists of its children, which takes less memory.
        ties: Of equally cheap brackets, split at the "highest" or the "lowest" place.
        cost: What brackets minimise: "new nodes"; or, by "access frequency", an existing node costs the less, the
            more subscriptions use it.
    """

    name = "dag"
    dynamic = True

    def __init__(
        self,
        filter: Filter = "auto",
        find: Literal["hash", "parents"] = "hash",
        ties: Literal["highest", "lowest"] = "highest",
        cost: Literal["new nodes", "access frequency"] = "new nodes",
    ) -> None:
        self._options = filter, find, ties, cost

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> DagIndex:
        index = DagIndex(*self._options)
        index.insert_many(np.arange(len(formulas), dtype=np.int32), formulas)
        return index


class DagIndex:
    """Formulas by slot; for the arguments see `Dag`.

    Attributes:
        visited: int64[rows]: how many nodes the last match visited for each row.
    """

    def __init__(
        self,
        filter: Filter = "auto",
        find: Literal["hash", "parents"] = "hash",
        ties: Literal["highest", "lowest"] = "highest",
        cost: Literal["new nodes", "access frequency"] = "new nodes",
    ) -> None:
        self._filter = filter
        self._most = GENERAL if filter == "auto" else FILTERS.index(filter)
        self._rules = BracketRules(int(cost == "access frequency"), int(ties == "highest"))
        self._graph = empty_graph(int(find == "hash"))
        self._predicates = PredicateIndex()
        self._following = np.empty(0, np.int32)
        self._values = np.empty(0, np.float64)
        self._lock = threading.Lock()
        self.visited: I64 = np.empty(0, np.int64)

    def insert(self, slot: int, formula: Formula, *, priority: int = 0) -> None:
        """Put a formula into an empty slot; slots of a greater priority are reported first for each event.

        There is one exception: a formula that is part of one with a greater priority may be reported with it.
        """
        self.insert_many(np.array([slot], np.int32), [formula], priorities=[priority])

    def insert_many(
        self,
        slots: npt.ArrayLike,
        formulas: Sequence[Formula] | FormulaColumn,
        *,
        priorities: npt.ArrayLike | None = None,
    ) -> None:
        """Put formulas into empty slots: all of them or, if one is refused, none."""
        forest = forest_of(formulas)
        self._insert(slots, forest, program_of(forest), priorities)

    def insert_expression(self, slot: int, expression: Expression, *, priority: int = 0) -> None:
        """Put an expression that no condition can express into an empty slot."""
        forest, program = compile_expression(expression)
        self._insert([slot], forest, program, [priority])

    def _insert(
        self, slots: npt.ArrayLike, forest: Forest, program: ExpressionProgram, priorities: npt.ArrayLike | None
    ) -> None:
        places = np.asarray(slots, np.int32)
        if len(places) != len(program.roots):
            message = f"expected a slot for each of {len(program.roots)} formulas, found {len(places)} slots"
            raise SlotError(message)
        ranks = np.zeros(len(places), np.uint8) if priorities is None else _ranks(places, priorities)
        self._check_supported(program)
        with self._lock:
            _check_slots(places, places < 0, "is not negative", "is")
            _check_slots(places, roots_of(self._graph, places) >= 0, "is empty", "holds a formula")
            numbers = self._predicates.intern(forest)
            insert_all(self._graph, self._predicates.predicates, program, numbers, places, ranks, self._rules)
            self._predicates.drop_unused_tests()

    def _check_supported(self, program: ExpressionProgram) -> None:
        if self._most < GENERAL:
            for function in np.unique(program.functions).tolist():
                if filter_for(function) > self._most:
                    raise FilterError(_refusal(self._most, name_of(function)))

    def delete(self, slot: int) -> None:
        self.delete_many([slot])

    def delete_many(self, slots: npt.ArrayLike) -> None:
        """Empty slots: all of them or, if one is empty already, none."""
        places = np.asarray(slots, np.int32)
        with self._lock:
            _check_slots(places, roots_of(self._graph, places) < 0, "holds a formula", "is empty")
            delete_all(self._graph, self._predicates.predicates, places)
            self._predicates.drop_unused_tests()

    def match(self, events: EventBatch | Frame, *, filter: Filter | None = None) -> Matches:
        """All pairs, by row and, within a row, by priority; `filter` overrides that of the index."""
        frame = frame_of(events)
        with self._lock:
            chosen = self._choose_filter(filter or self._filter)
            event = self._predicates.encode(frame)
            graph, predicates = self._graph, self._predicates.predicates
            if chosen == TRUE_VALUE_PATH:
                rows, slots, self.visited = match_by_paths(graph, predicates, *event)
            else:
                queues = self._queues(frame)
                suppress = int(chosen == ZERO_SUPPRESSION)
                rows, slots, self.visited = match_by_levels(graph, predicates, *event, queues, suppress)
        return Matches(rows, slots)

    def _choose_filter(self, filter: Filter) -> int:
        counts = graph_counts(self._graph)
        needed = max((place for place in range(len(FILTERS)) if counts.by_filter[place]), default=TRUE_VALUE_PATH)
        if filter == "auto":
            return needed
        chosen = FILTERS.index(filter)
        if needed > chosen:
            raise FilterError(_refusal(chosen, f"nodes that need {FILTERS[needed]}"))
        return chosen

    def _queues(self, frame: Frame) -> Queues:
        """Empty queues, and the attribute values that arithmetic reads."""
        counts = graph_counts(self._graph)
        if len(self._following) < counts.made:
            self._following = np.empty(counts.room, np.int32)
        if counts.sums == 0:
            self._values = np.empty(0, np.float64)
        elif len(self._values) < counts.made:
            self._values = np.empty(counts.room, np.float64)
        readers = value_readers(self._graph)
        axes = np.flatnonzero(readers)
        lines = np.full(len(readers), -1, np.int32)
        lines[axes] = np.arange(len(axes))
        readings = np.empty((len(axes), frame.rows), np.float64)
        for line, axis in enumerate(axes.tolist()):
            readings[line] = numeric_values(frame.column(self._predicates.attribute(axis)))
        firsts = np.full(PRIORITIES * (counts.highest + 1), -1, np.int32)
        true = np.empty(counts.nodes, np.int32)
        return Queues(firsts, self._following, true, self._values, readings, lines)

    def check(self) -> None:
        """Raise GraphError if the graph breaks an invariant."""
        with self._lock:
            check_graph(self._graph)

    def stats(self) -> Stats:
        """Counts, and bytes by structure; queues are counted only if the filter uses them."""
        with self._lock:
            counts = graph_counts(self._graph)
            chosen = self._choose_filter(self._filter)
            own = graph_bytes(self._graph)
            found = {
                "nodes": own.nodes,
                "parent lists": own.parents,
                "subscription lists": own.slots,
                "predicate table": own.predicate_table,
                "subscription table": own.subscription_table,
                "expression table": own.table,
                **self._predicates.bytes(),
            }
            if chosen != TRUE_VALUE_PATH:
                found["queues"] = 4 * counts.made + 4 * PRIORITIES * counts.highest
                found["values"] = 8 * counts.made if counts.sums else 0
            return Stats(
                {
                    "subscriptions": counts.subscriptions,
                    "predicates": len(self._predicates),
                    "nodes": counts.nodes,
                    "levels": counts.highest,
                    "edges": counts.edges,
                    **{name: int(place == chosen) for place, name in enumerate(FILTERS)},
                },
                found,
            )


def _refusal(filter: int, found: str) -> str:
    return f"the filter {FILTERS[filter]} supports {_SUPPORTED[filter]} only, found: {found}"


def _ranks(slots: I32, priorities: npt.ArrayLike) -> U8:
    given = np.asarray(priorities)
    wrong = np.flatnonzero((given < 0) | (given >= PRIORITIES))
    if len(wrong):
        place = int(wrong[0])
        message = f"slot {slots[place]}: expected a priority from 0 to {PRIORITIES - 1}, found {given[place]}"
        raise SlotError(message)
    return given.astype(np.uint8)


def _check_slots(slots: I32, is_wrong: Bools, expected: str, found: str) -> None:
    if is_wrong.any():
        message = f"slot {slots[is_wrong][0]}: expected one that {expected}, found one that {found}"
        raise SlotError(message)
    if len(slots) > 1:
        rising = np.sort(slots)
        twice = rising[1:][rising[1:] == rising[:-1]]
        if len(twice):
            message = f"slot {twice[0]}: expected each slot once, found it twice"
            raise SlotError(message)
