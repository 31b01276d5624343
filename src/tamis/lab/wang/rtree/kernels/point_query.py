"""The point-enclosed query: all boxes around a point, from the root or from nodes found before.

Work is counted: a visit is a node read, a test is one of its entries compared with the point.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.wang.rtree.kernels.tree import I64, RtreeNodes


@kernel
def search(tree: RtreeNodes, starts: I32, point: I64) -> tuple[I32, int, int]:
    """The payloads of the boxes around a point in and below some nodes; tests; visits.

    Args:
        tree: The R-tree, unchanged since the nodes were found.
        starts: int32[...]: nodes, none of them below another.
        point: int64[dimensions].
    """
    found, used, tests, visits = search_on(tree, starts, point, np.empty(16, np.int32), 0)
    return found[:used], tests, visits


@kernel
def search_on(tree: RtreeNodes, starts: I32, point: I64, found: I32, used: int) -> tuple[I32, int, int, int]:
    """As `search`, but appends to `found[:used]`; returns the array, or a longer one, its use, tests, visits."""
    bounds, links, sizes, heights = tree.bounds, tree.links, tree.sizes, tree.heights
    stride, dimensions = tree.stride, tree.dimensions
    # At each level, at most the siblings of one node wait.
    stack = np.empty(1 + tree.inner * heights[tree.root], np.int32)
    tests = visits = 0
    for start in starts:
        stack[0] = start
        waiting = 1
        while waiting:
            waiting -= 1
            node = int(stack[waiting])
            size, is_leaf = sizes[node], heights[node] == 1
            visits += 1
            tests += size
            if is_leaf and used + size > len(found):
                found = grow(found, 2 * (used + size))
            entry = node * stride
            at = entry * 2 * dimensions
            for link in links[entry : entry + size]:
                if inside(bounds, at, point):
                    if is_leaf:
                        found[used] = link
                        used += 1
                    else:
                        stack[waiting] = link
                        waiting += 1
                at += 2 * dimensions
    return found, used, tests, visits


@kernel
def inside(bounds: I64, at: int, point: I64) -> bool:
    """Is a point in the box that begins at `at`?"""
    for value in point:
        if value < bounds[at] or value > bounds[at + 1]:
            return False
        at += 2
    return True
