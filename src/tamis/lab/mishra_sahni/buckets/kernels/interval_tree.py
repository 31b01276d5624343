"""Interval trees (IT): which ranges contain a value, by halving a known domain where buckets overflow.

    [0, 99] middle 49          closed: keeps the ranges that contain 49
     |- [0, 48]                open: one bucket for every range below 49
     '- [50, 99] middle 74     closed ...

A node covers a closed part of the domain and has a middle. An open node has one bucket, for all ranges that come
to it. A closed one keeps the ranges that contain its middle and passes the others to its children: in the *node
variant* its ranges share its one bucket, in the *range variant* there is a bucket for each distinct range. The
caller decides when a node is closed, and makes and fills the buckets, which are numbers here. Many trees share a
pool; a tree is the number of its root, -1 if it is empty. Ranges and values beyond the domain are clamped to its
ends, so that a query finds candidates.

Invariant: a range is in the node that `find` returns for it, and a query for any value of the range passes that
node. Only closed nodes have children or ranges.

The ranges of a closed node all contain the middle: for a value below it those match whose start is not above the
value, for a value above it those whose end is not below. Each is a query of a priority search tree in which every
point visited is found, one tree by start and one, of mirrored ranges, by end. That is O(found) for each node, and
O(found + log K) in all, where K is the number of values of the domain.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, Structs
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.mishra_sahni.buckets.kernels import priority_search_tree
from tamis.lab.mishra_sahni.buckets.kernels.priority_search_tree import (
    PrioritySearchTrees,
    empty_search_trees,
    search_tree_bytes,
)

NODE = np.dtype(
    [
        ("low", np.int64),
        ("high", np.int64),
        ("parent", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("bucket", np.int32),
        ("by_start", np.int32),
        ("by_end", np.int32),
        ("closed", np.uint8),
    ],
    align=True,
)
"""A node: what it covers; parent and children, -1 if there is none (`left` of a free node: the next free one); its
bucket, -1 if it has none; the roots of its ranges by start and by end; whether it is closed."""


@struct
class IntervalTrees(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_interval_trees`: the pool of all trees; only compiled code reads its fields.

    nodes: NODE[...].
    made, free, count: nodes ever made, a free one or -1, nodes in use.
    ranges: the pool of the priority search trees of closed nodes.
    """

    nodes: Structs
    made: int
    free: int
    count: int
    ranges: PrioritySearchTrees


@kernel
def empty_interval_trees() -> IntervalTrees:
    return IntervalTrees(np.empty(16, NODE), 0, -1, 0, empty_search_trees())


@kernel
def interval_tree_bytes(intervals: IntervalTrees) -> int:
    """Bytes of nodes and ranges, free ones included."""
    return np.int64(intervals.made * intervals.nodes.itemsize + search_tree_bytes(intervals.ranges))


@kernel
def _new_node(intervals: IntervalTrees, low: int, high: int, parent: int) -> int:
    """Make an open node without a bucket."""
    if intervals.free >= 0:
        number = intervals.free
        intervals.free = np.int64(intervals.nodes[number].left)
    else:
        number = intervals.made
        intervals.made += 1
        if number == len(intervals.nodes):
            intervals.nodes = grow(intervals.nodes, number + number // 2)
    intervals.count += 1
    node = intervals.nodes[number]
    node.low, node.high, node.parent = low, high, parent
    node.left, node.right, node.bucket, node.by_start, node.by_end, node.closed = -1, -1, -1, -1, -1, 0
    return number


@kernel
def _middle(low: int, high: int) -> int:
    """The mean, rounded down; the sum itself could overflow."""
    return (low & high) + ((low ^ high) >> 1)


@kernel
def _clamp(low: int, high: int, value: int) -> int:
    """The value, or the end of the domain that it exceeds."""
    return min(max(value, low), high)


@kernel
def new_tree(intervals: IntervalTrees, low: int, high: int) -> int:
    """Make a tree over low to high: an open node without a bucket; returns its root."""
    return _new_node(intervals, low, high, np.int64(-1))


@kernel
def find(intervals: IntervalTrees, root: int, start: int, end: int) -> int:
    """The node of a range; made, open and without a bucket, if it is missing below a closed one."""
    nodes = intervals.nodes
    start, end = _clamp(nodes[root].low, nodes[root].high, start), _clamp(nodes[root].low, nodes[root].high, end)
    number = root
    while nodes[number].closed:
        low, high = nodes[number].low, nodes[number].high
        middle = _middle(low, high)
        if end < middle:
            child = np.int64(nodes[number].left)
            if child < 0:
                child = _new_node(intervals, low, middle - 1, number)
                intervals.nodes[number].left = child
                return child
        elif start > middle:
            child = np.int64(nodes[number].right)
            if child < 0:
                child = _new_node(intervals, middle + 1, high, number)
                intervals.nodes[number].right = child
                return child
        else:
            break
        number = child
    return number


@kernel
def is_closed(intervals: IntervalTrees, number: int) -> bool:
    """Does a node pass ranges to its children?"""
    return bool(intervals.nodes[number].closed)


@kernel
def close(intervals: IntervalTrees, number: int) -> None:
    """Close a node; the caller places the ranges of its bucket again."""
    intervals.nodes[number].closed = 1


@kernel
def holds_middle(intervals: IntervalTrees, number: int, start: int, end: int) -> bool:
    """Does a range of a node or below contain its middle? If all do, closing the node separates nothing."""
    low, high = intervals.nodes[number].low, intervals.nodes[number].high
    return _clamp(low, high, start) <= _middle(low, high) <= _clamp(low, high, end)


@kernel
def bucket_of(intervals: IntervalTrees, number: int) -> int:
    """The bucket of a node, -1 if it has none."""
    return np.int64(intervals.nodes[number].bucket)


@kernel
def set_bucket(intervals: IntervalTrees, number: int, bucket: int) -> None:
    """Set the bucket of a node, -1 for none."""
    intervals.nodes[number].bucket = bucket


@kernel
def range_bucket(intervals: IntervalTrees, number: int, start: int, end: int) -> int:
    """The bucket of a range of a closed node, -1 if it has none."""
    node = intervals.nodes[number]
    start, end = _clamp(node.low, node.high, start), _clamp(node.low, node.high, end)
    return priority_search_tree.exact(intervals.ranges, np.int64(node.by_start), end, start)


@kernel
def add_range(intervals: IntervalTrees, number: int, start: int, end: int, bucket: int) -> None:
    """Set the bucket of a range of a closed node, which has none."""
    node = intervals.nodes[number]
    assert node.closed, "an open node has one bucket for all ranges"
    start, end = _clamp(node.low, node.high, start), _clamp(node.low, node.high, end)
    ranges = intervals.ranges
    node.by_start = priority_search_tree.insert(ranges, np.int64(node.by_start), end, start, start, bucket)
    node.by_end = priority_search_tree.insert(ranges, np.int64(node.by_end), ~start, ~end, ~end, bucket)


@kernel
def remove_range(intervals: IntervalTrees, number: int, start: int, end: int) -> None:
    """Remove a range, which has a bucket, from a closed node."""
    node = intervals.nodes[number]
    start, end = _clamp(node.low, node.high, start), _clamp(node.low, node.high, end)
    node.by_start = priority_search_tree.delete(intervals.ranges, np.int64(node.by_start), end, start)
    node.by_end = priority_search_tree.delete(intervals.ranges, np.int64(node.by_end), ~start, ~end)


@kernel
def prune(intervals: IntervalTrees, root: int, number: int) -> int:
    """Remove a node, and then those above it, as long as they have neither bucket, ranges nor children.

    Returns the root, -1 if nothing is left.
    """
    nodes = intervals.nodes
    while number >= 0:
        node = nodes[number]
        if node.bucket >= 0 or node.by_start >= 0 or node.left >= 0 or node.right >= 0:
            return root
        parent = np.int64(node.parent)
        if parent >= 0:
            if nodes[parent].left == number:
                nodes[parent].left = -1
            else:
                nodes[parent].right = -1
        node.left = intervals.free
        intervals.free = number
        intervals.count -= 1
        number = parent
    return -1


@kernel
def query(intervals: IntervalTrees, root: int, value: int, out: I32, count: int) -> tuple[int, int]:
    """Append the buckets that may have ranges which contain a value, those nearest to the root first.

    Args:
        intervals: The pool.
        root: The tree.
        value: The value.
        out: int32[...]: the output, with room for all buckets of the tree behind the first `count`.
        count: How many buckets it has already.

    Returns:
        The new count, and how many nodes were visited, those of priority search trees included.
    """
    if root < 0:
        return count, 0
    nodes = intervals.nodes
    value = _clamp(nodes[root].low, nodes[root].high, value)
    number, steps = root, 0
    while number >= 0:
        node = nodes[number]
        steps += 1
        if node.bucket >= 0:
            out[count] = node.bucket
            count += 1
        middle = _middle(node.low, node.high)
        if value <= middle:
            count, looked = priority_search_tree.query(
                intervals.ranges, np.int64(node.by_start), value, out, count
            )
            number = np.int64(node.left) if value < middle else -1
        else:
            count, looked = priority_search_tree.query(intervals.ranges, np.int64(node.by_end), ~value, out, count)
            number = np.int64(node.right)
        steps += looked
    return count, steps
