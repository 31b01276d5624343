"""Merges forests: the formulas to keep, without the attributes, cuts and tests that only others used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamis.arrays import I32, I64, Integers
from tamis.engines.forest import PIECES, TEST, Forest, Leaves, Nodes, Pieces, forest_of, selection
from tamis.engines.forest.axis_union import AxisUnion
from tamis.engines.forest.selection import select_formulas
from tamis.engines.forest.tests import join_tests
from tamis.interpretation import Allowance

_allowance = Allowance(to_load=0, to_compile=50_000)
"""Of formulas that are made objects and a new forest, without kernels."""


def join_forests(parts: Sequence[tuple[Forest, Integers]]) -> Forest:
    """The kept formulas of all parts, one part after the other.

    Attributes, cuts and tests that no kept formula uses are dropped. Formulas share no leaves and no nodes.

    Args:
        parts: Forests, each with the slots to keep, in the order of the result.
    """
    if _allowance.covers(selection.__name__, sum(len(slots) for _, slots in parts)):
        return forest_of([forest[int(slot)] for forest, slots in parts for slot in slots])
    return concatenate_forests([select_formulas(forest, slots) for forest, slots in parts])


def concatenate_forests(forests: Sequence[Forest]) -> Forest:
    """The formulas of all forests, one forest after the other."""
    union = AxisUnion()
    sources = [union.add_forest(forest) for forest in forests]
    axes = union.rank()
    wanted = [np.unique(forest.leaves.lows[forest.leaves.kinds == TEST]) for forest in forests]
    tests, numbers = join_tests([(forest.tests, used) for forest, used in zip(forests, wanted, strict=True)])
    leaves: list[Leaves] = []
    pieces: list[Pieces] = []
    nodes: list[Nodes] = []
    roots: list[I32] = []
    bases = np.zeros(4, np.int64)  # leaves, pieces, nodes, children
    for forest, source, renumbered in zip(forests, sources, numbers, strict=True):
        moved, here = union.translate(source)
        is_test = moved.kinds == TEST
        moved.lows[is_test] = renumbered[moved.lows[is_test]]
        has_pieces = moved.kinds == PIECES
        moved.lows[has_pieces] += bases[1]
        moved.highs[has_pieces] += bases[1]
        leaves.append(moved)
        pieces.append(here)
        children = _shift_numbers(forest.nodes.children, bases)
        nodes.append(Nodes(forest.nodes.least, forest.nodes.firsts[1:] + bases[3], children))
        roots.append(_shift_numbers(forest.roots, bases))
        bases += (len(moved.kinds), len(here.lows), len(forest.nodes.least), len(children))
    return Forest(
        axes,
        tests,
        Leaves(
            np.concatenate([np.empty(0, np.uint8), *(part.kinds for part in leaves)]),
            np.concatenate([np.empty(0, np.uint8), *(part.nulls for part in leaves)]),
            np.concatenate([np.empty(0, np.int32), *(part.axes for part in leaves)]),
            np.concatenate([np.empty(0, np.int64), *(part.lows for part in leaves)]),
            np.concatenate([np.empty(0, np.int64), *(part.highs for part in leaves)]),
        ),
        Pieces(
            np.concatenate([np.empty(0, np.int64), *(part.lows for part in pieces)]),
            np.concatenate([np.empty(0, np.int64), *(part.highs for part in pieces)]),
        ),
        Nodes(
            np.concatenate([np.empty(0, np.int32), *(part.least for part in nodes)]),
            np.concatenate([np.zeros(1, np.int64), *(part.firsts for part in nodes)]),
            np.concatenate([np.empty(0, np.int32), *(part.children for part in nodes)]),
        ),
        np.concatenate([np.empty(0, np.int32), *roots]),
    )


def _shift_numbers(numbers: I32, bases: I64) -> I32:
    """Renumber nodes and leaves to follow those of the parts before."""
    shift = np.where(numbers >= 0, bases[2], -bases[0])
    return np.asarray(numbers + shift, np.int32)
