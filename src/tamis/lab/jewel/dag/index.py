"""The engine `dag` and its index: the graph and the predicates of its leaves, behind a lock.

Matching writes stamps into nodes, so one thread at a time matches or changes an index.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.arrays import I32, I64, U8, Bools
from tamis.engines.base import Matches, Stats, frame_of
from tamis.engines.forest import TEST, Forest, forest_of
from tamis.engines.forest.join import join_forests
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.lab.dynamic.predicate_index import EncodedEvents, PredicateIndex
from tamis.lab.jewel.dag.conditions import CalledPredicates, FormulaWriter, slots_with_xor_or_calls
from tamis.lab.jewel.dag.exclusive_or import XorFinder
from tamis.lab.jewel.dag.expressions import Expression, compile_expression
from tamis.lab.jewel.dag.invariants import check_graph
from tamis.lab.jewel.dag.kernels.deletion import delete_all
from tamis.lab.jewel.dag.kernels.functions import (
    FILTERS,
    GENERAL,
    TRUE_VALUE_PATH,
    XOR_OF_KNOWN,
    ZERO_SUPPRESSION,
    filter_for,
    name_of,
)
from tamis.lab.jewel.dag.kernels.insertion import BracketRules, insert_all
from tamis.lab.jewel.dag.kernels.inspection import (
    graph_bytes,
    graph_counts,
    living_calls,
    roots_of,
    value_readers,
)
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
        xor: Whether the XOR of a condition is one "native" node or stays "expanded" to AND and OR, as it always
            does for the filter "true-value-path". One native XOR makes "auto" take "zero-suppression".
    """

    name = "dag"
    dynamic = True

    def __init__(
        self,
        filter: Filter = "auto",
        find: Literal["hash", "parents"] = "hash",
        ties: Literal["highest", "lowest"] = "highest",
        cost: Literal["new nodes", "access frequency"] = "new nodes",
        xor: Literal["native", "expanded"] = "native",
    ) -> None:
        self._options = filter, find, ties, cost, xor

    def build(self, formulas: Sequence[Formula], statistics: Statistics | None = None) -> DagIndex:
        index = DagIndex(*self._options)
        index.insert_many(np.arange(len(formulas), dtype=np.int32), formulas)
        return index


class DagIndex:
    """Formulas by slot; for the arguments see `Dag`.

    Attributes:
        visited: int64[rows]: how many nodes the last match visited for each row.
        makes_calls: Does it take formulas that call operators? Only the filter "general" supports them.
    """

    def __init__(
        self,
        filter: Filter = "auto",
        find: Literal["hash", "parents"] = "hash",
        ties: Literal["highest", "lowest"] = "highest",
        cost: Literal["new nodes", "access frequency"] = "new nodes",
        xor: Literal["native", "expanded"] = "native",
    ) -> None:
        self._filter = filter
        self._most = GENERAL if filter == "auto" else FILTERS.index(filter)
        self._rules = BracketRules(int(cost == "access frequency"), int(ties == "highest"))
        self._xors = XorFinder if xor == "native" and self._most >= ZERO_SUPPRESSION else None
        self._graph = empty_graph(int(find == "hash"))
        self._predicates = PredicateIndex()
        self._calls = CalledPredicates()
        self.makes_calls = self._most == GENERAL
        self._following = np.empty(0, np.int32)
        self._values = np.empty(0, np.float64)
        self._hopes = np.empty(0, np.int32)
        self._lock = threading.RLock()
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
        finder = None if self._xors is None else self._xors()
        special = slots_with_xor_or_calls(forest, finder)
        if not len(special):
            self._insert(slots, [_Written(np.arange(len(forest)), forest, program_of(forest))], priorities)
            return
        plain = np.setdiff1d(np.arange(len(forest)), special)
        rest = join_forests([(forest, plain)])
        with self._lock:
            writer = FormulaWriter(finder, self._calls)
            roots = [writer.write(forest[place]) for place in special.tolist()]
            written = _Written(special, forest_of(writer.writer.leaves), writer.writer.program(roots))
            try:
                self._insert(slots, [_Written(plain, rest, program_of(rest)), written], priorities)
            finally:
                self._calls.keep(living_calls(self._graph))

    def insert_ranked(self, slots: I32, formulas: Sequence[Formula], priorities: I64) -> None:
        """As `insert_many`, for priorities of any range: those beyond the ends count as the ends."""
        self.insert_many(slots, formulas, priorities=np.clip(priorities, 0, PRIORITIES - 1))

    def insert_expression(self, slot: int, expression: Expression, *, priority: int = 0) -> None:
        """Put an expression that no condition can express into an empty slot."""
        forest, program = compile_expression(expression)
        self._insert([slot], [_Written(np.zeros(1, np.int64), forest, program)], [priority])

    def _insert(self, slots: npt.ArrayLike, written: Sequence[_Written], priorities: npt.ArrayLike | None) -> None:
        every = np.asarray(slots, np.int32)
        count = sum(len(each.places) for each in written)
        if len(every) != count:
            message = f"expected a slot for each of {count} formulas, found {len(every)} slots"
            raise SlotError(message)
        ranks = np.zeros(len(every), np.uint8) if priorities is None else _ranks(every, priorities)
        for each in written:
            self._check_supported(each.program)
        with self._lock:
            _check_slots(every, every < 0, "is not negative", "is")
            _check_slots(every, roots_of(self._graph, every) >= 0, "is empty", "holds a formula")
            for places, forest, program in written:
                axes = self._pattern_axes(forest, program)
                numbers = self._predicates.intern(forest)
                insert_all(
                    self._graph,
                    self._predicates.predicates,
                    program,
                    numbers,
                    axes,
                    every[places],
                    ranks[places],
                    self._rules,
                )
            self._predicates.drop_unused_tests()

    def _pattern_axes(self, forest: Forest, program: ExpressionProgram) -> I32:
        """The axis of the attribute of each leaf that is a pattern; nothing if there is no XOR to ask for it."""
        if not (program.functions == XOR_OF_KNOWN).any():
            return np.empty(0, np.int32)
        leaves = forest.leaves
        axes = np.full(len(leaves.kinds), -1, np.int32)
        for place in np.flatnonzero(leaves.kinds == TEST).tolist():
            axes[place] = self._predicates.axis(forest.tests[int(leaves.lows[place])].attribute)
        return axes

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
            called = graph_counts(self._graph).called
            delete_all(self._graph, self._predicates.predicates, places)
            self._predicates.drop_unused_tests()
            if called:
                self._calls.keep(living_calls(self._graph))

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
                suppress = int(chosen == ZERO_SUPPRESSION)
                rows, slots = self._match_by_levels(frame, event, suppress)
        return Matches(rows, slots)

    def _match_by_levels(self, frame: Frame, event: EncodedEvents, suppress: int) -> tuple[I32, I32]:
        """Match all rows; then those again that depend on calls, with the answers, until none does."""
        queues = self._queues(frame)
        predicates = self._predicates.predicates
        self.visited = np.zeros(frame.rows, np.int64)
        open_ = np.arange(frame.rows)
        rows, slots = [], []
        while len(open_):
            places, found, later, visited = match_by_levels(
                self._graph, predicates, *event, open_, queues, suppress
            )
            self.visited[open_] += visited
            rows.append(open_[places].astype(np.int32))
            slots.append(found)
            open_ = later
            self._calls.answer(frame, queues.answers)
        if len(rows) <= 1:
            return (rows[0], slots[0]) if rows else (np.empty(0, np.int32), np.empty(0, np.int32))
        every = np.concatenate(rows)
        order = np.argsort(every, kind="stable")
        return every[order], np.concatenate(slots)[order]

    def _choose_filter(self, filter: Filter) -> int:
        counts = graph_counts(self._graph)
        needed = max((place for place in range(len(FILTERS)) if counts.by_filter[place]), default=TRUE_VALUE_PATH)
        if counts.called:
            needed = GENERAL
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
        most = np.empty_like(self._values) if counts.called else np.empty(0, np.float64)
        path = np.empty(0, np.int32)
        if counts.by_filter[ZERO_SUPPRESSION]:
            path = np.empty(2 * counts.nodes + 1, np.int32)
            if len(self._hopes) < counts.made:
                self._hopes = np.zeros(counts.room, np.int32)
        answers = self._calls.unanswered(frame.rows if counts.called else 0)
        readers = value_readers(self._graph)
        axes = np.flatnonzero(readers)
        lines = np.full(len(readers), -1, np.int32)
        lines[axes] = np.arange(len(axes))
        readings = np.empty((len(axes), frame.rows), np.float64)
        for line, axis in enumerate(axes.tolist()):
            readings[line] = numeric_values(frame.column(self._predicates.attribute(axis)))
        firsts = np.full(PRIORITIES * (counts.highest + 1), -1, np.int32)
        true = np.empty(counts.nodes, np.int32)
        return Queues(
            firsts, self._following, true, self._values, most, self._hopes, path, answers, readings, lines
        )

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


class _Written(NamedTuple):
    """Some of the formulas to insert, by their places, as a program over the leaves of a forest."""

    places: I64
    forest: Forest
    program: ExpressionProgram


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
