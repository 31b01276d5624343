"""`MatchesPattern`: does the attribute's string match a LIKE, ILIKE or RLIKE pattern?

Patterns that are only a prefix or an exact string never get here: they are ranges. The pattern is in canonical
form (backslash as escape, no redundant escapes), so equal tests are equal predicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.arrays import Mask
from tamis.formulas.expression import Path, Typed, calls_in, to_syntax
from tamis.formulas.predicates.base import CALL_COST, Frame
from tamis.functions.registry import FUNCTIONS, Signature
from tamis.syntax.literals import write_string
from tamis.syntax.printing import to_text
from tamis.values.column import constant_column
from tamis.values.types import BOOLEAN, STRING


@dataclass(frozen=True, slots=True)
class MatchesPattern:
    """Holds when the string is not NULL and matches; with `negated`, when it is not NULL and does not match."""

    attribute: Typed
    test: str
    pattern: str
    negated: bool = False

    @property
    def cost(self) -> float:
        """More than ten times that of a comparison."""
        called = CALL_COST * len(calls_in(self.attribute))
        computed = 0.0 if isinstance(self.attribute, Path) else 5.0
        return called + computed + (20.0 if self.test == "rlike" else 10.0)

    def mask(self, frame: Frame) -> Mask:
        column = frame.column(self.attribute)
        signature = Signature((STRING, STRING), BOOLEAN)
        pattern = constant_column(STRING, self.pattern, frame.rows)
        found = FUNCTIONS[self.test].apply(signature, (column, pattern), frame.rows)
        return np.asarray((found.values != self.negated) & column.valid & found.valid)

    def describe(self) -> str:
        """For example `title NOT LIKE '%used%'`."""
        name = to_text(to_syntax(self.attribute))
        return f"{name} {'NOT ' if self.negated else ''}{self.test.upper()} {write_string(self.pattern)}"

    @property
    def identity(self) -> str:
        """All of it, with every type and every reading of a schemaless attribute."""
        return repr(self)
