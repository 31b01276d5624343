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
from tamis.operators.calls import BatchCalls
from tamis.values.column import Column, constant_column
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


def _any_element(found: Mask, offsets: I64) -> Mask:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
    return np.asarray(sums[offsets[1:]] > sums[offsets[:-1]])
