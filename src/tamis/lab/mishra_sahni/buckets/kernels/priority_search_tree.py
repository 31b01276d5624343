r"""Red-black priority search trees (RBPST): which ranges contain a value, for ranges of any ordered domain.

    (end, start) in order at the leaves:    (3,1)   (5,0)   (8,6)   (9,2)
    one point in each node, least low on top:

                    (5,0) low 0              a query for 4 wants low <= 4 and end >= 4:
                   /           \             stop below a node whose low is above 4;
             (3,1) low 1    (9,2) low 2      skip a left child if its key is below 4
              /   \          /   \
             .     .        .  (8,6) low 6

A point stands for a range, or for the hull of several: x = (end, start), in this order and unique in its tree;
low, the least start; and a bucket, not negative. Many trees share a pool; a tree is the number of its root, -1 if
empty.

Invariant: a tree is red-black with a black leaf for each x, in order; the key of an inner node is not below any x
on its left and below every x on its right. Each node has one place for a point. A point is in exactly one place,
on the path from the root to the leaf of its x; no point below another has a lesser low, and below an empty place
all are empty. So a query stops at the first low that is too great.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, Structs
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel

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
one cache miss. Numbers leave it as int64, since int32 and int64 arguments would compile everything twice.
"""
# Fewer than 2**30 points fit into int32 node numbers, so no path is longer, even in the middle of a rotation.
_MAX_DEPTH = 64


@struct
class PrioritySearchTrees(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_search_trees`: the pool of all trees; only compiled code reads its fields.

    nodes: NODE[...].
    made, free, count: nodes ever made, a free one or -1, nodes in use.
    rotations, steps: counts over all updates; a step is a node visited.
    """

    nodes: Structs
    made: int
    free: int
    count: int
    rotations: int
    steps: int


@kernel
def empty_search_trees() -> PrioritySearchTrees:
    return PrioritySearchTrees(np.empty(16, NODE), 0, -1, 0, 0, 0)


@kernel
def search_tree_bytes(points: PrioritySearchTrees) -> int:
    """Bytes of nodes, free ones included."""
    return np.int64(points.made * points.nodes.itemsize)


@kernel
def _new_leaf(points: PrioritySearchTrees, end: int, start: int) -> int:
    """Make a black leaf of an x, with an empty place."""
    if points.free >= 0:
        leaf = points.free
        points.free = np.int64(points.nodes[leaf].left)
    else:
        leaf = points.made
        points.made += 1
        if leaf == len(points.nodes):
            points.nodes = grow(points.nodes, leaf + leaf // 2)
    points.count += 1
    node = points.nodes[leaf]
    node.end, node.start = end, start
    node.bucket, node.left, node.right, node.red = -1, -1, -1, 0
    return leaf


@kernel
def _free_node(points: PrioritySearchTrees, number: int) -> None:
    points.nodes[number].left = points.free
    points.free = np.int64(number)
    points.count -= 1


@kernel
def _up_to(end: int, start: int, other_end: int, other_start: int) -> bool:
    """Is an x not above another?"""
    return end < other_end or (end == other_end and start <= other_start)


@kernel
def _path_to(nodes: Structs, root: int, end: int, start: int, path: I32) -> int:
    """Write the path from the root to the leaf where an x is or would be; returns the depth of the leaf."""
    depth = 0
    path[0] = root
    while nodes[path[depth]].left >= 0:
        node = nodes[path[depth]]
        depth += 1
        path[depth] = node.left if _up_to(end, start, node.end, node.start) else node.right
    return depth


@kernel
def _push_down(points: PrioritySearchTrees, number: int, end: int, start: int, low: int, bucket: int) -> None:
    """Put a point into the place of a node or below it; a point with a greater low is pushed on."""
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


@kernel
def _pull_up(points: PrioritySearchTrees, number: int) -> None:
    """Fill the place of a node, whose point is removed, from below."""
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


@kernel
def _relink(nodes: Structs, above: int, old: int, new: int) -> None:
    """Replace a child of `above`."""
    if nodes[above].left == old:
        nodes[above].left = new
    else:
        nodes[above].right = new


@kernel
def _rotate(points: PrioritySearchTrees, path: I32, depth: int, lower: int) -> None:
    """Rotate: a child of the node at a depth of the path takes its place there."""
    points.rotations += 1
    nodes = points.nodes
    upper = path[depth]
    high, rising = nodes[upper], nodes[lower]
    if high.left == lower:
        high.left, rising.right = rising.right, upper
    else:
        high.right, rising.left = rising.left, upper
    if depth > 0:
        _relink(nodes, path[depth - 1], upper, lower)
    path[depth] = lower
    end, start, low, bucket = rising.point_end, rising.point_start, rising.point_low, rising.bucket
    rising.point_end, rising.point_start = high.point_end, high.point_start
    rising.point_low, rising.bucket = high.point_low, high.bucket
    _pull_up(points, upper)
    if bucket >= 0:
        child = rising.left if _up_to(end, start, rising.end, rising.start) else rising.right
        _push_down(points, np.int64(child), end, start, low, np.int64(bucket))


@kernel
def insert(points: PrioritySearchTrees, root: int, end: int, start: int, low: int, bucket: int) -> int:
    """Insert a point whose x is not in the tree; returns the root. O(log n), at most 2 rotations."""
    if root < 0:
        root = _new_leaf(points, end, start)
        _push_down(points, root, end, start, low, bucket)
        return root
    path = np.empty(_MAX_DEPTH, np.int32)
    depth = _path_to(points.nodes, root, end, start, path)
    points.steps += depth + 1
    leaf = points.nodes[path[depth]]
    old_end, old_start = leaf.end, leaf.start
    assert end != old_end or start != old_start, "the x of a point is already in its tree"
    new, old = _new_leaf(points, end, start), _new_leaf(points, old_end, old_start)
    # The leaf becomes an inner node and keeps its place, in which nothing but the old point can be.
    inner = points.nodes[path[depth]]
    if _up_to(end, start, old_end, old_start):
        inner.left, inner.right, inner.end, inner.start = new, old, end, start
    else:
        inner.left, inner.right = old, new
    inner.red = 1
    _push_down(points, root, end, start, low, bucket)
    _fix_red(points, path, depth)
    return np.int64(path[0])


@kernel
def _fix_red(points: PrioritySearchTrees, path: I32, depth: int) -> None:
    """Restore the colours after the node at a depth of the path became red."""
    nodes = points.nodes
    while depth >= 2 and nodes[path[depth - 1]].red:
        parent, grandparent = path[depth - 1], path[depth - 2]
        on_left = nodes[grandparent].left == parent
        uncle = nodes[grandparent].right if on_left else nodes[grandparent].left
        if nodes[uncle].red:
            nodes[parent].red = nodes[uncle].red = 0
            nodes[grandparent].red = 1
            depth -= 2
            continue
        if (nodes[parent].left == path[depth]) != on_left:
            _rotate(points, path, depth - 1, path[depth])
        nodes[grandparent].red = 1
        _rotate(points, path, depth - 2, path[depth - 1])
        nodes[path[depth - 2]].red = 0
        break
    nodes[path[0]].red = 0


@kernel
def delete(points: PrioritySearchTrees, root: int, end: int, start: int) -> int:
    """Delete the point of an x that is in the tree; returns the root. O(log n), at most 3 rotations."""
    assert root >= 0, "an empty tree has no point to delete"
    nodes = points.nodes
    path = np.empty(_MAX_DEPTH, np.int32)
    depth = _path_to(nodes, root, end, start, path)
    points.steps += depth + 1
    leaf = path[depth]
    assert nodes[leaf].end == end and nodes[leaf].start == start, "the x of a point is not in its tree"
    at = 0
    # Stale points in empty places do no harm: the point is above all empty places of the path.
    while nodes[path[at]].point_end != end or nodes[path[at]].point_start != start:
        at += 1
    _pull_up(points, path[at])
    _free_node(points, leaf)
    if depth == 0:
        return -1
    depth -= 1
    parent = path[depth]
    node = nodes[parent]
    sibling = np.int64(node.right if node.left == leaf else node.left)
    if node.bucket >= 0:
        _push_down(points, sibling, node.point_end, node.point_start, node.point_low, np.int64(node.bucket))
    path[depth] = sibling
    if depth > 0:
        _relink(nodes, path[depth - 1], parent, path[depth])
    was_red = node.red
    _free_node(points, parent)
    if not was_red:
        _fix_black(points, path, depth)
    nodes[path[0]].red = 0
    return np.int64(path[0])


@kernel
def _fix_black(points: PrioritySearchTrees, path: I32, depth: int) -> None:
    """Restore the colours when a black node is missing on all paths through the node at a depth of the path."""
    nodes = points.nodes
    while depth > 0 and not nodes[path[depth]].red:
        at, parent = path[depth], path[depth - 1]
        on_left = nodes[parent].left == at
        sibling = nodes[parent].right if on_left else nodes[parent].left
        if nodes[sibling].red:
            nodes[sibling].red, nodes[parent].red = 0, 1
            _rotate(points, path, depth - 1, sibling)
            path[depth], path[depth + 1] = parent, at
            depth += 1
            sibling = nodes[parent].right if on_left else nodes[parent].left
        left, right = nodes[sibling].left, nodes[sibling].right
        near, far = (left, right) if on_left else (right, left)
        if not nodes[near].red and not nodes[far].red:
            nodes[sibling].red = 1
            depth -= 1
            continue
        if not nodes[far].red:
            # The path leads to the sibling while its own child rises.
            path[depth] = sibling
            _rotate(points, path, depth, near)
            far, sibling = sibling, near
        nodes[sibling].red = nodes[parent].red
        nodes[parent].red = nodes[far].red = 0
        _rotate(points, path, depth - 1, sibling)
        return
    nodes[path[depth]].red = 0


@kernel
def exact(points: PrioritySearchTrees, root: int, end: int, start: int) -> int:
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


@kernel
def successor(points: PrioritySearchTrees, root: int, end: int, start: int) -> int:
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


@kernel
def last(points: PrioritySearchTrees, root: int) -> int:
    """The bucket of the greatest x, -1 if the tree is empty."""
    if root < 0:
        return -1
    nodes = points.nodes
    number = root
    while nodes[number].left >= 0:
        number = np.int64(nodes[number].right)
    return exact(points, root, nodes[number].end, nodes[number].start)


@kernel
def query(points: PrioritySearchTrees, root: int, value: int, out: I32, count: int) -> tuple[int, int]:
    """Append the buckets of all points with end >= value and low <= value, in no order.

    Args:
        points: The pool.
        root: The tree.
        value: The value.
        out: int32[...]: the output, with room for all points of the tree behind the first `count`.
        count: How many buckets it has already.

    Returns:
        The new count, and how many nodes were visited: O(log n + found).
    """
    if root < 0:
        return count, 0
    nodes = points.nodes
    if nodes[root].point_low > value:
        # Most queries find nothing; those allocate nothing.
        return count, 1
    waiting = np.empty(_MAX_DEPTH, np.int32)
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
