"""Values of expressions over a batch: plain attributes, computed ones, and elements of arrays.

A frame computes each distinct expression once, whoever asks for it, and remembers the column. Nothing here
looks at a single row, except functions that have no batch form. What calls an operator is computed for the rows
of the frame that is asked and no others; everything else for the whole batch, since it is cheap and shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.events.batch import EventBatch
from tamis.functions import FUNCTIONS
from tamis.language.expression import Apply, Call, Constant, Path, Quantifier, Typed, Variable, calls_in, walk
from tamis.operators.calls import Calls
from tamis.predicates.base import Frame
from tamis.values.column import Column, Mask, constant_column
from tamis.values.types import BOOLEAN

Places: TypeAlias = npt.NDArray[np.int64]


class BatchFrame:
    """The rows of a batch."""

    def __init__(self, batch: EventBatch) -> None:
        self.batch = batch
        self.rows = batch.rows
        self.calls = Calls()
        self._known: dict[Typed, Column] = {}

    @property
    def batch_rows(self) -> Places:
        """All of them."""
        return np.arange(self.rows)

    def names(self) -> Iterable[str] | None:
        """The event's attributes that some row may have."""
        return dict.fromkeys(name for _, name in self.batch.names())

    def column(self, expression: Typed) -> Column:
        """The expression's value in every row."""
        known = self._known.get(expression)
        if known is None:
            known = self._column(expression)
            self._known[expression] = known
        return known

    def _column(self, expression: Typed) -> Column:
        match expression:
            case Path(steps=steps):
                return self.batch.column(steps)
            case Call():
                return self.calls.column(expression, self)
            case Apply(function="read", arguments=(Path(steps=steps),), signature=signature):
                reading = self.batch.reading(steps, signature.returns)
                return _computed(expression, self) if reading is None else reading
            case _:
                return _computed(expression, self)

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row an element of the array, and the array's own column."""
        return _elements(self, array, variable)

    def part(self, start: int, stop: int) -> Frame:
        """Some consecutive rows."""
        return self.chosen(np.arange(start, stop))

    def chosen(self, rows: Places) -> Rows:
        """Some of the rows."""
        return Rows(self, rows)


class Rows:
    """Rows of another frame, chosen by number, perhaps repeatedly; `own` holds the columns it has itself."""

    def __init__(self, parent: Frame, rows: Places, own: dict[Typed, Column] | None = None) -> None:
        self.parent = parent
        self.calls = parent.calls
        self.parent_rows = rows
        self.rows = len(rows)
        self._variables = frozenset(own or ())
        self._known: dict[Typed, Column] = dict(own or {})

    def names(self) -> Iterable[str] | None:
        """Those of the parent; not known of elements of arrays, which are no attributes of events."""
        return None if self._variables else self.parent.names()

    @property
    def batch_rows(self) -> Places:
        """Which rows of the batch they are."""
        return self.parent.batch_rows[self.parent_rows]

    def column(self, expression: Typed) -> Column:
        """The expression's value in every row."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._column(expression)
        return known

    def _column(self, expression: Typed) -> Column:
        if not self._variables.isdisjoint(_variables(expression)):
            return _computed(expression, self)
        if self._variables or not calls_in(expression):
            # Whoever made elements of the parent's rows needs something of each of them.
            return self.parent.column(expression).take(self.parent_rows)
        return self.calls.column(expression, self) if isinstance(expression, Call) else _computed(expression, self)

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row an element of the array, and the array's own column."""
        return _elements(self, array, variable)

    def part(self, start: int, stop: int) -> Frame:
        """Some consecutive rows."""
        return self.chosen(np.arange(start, stop))

    def chosen(self, rows: Places) -> Rows:
        """Some of the rows."""
        own = {each: self._known[each].take(rows) for each in self._variables}
        return Rows(self.parent, self.parent_rows[rows], own)


def _elements(frame: Frame, array: Typed, variable: Variable) -> tuple[Frame, Column]:
    column = frame.column(array)
    offsets = column.values.offsets
    rows = np.repeat(np.arange(frame.rows), offsets[1:] - offsets[:-1])
    return Rows(frame, rows, {variable: column.values.items}), column


@lru_cache(maxsize=4096)
def _variables(expression: Typed) -> frozenset[Typed]:
    return frozenset(part for part in walk(expression) if isinstance(part, Variable))


def _computed(expression: Typed, frame: Frame) -> Column:
    match expression:
        case Constant(type=type_, value=value):
            return constant_column(type_, value, frame.rows)
        case Apply(function=function, arguments=arguments, signature=signature):
            columns = [frame.column(argument) for argument in arguments]
            return FUNCTIONS[function].apply(signature, columns, frame.rows)
        case Call(arguments=arguments):
            columns = [frame.column(argument) for argument in arguments]
            return frame.calls.of_arguments(expression, columns, frame.rows)
        case Quantifier():
            return _quantified(expression, frame)
        case _:
            msg = f"{expression} has no value here"
            raise LookupError(msg)


def _quantified(expression: Quantifier, frame: Frame) -> Column:
    """exists: TRUE if some element is true, else NULL if some is NULL, else FALSE; forall the other way round."""
    elements, arrays = frame.elements(expression.array, expression.variable)
    body = elements.column(expression.body)
    offsets = arrays.values.offsets
    wanted = expression.function == "exists"
    decided = _some(body.valid & (body.values == wanted), offsets)
    unknown = _some(~body.valid, offsets)
    return Column(BOOLEAN, np.where(decided, wanted, not wanted), arrays.valid & (decided | ~unknown))


def _some(found: Mask, offsets: npt.NDArray[np.int64]) -> Mask:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
    return np.asarray(sums[offsets[1:]] > sums[offsets[:-1]])
