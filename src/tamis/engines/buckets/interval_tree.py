"""Interval trees over a known domain: which ranges hold a value, by halving the domain where buckets overflow.

A node covers a part of the domain, low to high with both ends inside, and has a middle. An open node has one
bucket, for everything that comes to it. A closed one keeps the ranges that hold its middle and sends the others to
its children, which cover what is below and above the middle: in the *node variant* what it keeps is in its one
bucket, in the *range variant* there is one bucket for each distinct range. Who uses the tree decides when a node
is closed, and makes and fills the buckets; a bucket is a number, not negative. Many trees share a pool; a tree is
the number of its root, -1 if it is empty. Ranges and values beyond the domain are taken for its ends, so that what
a query finds are candidates.

Invariant: a range is in the node that `find` gives for it, and a query for any value that the range holds comes
past that node. Only closed nodes have children or ranges.

The ranges of a closed node all hold the middle, so that for a value below it those are found whose start is not
above the value, for a value above it those whose end is not below: each a query of a priority search tree that no
point passes in vain, one tree by start and one, of mirrored ranges, by end. O(found) a node, O(found + log K) in
all, K being the number of values of the domain.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.buckets import priority_tree
from tamis.engines.buckets.priority_tree import Points, point_bytes, points_of
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Records: TypeAlias = npt.NDArray[np.void]
Shorts: TypeAlias = npt.NDArray[np.int32]

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
bucket, -1 if it has none; the roots of its ranges by start and by end; is it closed?"""


@struct
class Intervals(structref.StructRefProxy):  # type: ignore[misc]
    """What `intervals_of` gives: the pool of all trees; only compiled code looks into it.

    nodes: NODE[...].
    made, free, count: nodes ever made, a free one or -1, nodes in use.
    ranges: the pool of the priority search trees of closed nodes.
    """

    nodes: Records
    made: int
    free: int
    count: int
    ranges: Points


@numba.njit(cache=True, nogil=True)
def intervals_of() -> Intervals:
    """No trees yet."""
    return Intervals(np.empty(16, NODE), 0, -1, 0, points_of())


@numba.njit(cache=True, nogil=True)
def interval_bytes(intervals: Intervals) -> int:
    """What nodes and ranges take, free ones included."""
    return np.int64(intervals.made * intervals.nodes.itemsize + point_bytes(intervals.ranges))


@numba.njit(cache=True, nogil=True)
def _take(intervals: Intervals, low: int, high: int, parent: int) -> int:
    """An open node without a bucket."""
    if intervals.free >= 0:
        number = intervals.free
        intervals.free = np.int64(intervals.nodes[number].left)
    else:
        number = intervals.made
        intervals.made += 1
        if number == len(intervals.nodes):
            intervals.nodes = grown(intervals.nodes, number + number // 2)
    intervals.count += 1
    node = intervals.nodes[number]
    node.low, node.high, node.parent = low, high, parent
    node.left, node.right, node.bucket, node.by_start, node.by_end, node.closed = -1, -1, -1, -1, -1, 0
    return number


@numba.njit(cache=True, nogil=True)
def _middle(low: int, high: int) -> int:
    """Half of the sum, rounded down, which itself may be beyond 64 bits."""
    return (low & high) + ((low ^ high) >> 1)


@numba.njit(cache=True, nogil=True)
def _within(low: int, high: int, value: int) -> int:
    """The value, or the end of the domain that it is beyond."""
    return min(max(value, low), high)


@numba.njit(cache=True, nogil=True)
def plant(intervals: Intervals, low: int, high: int) -> int:
    """The root of a new tree over low to high: an open node without a bucket."""
    return _take(intervals, low, high, np.int64(-1))


@numba.njit(cache=True, nogil=True)
def find(intervals: Intervals, root: int, start: int, end: int) -> int:
    """The node where a range belongs; made, open and without a bucket, if it is missing below a closed one."""
    nodes = intervals.nodes
    start, end = _within(nodes[root].low, nodes[root].high, start), _within(nodes[root].low, nodes[root].high, end)
    number = root
    while nodes[number].closed:
        low, high = nodes[number].low, nodes[number].high
        middle = _middle(low, high)
        if end < middle:
            child = np.int64(nodes[number].left)
            if child < 0:
                child = _take(intervals, low, middle - 1, number)
                intervals.nodes[number].left = child
                return child
        elif start > middle:
            child = np.int64(nodes[number].right)
            if child < 0:
                child = _take(intervals, middle + 1, high, number)
                intervals.nodes[number].right = child
                return child
        else:
            break
        number = child
    return number


@numba.njit(cache=True, nogil=True)
def is_closed(intervals: Intervals, number: int) -> bool:
    """Does a node send ranges to its children?"""
    return bool(intervals.nodes[number].closed)


@numba.njit(cache=True, nogil=True)
def close(intervals: Intervals, number: int) -> None:
    """Let a node keep what holds its middle only; what its bucket has is to be found its place again."""
    intervals.nodes[number].closed = 1


@numba.njit(cache=True, nogil=True)
def holds_middle(intervals: Intervals, number: int, start: int, end: int) -> bool:
    """Does a range that belongs to a node or below hold its middle? If all do, closing the node parts nothing."""
    low, high = intervals.nodes[number].low, intervals.nodes[number].high
    return _within(low, high, start) <= _middle(low, high) <= _within(low, high, end)


@numba.njit(cache=True, nogil=True)
def bucket_of(intervals: Intervals, number: int) -> int:
    """The bucket of a node, -1 if it has none."""
    return np.int64(intervals.nodes[number].bucket)


@numba.njit(cache=True, nogil=True)
def set_bucket(intervals: Intervals, number: int, bucket: int) -> None:
    """Give a node a bucket, or none (-1)."""
    intervals.nodes[number].bucket = bucket


@numba.njit(cache=True, nogil=True)
def range_bucket(intervals: Intervals, number: int, start: int, end: int) -> int:
    """The bucket of a range that belongs to a closed node, -1 if it has none."""
    node = intervals.nodes[number]
    start, end = _within(node.low, node.high, start), _within(node.low, node.high, end)
    return priority_tree.exact(intervals.ranges, np.int64(node.by_start), end, start)


@numba.njit(cache=True, nogil=True)
def put_range(intervals: Intervals, number: int, start: int, end: int, bucket: int) -> None:
    """Give a range that belongs to a closed node, and has none, a bucket."""
    node = intervals.nodes[number]
    assert node.closed, "an open node has one bucket for all ranges"
    start, end = _within(node.low, node.high, start), _within(node.low, node.high, end)
    ranges = intervals.ranges
    node.by_start = priority_tree.insert(ranges, np.int64(node.by_start), end, start, start, bucket)
    node.by_end = priority_tree.insert(ranges, np.int64(node.by_end), ~start, ~end, ~end, bucket)


@numba.njit(cache=True, nogil=True)
def take_range(intervals: Intervals, number: int, start: int, end: int) -> None:
    """Take the bucket of a range, which has one, from a closed node."""
    node = intervals.nodes[number]
    start, end = _within(node.low, node.high, start), _within(node.low, node.high, end)
    node.by_start = priority_tree.delete(intervals.ranges, np.int64(node.by_start), end, start)
    node.by_end = priority_tree.delete(intervals.ranges, np.int64(node.by_end), ~start, ~end)


@numba.njit(cache=True, nogil=True)
def prune(intervals: Intervals, root: int, number: int) -> int:
    """Remove a node, and then those above it, for as long as it has neither bucket, ranges nor children.

    Gives the root, -1 if nothing is left.
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


@numba.njit(cache=True, nogil=True)
def query(intervals: Intervals, root: int, value: int, out: Shorts, count: int) -> tuple[int, int]:
    """Write the buckets that may have ranges which hold a value, those nearest to the root first.

    Args:
        intervals: The pool.
        root: Of the tree.
        value: Looked for.
        out: int32[...]: where the buckets go, behind the first `count`; there is room for all buckets of the tree.
        count: How many are there already.

    Returns:
        How many are there then, and how many nodes were looked at, those of priority search trees included.
    """
    if root < 0:
        return count, 0
    nodes = intervals.nodes
    value = _within(nodes[root].low, nodes[root].high, value)
    number, steps = root, 0
    while number >= 0:
        node = nodes[number]
        steps += 1
        if node.bucket >= 0:
            out[count] = node.bucket
            count += 1
        middle = _middle(node.low, node.high)
        if value <= middle:
            count, looked = priority_tree.query(intervals.ranges, np.int64(node.by_start), value, out, count)
            number = np.int64(node.left) if value < middle else -1
        else:
            count, looked = priority_tree.query(intervals.ranges, np.int64(node.by_end), ~value, out, count)
            number = np.int64(node.right)
        steps += looked
    return count, steps
