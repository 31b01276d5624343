"""`Quantified`: does some element, or every element, of the attribute's array satisfy a formula?

`exists`, `forall`, `array_contains` and `arrays_overlap` with a constant are all this kind. The formula
reads `variable`; it may read the event's other attributes too. A NULL array satisfies neither form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tamis.arrays import Mask
from tamis.formulas.expression import Typed, Variable, to_syntax
from tamis.formulas.predicates.base import CALL_COST, Frame
from tamis.syntax.printing import to_text

if TYPE_CHECKING:
    from tamis.formulas.formula import Formula


@dataclass(frozen=True, slots=True)
class Quantified:
    """Holds when the array is not NULL and its elements satisfy `formula`: all of them, or at least one."""

    attribute: Typed
    variable: Variable
    formula: Formula
    every: bool

    @property
    def cost(self) -> float:
        """That of ten elements."""
        return 10.0 * (1.0 + self.formula.cost)

    def mask(self, frame: Frame) -> Mask:
        elements, arrays = frame.elements(self.attribute, self.variable)
        found = self.formula.mask(elements) if self.formula.cost < CALL_COST else self.formula.lazy_mask(elements)
        offsets = arrays.values.offsets
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(found)])
        holding = sums[offsets[1:]] - sums[offsets[:-1]]
        wanted = holding == offsets[1:] - offsets[:-1] if self.every else holding > 0
        return np.asarray(wanted & arrays.valid)

    def describe(self) -> str:
        """For example `exists(tags, x -> x = 'new')`."""
        name = to_text(to_syntax(self.attribute))
        function = "forall" if self.every else "exists"
        return f"{function}({name}, {self.variable.name} -> {self.formula.describe()})"

    @property
    def identity(self) -> str:
        """All of it; `describe` may leave out what is deep inside of the formula."""
        return f"{self.attribute!r} {self.variable!r} {self.every} {self.formula.digest.hex()}"
