"""`Matches`: does the attribute's string match a LIKE, ILIKE or RLIKE pattern?

Patterns that are only a prefix or an exact string never get here: they are ranges. The pattern is in canonical
form (backslash as escape, no redundant escapes), so equal questions are equal predicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamis.functions.registry import FUNCTIONS, Signature
from tamis.language.expression import Path, Typed, calls_in, to_syntax
from tamis.language.literals import write_string
from tamis.language.printing import to_text
from tamis.predicates.base import CALL_COST, Frame
from tamis.values.column import Mask, constant_column
from tamis.values.types import BOOLEAN, STRING


@dataclass(frozen=True, slots=True)
class Matches:
    """Holds when the string is there and matches; with `negated`, when it is there and does not."""

    attribute: Typed
    test: str
    pattern: str
    negated: bool = False

    @property
    def cost(self) -> float:
        """Much dearer than a comparison."""
        called = CALL_COST * len(calls_in(self.attribute))
        computed = 0.0 if isinstance(self.attribute, Path) else 5.0
        return called + computed + (20.0 if self.test == "rlike" else 10.0)

    def mask(self, frame: Frame) -> Mask:
        """In which rows it holds."""
        column = frame.column(self.attribute)
        signature = Signature((STRING, STRING), BOOLEAN)
        pattern = constant_column(STRING, self.pattern, frame.rows)
        found = FUNCTIONS[self.test].apply(signature, (column, pattern), frame.rows)
        return np.asarray((found.values != self.negated) & column.valid & found.valid)

    def describe(self) -> str:
        """`title NOT LIKE '%used%'`."""
        name = to_text(to_syntax(self.attribute))
        return f"{name} {'NOT ' if self.negated else ''}{self.test.upper()} {write_string(self.pattern)}"

    @property
    def identity(self) -> str:
        """All of it, with every type and every reading of a schemaless attribute."""
        return repr(self)
