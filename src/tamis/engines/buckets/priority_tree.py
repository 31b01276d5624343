"""Priority search trees: which ranges hold a value, for ranges of any ordered domain that come and go.

A point stands for a range or for the hull of several: x = (end, start), compared in this order and unique in its
tree; low, the least start; and the number of a bucket, not negative. Many trees share a pool; a tree is the number
of its root, -1 if it is empty.

Invariant: a tree is red-black with a black leaf for each x, in order; the key of an inner node is not below any x
on its left and below every x on its right. Each node has one place for a point. A point is in exactly one place,
on the way from the root to the leaf of its x; no point below another has a lesser low, and below an empty place
all are empty. So a query stops at the first low that is too great.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Records: TypeAlias = npt.NDArray[np.void]
Shorts: TypeAlias = npt.NDArray[np.int32]

NODE = np.dtype(
    [
        ("end", np.int64),
        ("start", np.int64),
        ("point_end", np.int64),
        ("point_start", np.int64),
        ("point_low", np.int64),
        ("bucket", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("red", np.uint8),
    ],
    align=True,
)
"""A node: its key, or the x of a leaf; the point in its place, whose bucket is -1 if the place is empty; its
children, -1 of a leaf (`left` of a free node: the next free one); its colour. It is one record, so that a step is
one look at memory. Numbers leave it as int64, since int32 and int64 arguments compile twice.
"""
# Fewer than 2**30 points fit into int32 node numbers, so no way down is longer, even in the middle of a rotation.
_DEEPEST = 64


@struct
class Points(structref.StructRefProxy):  # type: ignore[misc]
    """What `points_of` gives: the pool of all trees; only compiled code looks into it.

    nodes: NODE[...].
    made, free, count: nodes ever made, a free one or -1, nodes in use.
    rotations, steps: how many there were in all changes; a step is a node looked at.
    """

    nodes: Records
    made: int
    free: int
    count: int
    rotations: int
    steps: int


@numba.njit(cache=True, nogil=True)
def points_of() -> Points:
    """No trees yet."""
    return Points(np.empty(16, NODE), 0, -1, 0, 0, 0)


@numba.njit(cache=True, nogil=True)
def point_bytes(points: Points) -> int:
    """What the nodes take, free ones included."""
    return np.int64(points.made * points.nodes.itemsize)


@numba.njit(cache=True, nogil=True)
def _take(points: Points, end: int, start: int) -> int:
    """A black leaf of an x, with an empty place."""
    if points.free >= 0:
        leaf = points.free
        points.free = np.int64(points.nodes[leaf].left)
    else:
        leaf = points.made
        points.made += 1
        if leaf == len(points.nodes):
            points.nodes = grown(points.nodes, leaf + leaf // 2)
    points.count += 1
    node = points.nodes[leaf]
    node.end, node.start = end, start
    node.bucket, node.left, node.right, node.red = -1, -1, -1, 0
    return leaf


@numba.njit(cache=True, nogil=True)
def _give(points: Points, number: int) -> None:
    """Make a node free."""
    points.nodes[number].left = points.free
    points.free = np.int64(number)
    points.count -= 1


@numba.njit(cache=True, nogil=True)
def _up_to(end: int, start: int, other_end: int, other_start: int) -> bool:
    """Is an x not above another?"""
    return end < other_end or (end == other_end and start <= other_start)


@numba.njit(cache=True, nogil=True)
def _way(nodes: Records, root: int, end: int, start: int, way: Shorts) -> int:
    """Write the way from the root to the leaf where an x is or would be; gives the depth of the leaf."""
    depth = 0
    way[0] = root
    while nodes[way[depth]].left >= 0:
        node = nodes[way[depth]]
        depth += 1
        way[depth] = node.left if _up_to(end, start, node.end, node.start) else node.right
    return depth


@numba.njit(cache=True, nogil=True)
def _push(points: Points, number: int, end: int, start: int, low: int, bucket: int) -> None:
    """Put a point into the place of a node or below it, where it belongs."""
    nodes = points.nodes
    while True:
        points.steps += 1
        node = nodes[number]
        old_end, old_start, old_low, old_bucket = node.point_end, node.point_start, node.point_low, node.bucket
        if old_bucket < 0 or low < old_low:
            node.point_end, node.point_start, node.point_low, node.bucket = end, start, low, bucket
            if old_bucket < 0:
                return
            end, start, low, bucket = old_end, old_start, old_low, old_bucket
        number = node.left if _up_to(end, start, node.end, node.start) else node.right


@numba.njit(cache=True, nogil=True)
def _pull(points: Points, number: int) -> None:
    """Fill the place of a node, whose point is gone, from below."""
    nodes = points.nodes
    while True:
        points.steps += 1
        node = nodes[number]
        if node.left < 0:
            break
        left, right = nodes[node.left], nodes[node.right]
        if right.bucket < 0 or (left.bucket >= 0 and left.point_low <= right.point_low):
            upper, number = left, node.left
        else:
            upper, number = right, node.right
        if upper.bucket < 0:
            break
        node.point_end, node.point_start = upper.point_end, upper.point_start
        node.point_low, node.bucket = upper.point_low, upper.bucket
    node.bucket = -1


@numba.njit(cache=True, nogil=True)
def _relink(nodes: Records, above: int, old: int, new: int) -> None:
    """Make a node the child of `above` in the place of another."""
    if nodes[above].left == old:
        nodes[above].left = new
    else:
        nodes[above].right = new


@numba.njit(cache=True, nogil=True)
def _lift(points: Points, way: Shorts, depth: int, lower: int) -> None:
    """Rotate: a child of the node at a depth of the way takes its place there."""
    points.rotations += 1
    nodes = points.nodes
    upper = way[depth]
    high, rising = nodes[upper], nodes[lower]
    if high.left == lower:
        high.left, rising.right = rising.right, upper
    else:
        high.right, rising.left = rising.left, upper
    if depth > 0:
        _relink(nodes, way[depth - 1], upper, lower)
    way[depth] = lower
    end, start, low, bucket = rising.point_end, rising.point_start, rising.point_low, rising.bucket
    rising.point_end, rising.point_start = high.point_end, high.point_start
    rising.point_low, rising.bucket = high.point_low, high.bucket
    _pull(points, upper)
    if bucket >= 0:
        child = rising.left if _up_to(end, start, rising.end, rising.start) else rising.right
        _push(points, np.int64(child), end, start, low, np.int64(bucket))


@numba.njit(cache=True, nogil=True)
def insert(points: Points, root: int, end: int, start: int, low: int, bucket: int) -> int:
    """Put in a point whose x is not in the tree; gives the root. O(log n), at most 2 rotations."""
    if root < 0:
        root = _take(points, end, start)
        _push(points, root, end, start, low, bucket)
        return root
    way = np.empty(_DEEPEST, np.int32)
    depth = _way(points.nodes, root, end, start, way)
    points.steps += depth + 1
    leaf = points.nodes[way[depth]]
    old_end, old_start = leaf.end, leaf.start
    assert end != old_end or start != old_start, "the x of a point is already in its tree"
    new, old = _take(points, end, start), _take(points, old_end, old_start)
    # The leaf becomes an inner node and keeps its place, in which nothing but the old point can be.
    inner = points.nodes[way[depth]]
    if _up_to(end, start, old_end, old_start):
        inner.left, inner.right, inner.end, inner.start = new, old, end, start
    else:
        inner.left, inner.right = old, new
    inner.red = 1
    _push(points, root, end, start, low, bucket)
    _redden(points, way, depth)
    return np.int64(way[0])


@numba.njit(cache=True, nogil=True)
def _redden(points: Points, way: Shorts, depth: int) -> None:
    """Put the colours right when the node at a depth of the way has become red."""
    nodes = points.nodes
    while depth >= 2 and nodes[way[depth - 1]].red:
        parent, grandparent = way[depth - 1], way[depth - 2]
        on_left = nodes[grandparent].left == parent
        uncle = nodes[grandparent].right if on_left else nodes[grandparent].left
        if nodes[uncle].red:
            nodes[parent].red = nodes[uncle].red = 0
            nodes[grandparent].red = 1
            depth -= 2
            continue
        if (nodes[parent].left == way[depth]) != on_left:
            _lift(points, way, depth - 1, way[depth])
        nodes[grandparent].red = 1
        _lift(points, way, depth - 2, way[depth - 1])
        nodes[way[depth - 2]].red = 0
        break
    nodes[way[0]].red = 0


@numba.njit(cache=True, nogil=True)
def delete(points: Points, root: int, end: int, start: int) -> int:
    """Take out the point of an x that is in the tree; gives the root. O(log n), at most 3 rotations."""
    assert root >= 0, "an empty tree has no point to take out"
    nodes = points.nodes
    way = np.empty(_DEEPEST, np.int32)
    depth = _way(nodes, root, end, start, way)
    points.steps += depth + 1
    leaf = way[depth]
    assert nodes[leaf].end == end and nodes[leaf].start == start, "the x of a point is not in its tree"
    at = 0
    # What an empty place still says does no harm: the point is above all empty places of the way.
    while nodes[way[at]].point_end != end or nodes[way[at]].point_start != start:
        at += 1
    _pull(points, way[at])
    _give(points, leaf)
    if depth == 0:
        return -1
    depth -= 1
    parent = way[depth]
    node = nodes[parent]
    sibling = np.int64(node.right if node.left == leaf else node.left)
    if node.bucket >= 0:
        _push(points, sibling, node.point_end, node.point_start, node.point_low, np.int64(node.bucket))
    way[depth] = sibling
    if depth > 0:
        _relink(nodes, way[depth - 1], parent, way[depth])
    was_red = node.red
    _give(points, parent)
    if not was_red:
        _blacken(points, way, depth)
    nodes[way[0]].red = 0
    return np.int64(way[0])


@numba.njit(cache=True, nogil=True)
def _blacken(points: Points, way: Shorts, depth: int) -> None:
    """Put the colours right when a black node is missing on all ways through the node at a depth of the way."""
    nodes = points.nodes
    while depth > 0 and not nodes[way[depth]].red:
        at, parent = way[depth], way[depth - 1]
        on_left = nodes[parent].left == at
        sibling = nodes[parent].right if on_left else nodes[parent].left
        if nodes[sibling].red:
            nodes[sibling].red, nodes[parent].red = 0, 1
            _lift(points, way, depth - 1, sibling)
            way[depth], way[depth + 1] = parent, at
            depth += 1
            sibling = nodes[parent].right if on_left else nodes[parent].left
        left, right = nodes[sibling].left, nodes[sibling].right
        near, far = (left, right) if on_left else (right, left)
        if not nodes[near].red and not nodes[far].red:
            nodes[sibling].red = 1
            depth -= 1
            continue
        if not nodes[far].red:
            # The way goes to the sibling for as long as its own child rises.
            way[depth] = sibling
            _lift(points, way, depth, near)
            far, sibling = sibling, near
        nodes[sibling].red = nodes[parent].red
        nodes[parent].red = nodes[far].red = 0
        _lift(points, way, depth - 1, sibling)
        return
    nodes[way[depth]].red = 0


@numba.njit(cache=True, nogil=True)
def exact(points: Points, root: int, end: int, start: int) -> int:
    """The bucket of an x, -1 if it is not in the tree."""
    nodes = points.nodes
    number = root
    while number >= 0:
        node = nodes[number]
        if node.bucket < 0:
            return -1
        if node.point_end == end and node.point_start == start:
            return np.int64(node.bucket)
        number = np.int64(node.left if _up_to(end, start, node.end, node.start) else node.right)
    return -1


@numba.njit(cache=True, nogil=True)
def successor(points: Points, root: int, end: int, start: int) -> int:
    """The bucket of the least x that is not below (end, start), -1 if there is none."""
    if root < 0:
        return -1
    nodes = points.nodes
    number, following = root, -1
    while nodes[number].left >= 0:
        node = nodes[number]
        if _up_to(end, start, node.end, node.start):
            number, following = np.int64(node.left), np.int64(node.right)
        else:
            number = np.int64(node.right)
    if not _up_to(end, start, nodes[number].end, nodes[number].start):
        if following < 0:
            return -1
        number = following
        while nodes[number].left >= 0:
            number = np.int64(nodes[number].left)
    return exact(points, root, nodes[number].end, nodes[number].start)


@numba.njit(cache=True, nogil=True)
def last(points: Points, root: int) -> int:
    """The bucket of the greatest x, -1 if the tree is empty."""
    if root < 0:
        return -1
    nodes = points.nodes
    number = root
    while nodes[number].left >= 0:
        number = np.int64(nodes[number].right)
    return exact(points, root, nodes[number].end, nodes[number].start)


@numba.njit(cache=True, nogil=True)
def query(points: Points, root: int, value: int, out: Shorts, count: int) -> tuple[int, int]:
    """Write the buckets of all points with end >= value and low <= value, in no order.

    Args:
        points: The pool.
        root: Of the tree.
        value: Looked for.
        out: int32[...]: where the buckets go, behind the first `count`; there is room for all points of the tree.
        count: How many are there already.

    Returns:
        How many are there then, and how many nodes were looked at: O(log n + found).
    """
    if root < 0:
        return count, 0
    nodes = points.nodes
    if nodes[root].point_low > value:
        # Nothing is found very often; it then costs no allocation.
        return count, 1
    waiting = np.empty(_DEEPEST, np.int32)
    waiting[0] = root
    top, steps = 1, 0
    while top > 0:
        top -= 1
        steps += 1
        node = nodes[waiting[top]]
        if node.bucket < 0 or node.point_low > value:
            continue
        if node.point_end >= value:
            out[count] = node.bucket
            count += 1
        if node.left >= 0:
            waiting[top] = node.right
            top += 1
            if node.end >= value:
                waiting[top] = node.left
                top += 1
    return count, steps
