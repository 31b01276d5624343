"""Some formulas of a forest, with the leaves and nodes that they use and no others.

In what comes out every formula has its own leaves, pieces and nodes, side by side, whatever was shared before.
Axes and tests stay as they are.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tamis.engines.forest import PIECES, Forest, Leaves, Nodes, Pieces

Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


class _State(NamedTuple):
    """For whom a leaf or node was seen last, and as what number; the stack of a walk and how far it has come."""

    leaf_seen: Shorts
    leaf_numbers: Shorts
    node_seen: Shorts
    node_numbers: Shorts
    stack: Shorts
    places: Ints


class _Picked(NamedTuple):
    """Which leaves and nodes there are now, by their old numbers, and the children and roots by their new ones."""

    leaves: Shorts
    nodes: Shorts
    children: Shorts
    roots: Shorts


def picked(forest: Forest, slots: npt.NDArray[np.integer]) -> Forest:
    """The forest of these slots, in this order; a slot may come several times."""
    roots = forest.roots[slots]
    leaves, nodes = len(forest.leaves.kinds), len(forest.nodes.least)
    state = _State(
        np.zeros(leaves, np.int32),
        np.empty(leaves, np.int32),
        np.zeros(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int64),
    )
    counts = _walk(forest.nodes.firsts, forest.nodes.children, roots, state, _room(0, 0, 0, 0), False)
    out = _room(*counts, len(roots))
    _walk(forest.nodes.firsts, forest.nodes.children, roots, state, out, True)
    children = np.diff(forest.nodes.firsts)[out.nodes]
    return Forest(
        forest.axes,
        forest.tests,
        *_taken(forest.leaves, forest.pieces, out.leaves),
        Nodes(
            forest.nodes.least[out.nodes],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(children)]),
            out.children,
        ),
        out.roots,
    )


def _room(leaves: int, nodes: int, children: int, roots: int) -> _Picked:
    return _Picked(
        np.empty(leaves, np.int32),
        np.empty(nodes, np.int32),
        np.empty(children, np.int32),
        np.empty(roots, np.int32),
    )


def _taken(leaves: Leaves, pieces: Pieces, numbers: Shorts) -> tuple[Leaves, Pieces]:
    """Some leaves, with pieces of their own."""
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


@numba.njit(cache=True, nogil=True)
def _walk(
    firsts: Ints, children: Shorts, roots: Shorts, state: _State, out: _Picked, write: bool
) -> tuple[int, int, int]:
    """Visit what the roots use, children first; count leaves, nodes and children, or write them down too."""
    # Arrays are taken out of their tuples once, not once a node: that costs more than the rest.
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
