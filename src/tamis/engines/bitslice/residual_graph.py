"""The residual graph: all residual formulas and deduplication guards of an index, from which its program is made.

Equal nodes and leaves of different subscriptions are stored once (interned), so that the evaluator
(`tamis.engines.formula_program`) decides each of them once an event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.arrays import I32, I64
from tamis.engines.bitslice.kernels.interning import intern_nodes
from tamis.engines.forest import Forest, empty_leaves
from tamis.engines.formula_program import FormulaGraph


def residual_graph_of(
    forest: Forest, least: I32, firsts: I64, children: I32, roots: I64
) -> tuple[FormulaGraph, I64]:
    """The graph of everything below some roots, and the numbers of these roots in it.

    The nodes (`least`, `firsts`, `children`) are given apart from the forest, which has the leaves, because the
    builder makes some of its own.
    """
    source = FormulaGraph(*forest.leaves, *forest.pieces, least, firsts, children)
    if not len(roots):
        return _empty(), roots
    leaves, nodes = len(source.kinds), len(least)
    out = FormulaGraph(
        *empty_leaves(leaves),
        np.empty(len(forest.pieces.lows), np.int64),
        np.empty(len(forest.pieces.lows), np.int64),
        np.empty(nodes, np.int32),
        np.zeros(nodes + 1, np.int64),
        np.empty(len(children), np.int32),
    )
    numbers = roots.astype(np.int64)
    counts = intern_nodes(source, numbers, out, _hash_table(leaves), _hash_table(nodes))
    leaves, pieces, nodes, edges = counts.tolist()
    sizes = (leaves,) * 5 + (pieces,) * 2 + (nodes, nodes + 1, edges)
    parts: Any = out
    return FormulaGraph(*(each[:size].copy() for each, size in zip(parts, sizes, strict=True))), numbers


def _hash_table(elements: int) -> I32:
    """Room for open addressing: a power of two, at most half full; -1 is an empty place."""
    return np.full(1 << max(4, int(2 * elements).bit_length()), -1, np.int32)


def _empty() -> FormulaGraph:
    u8, i32, i64 = np.empty(0, np.uint8), np.empty(0, np.int32), np.empty(0, np.int64)
    return FormulaGraph(u8, u8, i32, i64, i64, i64, i64, i32, np.zeros(1, np.int64), i32)
