"""Expressions on their way into the graph: functions of any number of operands, children before their parents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.forest import Forest
from tamis.lab.jewel.dag.kernels.functions import AND, FALSE, OR, TRUE, at_least_of


class ExpressionProgram(NamedTuple):
    """Expressions as arrays of terms.

    functions: int32[terms].
    firsts, children: the operands of term t are `children[firsts[t]:firsts[t + 1]]`: a term, or the ones'
        complement
        of a leaf. The only operand of a constant is its index in `constants`.
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
