"""A term out: parts and halves that are not worth their while any more are gathered again into one bucket."""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.betree.cutting import add_fresh_entry, discount, mark_path
from tamis.engines.betree.tree import (
    BUCKET,
    COUNT,
    DIRECTORY,
    ENTRY,
    LEFT,
    LOW_BITS,
    NODE,
    PARTS,
    RIGHT,
    Ints,
    Tree,
    detach,
    drop_directory,
    free_node,
    is_cut,
    remove_entry,
)
from tamis.engines.boxes.sides import Boxes
from tamis.engines.grouping import grown


@numba.njit(cache=True, nogil=True)
def take_terms(tree: Tree, boxes: Boxes, terms: Ints) -> None:
    """Take terms out that are there."""
    for term in terms:
        _take(tree, boxes, term)


@numba.njit(cache=True, nogil=True)
def _take(tree: Tree, boxes: Boxes, term: int) -> None:
    discount(tree, boxes, term)
    node = int(tree.homes[term])
    tree.homes[term] = -1
    remove_entry(tree, node, int(tree.places[term]))
    if tree.nodes[node * NODE + COUNT] * 4 <= tree.caps[node]:
        tree.caps[node] = max(tree.max_cap, tree.caps[node] // 2)
    above, highest = node, -1
    while above >= 0:
        tree.weights[above] -= 1
        has_more = tree.nodes[above * NODE + PARTS] > 0 or is_cut(tree, above)
        if has_more and 2 * tree.weights[above] <= tree.max_cap:
            highest = above
        above = int(tree.parents[above])
    if highest >= 0:
        _gather(tree, boxes, highest)
        node = highest
    while tree.weights[node] == 0 and tree.parents[node] >= 0:
        above = int(tree.parents[node])
        detach(tree, node)
        free_node(tree, node)
        node = above


@numba.njit(cache=True, nogil=True)
def _gather(tree: Tree, boxes: Boxes, node: int) -> None:
    """Put the terms below a node into its bucket, and give the nodes below it back."""
    waiting, top = _with_below(tree, node, np.empty(64, np.int64), 0)
    drop_directory(tree, node)
    tree.nodes[node * NODE + LEFT] = tree.nodes[node * NODE + RIGHT] = -1
    mark_path(tree, node, 1)
    while top:
        top -= 1
        below = int(waiting[top])
        waiting, top = _with_below(tree, below, waiting, top)
        first = tree.nodes[below * NODE + BUCKET]
        for entry in range(tree.nodes[below * NODE + COUNT]):
            add_fresh_entry(tree, boxes, node, tree.cells[first + ENTRY * entry] & LOW_BITS)
        free_node(tree, below)
    mark_path(tree, node, 0)


@numba.njit(cache=True, nogil=True)
def _with_below(tree: Tree, node: int, waiting: Ints, top: int) -> tuple[Ints, int]:
    """Put the parts and halves of a node on a stack, which may have to be a longer one then."""
    at = node * NODE
    if top + tree.nodes[at + PARTS] + 2 > len(waiting):
        waiting = grown(waiting, 2 * (top + tree.nodes[at + PARTS] + 2))
    for half in (tree.nodes[at + LEFT], tree.nodes[at + RIGHT]):
        if half >= 0:
            waiting[top] = half
            top += 1
    for cell in range(tree.nodes[at + DIRECTORY], tree.nodes[at + DIRECTORY] + tree.nodes[at + PARTS]):
        waiting[top] = tree.cells[cell] & LOW_BITS
        top += 1
    return waiting, top
