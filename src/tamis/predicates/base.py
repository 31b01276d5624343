"""What a predicate is: a yes or no question about one attribute of an event.

Predicates are two-valued: NULL has been dealt with when a condition became a formula, and a predicate says for
itself whether it holds where its attribute is NULL. A kind is one file here: a frozen dataclass with these
members, and a case in `tamis.language.truth` that makes it from an expression.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from tamis.language.expression import Typed, Variable
from tamis.values.column import Column, Mask

if TYPE_CHECKING:
    from tamis.operators.calls import Calls


CALL_COST = 1_000.0
"""What a predicate costs at least if it calls an operator."""


class Frame(Protocol):
    """Rows to ask a predicate about, with the value of any expression in each of them."""

    @property
    def rows(self) -> int:
        """How many."""

    @property
    def batch_rows(self) -> npt.NDArray[np.int64]:
        """Which rows of the batch they are."""

    @property
    def calls(self) -> Calls:
        """The calls of operators that were made for the batch."""

    def names(self) -> Iterable[str] | None:
        """The event's attributes that some row may have; None if that is not known."""

    def column(self, expression: Typed) -> Column:
        """The expression's value in every row; computed once, then shared."""

    def elements(self, array: Typed, variable: Variable) -> tuple[Frame, Column]:
        """A frame with one row an element of the array, and the array's own column."""

    def part(self, start: int, stop: int) -> Frame:
        """Some consecutive rows."""

    def chosen(self, rows: npt.NDArray[np.int64]) -> Frame:
        """Some of the rows."""


class Predicate(Protocol):
    """A kind of predicate."""

    @property
    def attribute(self) -> Typed:
        """What it reads."""

    @property
    def cost(self) -> float:
        """Rough cost of asking it of one event, in units of an integer comparison."""

    def mask(self, frame: Frame) -> Mask:
        """In which rows it holds."""

    def describe(self) -> str:
        """The predicate as a reader of conditions would write it."""

    @property
    def identity(self) -> str:
        """Equal identities mean equal predicates."""
