"""Expressions on their way into the graph: functions of any number of operands, children before their parents."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.engines.dag.functions import AND, FALSE, OR, TRUE, at_least_of
from tamis.engines.forest import Forest

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class Program(NamedTuple):
    """Some expressions.

    functions: int32[terms].
    firsts, children: a term's operands are `children[firsts[t]:firsts[t + 1]]`: a term, or the ones' complement of
        a leaf. The only one of a constant is its place in `constants`.
    constants: int64[...]: the bits of numbers.
    roots: int32[expressions]: as children are.
    """

    functions: Shorts
    firsts: Ints
    children: Shorts
    constants: Ints
    roots: Shorts


def program_of(forest: Forest) -> Program:
    """The formulas of a forest."""
    least, counts = forest.nodes.least, np.diff(forest.nodes.firsts)
    joined = np.where(least == counts, AND, np.where(least == 1, OR, at_least_of(0) + 2 * least))
    functions = np.where(least <= 0, TRUE, np.where(least > counts, FALSE, joined))
    return Program(
        functions.astype(np.int32),
        np.ascontiguousarray(forest.nodes.firsts),
        np.ascontiguousarray(forest.nodes.children),
        np.empty(0, np.int64),
        np.ascontiguousarray(forest.roots),
    )
