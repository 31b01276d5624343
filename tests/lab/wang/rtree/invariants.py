"""The invariants of an R-tree, checked from scratch: boxes, fill, heights, counts, links both ways."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numba
import numpy as np

from tamis.arrays import I32, I64
from tamis.lab.wang.rtree.kernels.tree import RtreeNodes, min_entries


class RtreeError(AssertionError):
    """A tree breaks an invariant."""


class RtreeArrays(NamedTuple):
    """The fields of a tree, for code that is not compiled; boxes are int64[nodes, stride, dimensions, 2]."""

    inner: int
    leaf: int
    root: int
    box_count: int
    free: int
    boxes: I64
    links: I32
    sizes: I32
    heights: I32
    parents: I32
    weights: I32
    homes: I32


def tree_arrays(tree: RtreeNodes) -> RtreeArrays:
    """The fields of a tree as they are, without copies."""
    return RtreeArrays(*_arrays(tree))


@numba.njit(cache=True, nogil=True)
def _arrays(
    tree: RtreeNodes,
) -> tuple[int, int, int, int, int, I64, I32, I32, I32, I32, I32, I32]:
    made, stride = tree.made, tree.stride
    return (
        tree.inner,
        tree.leaf,
        tree.root,
        tree.count,
        tree.free,
        tree.bounds[: made * stride * 2 * tree.dimensions].reshape((made, stride, tree.dimensions, 2)),
        tree.links[: made * stride].reshape((made, stride)),
        tree.sizes[:made],
        tree.heights[:made],
        tree.parents[:made],
        tree.weights[:made],
        tree.homes,
    )


def check_tree(tree: RtreeNodes) -> None:
    """Raise TreeError if something is wrong; takes time for every box."""
    view = tree_arrays(tree)
    if view.parents[view.root] != -1:
        _fail(view.root, f"the root has a parent, {view.parents[view.root]}")
    seen = {view.root}
    payloads: dict[int, int] = {}
    waiting = [view.root]
    while waiting:
        node = waiting.pop()
        _check_fill(view, node)
        if view.heights[node] == 1:
            for payload in _links(view, node):
                if payload in payloads:
                    _fail(node, f"has payload {payload}, and so has node {payloads[payload]}")
                payloads[payload] = node
        else:
            for place, child in enumerate(_links(view, node)):
                if child in seen:
                    _fail(child, "is twice in the tree")
                seen.add(child)
                _check_child(view, node, place, child)
                waiting.append(child)
        _check_weight(view, node)
    _check_free(view, seen)
    if len(payloads) != view.box_count:
        _fail(view.root, f"has {len(payloads)} boxes below, {view.box_count} are counted")
    homes = {int(payload): int(view.homes[payload]) for payload in np.flatnonzero(view.homes >= 0)}
    for payload in homes.keys() ^ payloads.keys() | {each for each in homes if homes[each] != payloads.get(each)}:
        _fail(homes.get(payload, -1), f"said to have payload {payload}, which is in {payloads.get(payload)}")


def _fail(node: int, what: str) -> NoReturn:
    message = f"node {node}: {what}"
    raise RtreeError(message)


def _links(view: RtreeArrays, node: int) -> list[int]:
    links: list[int] = view.links[node, : view.sizes[node]].tolist()
    return links


def _check_fill(view: RtreeArrays, node: int) -> None:
    is_leaf = view.heights[node] == 1
    most = view.leaf if is_leaf else view.inner
    least = min_entries(most)
    if node == view.root:
        least = 0 if is_leaf else 2
    if not least <= view.sizes[node] <= most:
        _fail(node, f"has {view.sizes[node]} entries, from {least} to {most} are allowed")


def _check_child(view: RtreeArrays, node: int, place: int, child: int) -> None:
    if view.heights[child] != view.heights[node] - 1:
        _fail(child, f"has height {view.heights[child]} below one of height {view.heights[node]}")
    if view.parents[child] != node:
        _fail(child, f"has parent {view.parents[child]} instead of {node}")
    inside = view.boxes[child, : view.sizes[child]]
    around = np.stack([inside[:, :, 0].min(axis=0), inside[:, :, 1].max(axis=0)], axis=1)
    if not np.array_equal(around, view.boxes[node, place]):
        _fail(child, f"has the box {view.boxes[node, place].tolist()}, the least one is {around.tolist()}")


def _check_weight(view: RtreeArrays, node: int) -> None:
    links = _links(view, node)
    weight = len(links) if view.heights[node] == 1 else int(view.weights[links].sum())
    if view.weights[node] != weight:
        _fail(node, f"has weight {view.weights[node]} instead of {weight}")


def _check_free(view: RtreeArrays, seen: set[int]) -> None:
    free = set(range(len(view.sizes))) - seen
    at = view.free
    while at >= 0:
        if at not in free:
            _fail(at, "in the list of free numbers, but it is not free, or twice there")
        free.remove(at)
        if view.heights[at] != 0:
            _fail(at, f"is free, but has height {view.heights[at]}")
        at = int(view.links[at, 0])
    if free:
        _fail(min(free), "not in the tree, and not in the list of free numbers")
