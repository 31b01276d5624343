"""Selects formulas of a forest, with the leaves and nodes that they use and no others.

In the result, the leaves, pieces and nodes of a formula are its own and consecutive, whatever was shared before.
Axes and tests stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, Integers
from tamis.engines.forest import PIECES, Forest, Leaves, Nodes, Pieces
from tamis.kernels import kernel


class _WalkState(NamedTuple):
    """The formula that saw a leaf or node last, and its new number; the stack of the walk, with the next child."""

    leaf_seen: I32
    leaf_numbers: I32
    node_seen: I32
    node_numbers: I32
    stack: I32
    places: I64


class _Selection(NamedTuple):
    """The selected leaves and nodes by their old numbers, and their children and roots by the new ones."""

    leaves: I32
    nodes: I32
    children: I32
    roots: I32


def select_formulas(forest: Forest, slots: Integers) -> Forest:
    """The forest of these slots, in this order; a slot may occur several times."""
    roots = forest.roots[slots]
    leaves, nodes = len(forest.leaves.kinds), len(forest.nodes.least)
    state = _WalkState(
        np.zeros(leaves, np.int32),
        np.empty(leaves, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int64),
    )
    counts = _walk(forest.nodes.firsts, forest.nodes.children, roots, state, _empty_selection(0, 0, 0, 0), False)
    out = _empty_selection(*counts, len(roots))
    _walk(forest.nodes.firsts, forest.nodes.children, roots, state, out, True)
    children = np.diff(forest.nodes.firsts)[out.nodes]
    return Forest(
        forest.axes,
        forest.tests,
        *_take_leaves(forest.leaves, forest.pieces, out.leaves),
        Nodes(
            forest.nodes.least[out.nodes],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(children)]),
            out.children,
        ),
        out.roots,
    )


def _empty_selection(leaves: int, nodes: int, children: int, roots: int) -> _Selection:
    return _Selection(
        np.empty(leaves, np.int32),
        np.empty(nodes, np.int32),
        np.empty(children, np.int32),
        np.empty(roots, np.int32),
    )


def _take_leaves(leaves: Leaves, pieces: Pieces, numbers: I32) -> tuple[Leaves, Pieces]:
    """The leaves with these numbers, with pieces of their own."""
    kinds, lows, highs = leaves.kinds[numbers], leaves.lows[numbers], leaves.highs[numbers]
    several = np.flatnonzero(kinds == PIECES)
    starts, lengths = lows[several], (highs - lows)[several]
    ends = np.cumsum(lengths)
    lows[several], highs[several] = ends - lengths, ends
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(lengths.sum())
    return (
        Leaves(kinds, leaves.nulls[numbers], leaves.axes[numbers], lows, highs),
        Pieces(pieces.lows[places], pieces.highs[places]),
    )


@kernel
def _walk(
    firsts: I64, children: I32, roots: I32, state: _WalkState, out: _Selection, write: bool
) -> tuple[int, int, int]:
    """Visit leaves and nodes below the roots, children first; count leaves, nodes and children, and write them."""
    # Arrays are taken out of their tuples once, outside of the loop: per node it would cost more than all the
    # rest.
    leaf_seen, leaf_numbers = state.leaf_seen, state.leaf_numbers
    node_seen, node_numbers = state.node_seen, state.node_numbers
    stack, places = state.stack, state.places
    out_leaves, out_nodes, out_children, out_roots = out.leaves, out.nodes, out.children, out.roots
    leaf_count = node_count = child_count = 0
    for slot in range(len(roots)):
        stamp = slot + 1 if write else -slot - 1
        root = roots[slot]
        if root < 0:
            if write:
                out_leaves[leaf_count] = ~root
                out_roots[slot] = ~leaf_count
            leaf_count += 1
            continue
        stack[0], places[0] = root, firsts[root]
        height = 1
        while height:
            node, place = stack[height - 1], places[height - 1]
            last = firsts[node + 1]
            deeper = False
            while place < last and not deeper:
                child = children[place]
                place += 1
                if child >= 0:
                    deeper = node_seen[child] != stamp
                elif leaf_seen[~child] != stamp:
                    leaf_seen[~child] = stamp
                    if write:
                        leaf_numbers[~child] = leaf_count
                        out_leaves[leaf_count] = ~child
                    leaf_count += 1
            if deeper:
                places[height - 1] = place
                stack[height], places[height] = child, firsts[child]
                height += 1
                continue
            height -= 1
            node_seen[node] = stamp
            if write:
                node_numbers[node] = node_count
                out_nodes[node_count] = node
                for place in range(firsts[node], last):
                    child = children[place]
                    number = node_numbers[child] if child >= 0 else ~leaf_numbers[~child]
                    out_children[child_count + place - firsts[node]] = number
            node_count += 1
            child_count += last - firsts[node]
        if write:
            out_roots[slot] = node_numbers[root]
    return leaf_count, node_count, child_count
