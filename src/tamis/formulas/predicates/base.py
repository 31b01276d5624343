"""The protocols of predicates and of the frames that they are evaluated on.

A predicate is a two-valued test of one attribute: three-valued logic ends where a condition becomes a formula, and
each predicate defines whether it holds where its attribute is NULL. A kind of predicate is one file here, a frozen
dataclass with these members, and a case in `tamis.language.truth` that makes it from an expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tamis.arrays import I64, Mask
from tamis.formulas.expression import OperatorCall, Typed, Variable
from tamis.values.column import Column

CALL_COST = 1_000.0
"""The least cost of a predicate that calls an operator."""


class Calls(Protocol):
    """The operator calls of a batch, each made once an event at most (see `tamis.operators.calls`)."""

    def is_made(self, call: OperatorCall, row: int) -> bool:
        """Was the call made for this row of the batch?"""

    def column(self, call: OperatorCall, frame: Frame) -> Column:
        """The call's value in every row of a frame."""

    def several(self, pattern: OperatorCall, arguments: Sequence[Column], rows: I64) -> Column:
        """The results of calls that differ from `pattern` in constants only, one for each of these rows."""

    def of_arguments(self, call: OperatorCall, arguments: Sequence[Column], rows: int) -> Column:
        """The call's value for arguments that are no attributes of events."""


class Frame(Protocol):
    """Rows of a batch, with the value of any expression in each of them."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def batch_rows(self) -> I64:
        """The row of the batch of each row."""

    @property
    def calls(self) -> Calls:
        """The operator calls of the batch."""

    def names(self) -> Iterable[str] | None:
        """The names of the attributes that some row may have; None if that is not known."""

    def column(self, expression: Typed) -> Column:
        """The value of the expression in every row; computed once, then shared."""

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row for each element of the array, and the column of the array itself."""

    def slice(self, start: int, stop: int) -> Frame:
        """The rows from `start` to before `stop`."""

    def take(self, rows: I64) -> Frame:
        """The rows with these numbers, in this order."""


class Predicate(Protocol):
    """A predicate: one attribute and a two-valued test of its value."""

    @property
    def attribute(self) -> Typed:
        """The expression that it tests."""

    @property
    def cost(self) -> float:
        """Rough cost of evaluating it for one event, in units of an integer comparison."""

    def mask(self, frame: Frame) -> Mask:
        """In which rows it holds."""

    def describe(self) -> str:
        """The predicate as a reader of conditions would write it."""

    @property
    def identity(self) -> str:
        """Equal identities mean equal predicates."""
