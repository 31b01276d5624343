"""Frames: the values of expressions over the rows of a batch, as columns.

A frame computes each distinct expression once and keeps the column. Nothing here looks at a single row, except
functions without a batch form. An expression that calls an operator is computed only for the rows of the frame
at hand; everything else for the whole batch, since it is cheap and shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from tamis.arrays import I64, Mask, RowIndices
from tamis.events.batch import EventBatch
from tamis.events.sources import ColumnSource, DictSource
from tamis.formulas.expression import (
    Apply,
    Constant,
    HigherOrder,
    OperatorCall,
    Path,
    Quantifier,
    Typed,
    Variable,
    calls_in,
    walk,
)
from tamis.formulas.predicates.base import Frame
from tamis.functions import FUNCTIONS
from tamis.functions.rows import all_valid
from tamis.functions.rows import select_rows as select_values
from tamis.operators.calls import BatchCalls
from tamis.values.column import Column, ListValues, constant_column
from tamis.values.types import BOOLEAN


class BatchFrame:
    """The rows of a batch."""

    def __init__(self, batch: EventBatch) -> None:
        self.batch = batch
        self.rows = batch.rows
        self.calls = BatchCalls()
        self._known: dict[Typed, Column] = {}
        self._names: dict[str, None] | None = None

    @property
    def batch_rows(self) -> RowIndices:
        return np.arange(self.rows)

    def names(self) -> Iterable[str] | None:
        """The names of the attributes that some row may have."""
        if self._names is None:  # every segment asks, and finding out takes a look at every value
            source = self.batch.source
            if isinstance(source, ColumnSource):
                self._names = dict.fromkeys(source.filled_names())
            else:
                self._names = dict.fromkeys(name for _, name in self.batch.names())
        return self._names

    def column(self, expression: Typed) -> Column:
        known = self._known.get(expression)
        if known is None:
            known = self._column(expression)
            self._known[expression] = known
        return known

    def _column(self, expression: Typed) -> Column:
        match expression:
            case Path(steps=steps):
                return self.batch.column(steps)
            case OperatorCall():
                return self.calls.column(expression, self)
            case Apply(function="read", arguments=(Path(steps=steps),), signature=signature):
                reading = self.batch.reading(steps, signature.returns)
                return _compute(expression, self) if reading is None else reading
            case _:
                return _compute(expression, self)

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        return _element_frame(self, array, variable)

    def slice(self, start: int, stop: int) -> Frame:
        return self.take(np.arange(start, stop))

    def take(self, rows: RowIndices) -> RowSelection:
        return RowSelection(self, rows)


class RowSelection:
    """Rows of another frame by number, perhaps repeated; `own` holds the columns of quantified variables."""

    def __init__(self, parent: Frame, rows: RowIndices, own: dict[Typed, Column] | None = None) -> None:
        self.parent = parent
        self.calls = parent.calls
        self.parent_rows = rows
        self.rows = len(rows)
        self._variables = frozenset(own or ())
        self._known: dict[Typed, Column] = dict(own or {})

    def names(self) -> Iterable[str] | None:
        """Those of the parent; None for elements of arrays, which are not attributes of events."""
        return None if self._variables else self.parent.names()

    @property
    def batch_rows(self) -> RowIndices:
        return self.parent.batch_rows[self.parent_rows]

    def column(self, expression: Typed) -> Column:
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._column(expression)
        return known

    def _column(self, expression: Typed) -> Column:
        if not self._variables.isdisjoint(_variables(expression)):
            return _compute(expression, self)
        if self._variables or not calls_in(expression):
            # Elements exist for all rows of the parent, so the parent computes the column for all of its rows.
            return self.parent.column(expression).take(self.parent_rows)
        return (
            self.calls.column(expression, self)
            if isinstance(expression, OperatorCall)
            else _compute(expression, self)
        )

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        return _element_frame(self, array, variable)

    def slice(self, start: int, stop: int) -> Frame:
        return self.take(np.arange(start, stop))

    def take(self, rows: RowIndices) -> RowSelection:
        own = {each: self._known[each].take(rows) for each in self._variables}
        return RowSelection(self.parent, self.parent_rows[rows], own)


class _BatchSelection(RowSelection):
    """Rows of a whole batch. Its frame makes the elements of arrays once for all of its rows."""

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        if calls_in(array):
            return super().elements(array, variable)
        inner, whole = self.parent.elements(array, variable)
        firsts, lasts = whole.values.offsets[self.parent_rows], whole.values.offsets[self.parent_rows + 1]
        counts = lasts - firsts
        places = np.repeat(firsts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        return inner.take(places), self.column(array)


def select_rows(frame: BatchFrame, rows: RowIndices) -> Frame:
    """Some rows of a batch, in the order given.

    Of dicts a new batch is made, since engines read a few of them value by value. Columns are made once for the
    whole batch and shared by all its parts.
    """
    source = frame.batch.source
    if isinstance(source, DictSource):
        some = DictSource([source.events[row] for row in rows.tolist()])
        return BatchFrame(EventBatch(frame.batch.event_type, len(rows), some))
    return _BatchSelection(frame, rows)


def _element_frame(frame: Frame, array: Typed, variable: Variable) -> tuple[Frame, Column]:
    column = frame.column(array)
    offsets = column.values.offsets
    rows = np.repeat(np.arange(frame.rows), offsets[1:] - offsets[:-1])
    return RowSelection(frame, rows, {variable: column.values.items}), column


@lru_cache(maxsize=4096)
def _variables(expression: Typed) -> frozenset[Typed]:
    return frozenset(part for part in walk(expression) if isinstance(part, Variable))


def _compute(expression: Typed, frame: Frame) -> Column:
    match expression:
        case Constant(type=type_, value=value):
            return constant_column(type_, value, frame.rows)
        case Apply(function=function, arguments=arguments, signature=signature):
            columns = [frame.column(argument) for argument in arguments]
            return FUNCTIONS[function].apply(signature, columns, frame.rows)
        case OperatorCall(arguments=arguments):
            columns = [frame.column(argument) for argument in arguments]
            return frame.calls.of_arguments(expression, columns, frame.rows)
        case Quantifier():
            return _compute_quantifier(expression, frame)
        case HigherOrder(function="aggregate"):
            return _compute_aggregate(expression, frame)
        case HigherOrder():
            return _compute_higher_order(expression, frame)
        case _:
            msg = f"{expression} has no value here"
            raise LookupError(msg)


def _compute_quantifier(expression: Quantifier, frame: Frame) -> Column:
    """exists: TRUE if some element is true, else NULL if some is NULL, else FALSE; forall the other way round."""
    elements, arrays = frame.elements(expression.array, expression.variable)
    body = elements.column(expression.body)
    offsets = arrays.values.offsets
    wanted = expression.function == "exists"
    decided = _any_element(body.valid & (body.values == wanted), offsets)
    unknown = _any_element(~body.valid, offsets)
    return Column(BOOLEAN, np.where(decided, wanted, not wanted), arrays.valid & (decided | ~unknown))


def _compute_higher_order(expression: HigherOrder, frame: Frame) -> Column:
    """transform, filter and zip_with: the body as one column over the elements of all rows."""
    columns = [frame.column(argument) for argument in expression.arguments]
    valid = all_valid(columns)
    lengths = np.max([np.diff(column.values.offsets) for column in columns], axis=0, initial=0)
    lengths = np.where(valid, lengths, 0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    rows = np.repeat(np.arange(frame.rows), lengths)
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    own: dict[Typed, Column] = {}
    for variable, column in zip(expression.variables, columns, strict=False):
        own[variable] = _items_at(column, rows, places)
    if expression.function != "zip_with":
        for variable in expression.variables[1:]:
            own[variable] = Column(variable.type, places, np.ones(len(places), np.bool_))
    body = RowSelection(frame, rows, own).column(expression.bodies[0])
    if expression.function == "filter":
        kept = body.valid & body.values
        counts = np.bincount(rows[kept], minlength=frame.rows)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        body = own[expression.variables[0]].take(np.flatnonzero(kept))
    return Column(expression.type, ListValues(offsets, body), valid)


def _items_at(column: Column, rows: I64, places: I64) -> Column:
    """The elements of arrays at these places, NULL where an array is shorter."""
    lists: ListValues = column.values
    inside = places < np.diff(lists.offsets)[rows]
    if not len(lists.items):
        return constant_column(column.type.item, None, len(rows))
    return lists.items.take(np.where(inside, lists.offsets[rows] + places, 0)).where(inside)


def _compute_aggregate(expression: HigherOrder, frame: Frame) -> Column:
    """aggregate: one step for all rows that have a further element."""
    arrays, gathered = (frame.column(argument) for argument in expression.arguments)
    state, item = expression.variables[:2]
    lengths = np.where(arrays.valid, np.diff(arrays.values.offsets), 0)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        elements = _items_at(arrays, rows, np.full(len(rows), place))
        step = RowSelection(frame, rows, {state: gathered.take(rows), item: elements}).column(expression.bodies[0])
        places = np.full(frame.rows, -1)
        places[rows] = np.arange(len(rows))
        gathered = select_values(places >= 0, step.take(np.maximum(places, 0)), gathered)
    if len(expression.bodies) > 1:
        every = np.arange(frame.rows)
        gathered = RowSelection(frame, every, {expression.variables[2]: gathered}).column(expression.bodies[1])
    return gathered.where(arrays.valid)


def _any_element(found: Mask, offsets: I64) -> Mask:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
    return np.asarray(sums[offsets[1:]] > sums[offsets[:-1]])
