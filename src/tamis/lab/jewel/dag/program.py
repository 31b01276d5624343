"""Expressions on their way into the graph: functions of any number of operands, children before their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.forest import Forest
from tamis.formulas.formula import Formula
from tamis.lab.jewel.dag.kernels.functions import AND, CONSTANT, FALSE, OR, TRUE, at_least_of


class ExpressionProgram(NamedTuple):
    """Expressions as arrays of terms.

    functions: int32[terms].
    firsts, children: the operands of term t are `children[firsts[t]:firsts[t + 1]]`: a term, or the ones'
        complement
        of a leaf. The only operand of a constant is its index in `constants`.
        The only operand of a call is its number.
    constants: int64[...]: the bits of floating-point numbers.
    roots: int32[expressions]: a term, or the ones' complement of a leaf.
    """

    functions: I32
    firsts: I64
    children: I32
    constants: I64
    roots: I32


def program_of(forest: Forest) -> ExpressionProgram:
    """The formulas of a forest as a program."""
    least, counts = forest.nodes.least, np.diff(forest.nodes.firsts)
    joined = np.where(least == counts, AND, np.where(least == 1, OR, at_least_of(0) + 2 * least))
    functions = np.where(least <= 0, TRUE, np.where(least > counts, FALSE, joined))
    return ExpressionProgram(
        functions.astype(np.int32),
        np.ascontiguousarray(forest.nodes.firsts),
        np.ascontiguousarray(forest.nodes.children),
        np.empty(0, np.int64),
        np.ascontiguousarray(forest.roots),
    )


class ProgramWriter:
    """Collects the terms of a program; its methods return a child as `ExpressionProgram` has it.

    Attributes:
        leaves: The leaves so far.
    """

    def __init__(self) -> None:
        self.leaves: list[Formula] = []
        self._functions: list[int] = []
        self._firsts = [0]
        self._children: list[int] = []
        self._constants: list[float] = []

    def leaf(self, formula: Formula) -> int:
        self.leaves.append(formula)
        return ~(len(self.leaves) - 1)

    def constant(self, value: float) -> int:
        self._constants.append(float(value))
        return self.term(CONSTANT, [len(self._constants) - 1])

    def at_least(self, least: int, operands: Sequence[int]) -> int:
        if least <= 0 or least > len(operands):
            return self.term(TRUE if least <= 0 else FALSE, [])
        if least == len(operands):
            return self.term(AND, operands)
        return self.term(OR if least == 1 else at_least_of(least), operands)

    def term(self, function: int, children: Sequence[int]) -> int:
        self._children.extend(children)
        self._firsts.append(len(self._children))
        self._functions.append(function)
        return len(self._functions) - 1

    def program(self, roots: Sequence[int]) -> ExpressionProgram:
        return ExpressionProgram(
            np.array(self._functions, np.int32),
            np.array(self._firsts, np.int64),
            np.array(self._children, np.int32),
            np.array(self._constants, np.float64).view(np.int64),
            np.array(roots, np.int32),
        )
