"""Deletion from a BE-Tree: partitions and halves that hold too few terms are merged into one bucket again."""

from __future__ import annotations

import numpy as np

from tamis.arrays import I64
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.baselines.betree.kernels.insertion import add_fresh_entry, forget_keys, mark_path
from tamis.lab.baselines.betree.kernels.tree import (
    BUCKET,
    COUNT,
    DIRECTORY,
    ENTRY,
    LEFT,
    LOW_BITS,
    NODE,
    PARTITIONS,
    RIGHT,
    BETreeNodes,
    detach,
    drop_directory,
    free_node,
    is_clustered,
    remove_entry,
)
from tamis.lab.boxes.kernels.boxes import Boxes


@kernel
def delete_terms(tree: BETreeNodes, boxes: Boxes, terms: I64) -> None:
    for term in terms:
        _delete(tree, boxes, term)


@kernel
def _delete(tree: BETreeNodes, boxes: Boxes, term: int) -> None:
    forget_keys(tree, boxes, term)
    node = int(tree.homes[term])
    tree.homes[term] = -1
    remove_entry(tree, node, int(tree.places[term]))
    if tree.nodes[node * NODE + COUNT] * 4 <= tree.caps[node]:
        tree.caps[node] = max(tree.max_cap, tree.caps[node] // 2)
    above, highest = node, -1
    while above >= 0:
        tree.weights[above] -= 1
        has_more = tree.nodes[above * NODE + PARTITIONS] > 0 or is_clustered(tree, above)
        if has_more and 2 * tree.weights[above] <= tree.max_cap:
            highest = above
        above = int(tree.parents[above])
    if highest >= 0:
        _merge(tree, boxes, highest)
        node = highest
    while tree.weights[node] == 0 and tree.parents[node] >= 0:
        above = int(tree.parents[node])
        detach(tree, node)
        free_node(tree, node)
        node = above


@kernel
def _merge(tree: BETreeNodes, boxes: Boxes, node: int) -> None:
    """Move the terms below a node into its bucket, and free the nodes below it."""
    waiting, top = _push_children(tree, node, np.empty(64, np.int64), 0)
    drop_directory(tree, node)
    tree.nodes[node * NODE + LEFT] = tree.nodes[node * NODE + RIGHT] = -1
    mark_path(tree, node, 1)
    while top:
        top -= 1
        below = int(waiting[top])
        waiting, top = _push_children(tree, below, waiting, top)
        first = tree.nodes[below * NODE + BUCKET]
        for entry in range(tree.nodes[below * NODE + COUNT]):
            add_fresh_entry(tree, boxes, node, tree.cells[first + ENTRY * entry] & LOW_BITS)
        free_node(tree, below)
    mark_path(tree, node, 0)


@kernel
def _push_children(tree: BETreeNodes, node: int, waiting: I64, top: int) -> tuple[I64, int]:
    """Push the partitions and halves of a node on a stack; returns the stack, which may be a longer one."""
    at = node * NODE
    if top + tree.nodes[at + PARTITIONS] + 2 > len(waiting):
        waiting = grow(waiting, 2 * (top + tree.nodes[at + PARTITIONS] + 2))
    for half in (tree.nodes[at + LEFT], tree.nodes[at + RIGHT]):
        if half >= 0:
            waiting[top] = half
            top += 1
    for cell in range(tree.nodes[at + DIRECTORY], tree.nodes[at + DIRECTORY] + tree.nodes[at + PARTITIONS]):
        waiting[top] = tree.cells[cell] & LOW_BITS
        top += 1
    return waiting, top
