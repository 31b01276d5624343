"""Point queries: all boxes around a point, from the root or from nodes found before.

Work is counted: a visit is a node looked into, a test one of its entries held against the point.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.grouping import grown
from tamis.engines.rtree.tree import Ends, Shorts, Tree


@numba.njit(cache=True, nogil=True)
def search(tree: Tree, starts: Shorts, point: Ends) -> tuple[Shorts, int, int]:
    """Payloads of the boxes around a point in and below some nodes, tests and visits.

    Args:
        tree: Not changed since the nodes were found.
        starts: int32[...]: none below another.
        point: int64[dimensions].
    """
    found, used, tests, visits = search_on(tree, starts, point, np.empty(16, np.int32), 0)
    return found[:used], tests, visits


@numba.njit(cache=True, nogil=True)
def search_all(tree: Tree, point: Ends) -> Shorts:
    """Payloads of all boxes around a point."""
    found, used, _, _ = search_on(tree, np.full(1, tree.root, np.int32), point, np.empty(16, np.int32), 0)
    return found[:used]


@numba.njit(cache=True, nogil=True)
def search_on(tree: Tree, starts: Shorts, point: Ends, found: Shorts, used: int) -> tuple[Shorts, int, int, int]:
    """As `search`, behind the first `used` of `found`, which may have to grow; gives both, tests and visits."""
    bounds, links, sizes, heights = tree.bounds, tree.links, tree.sizes, tree.heights
    stride, dimensions = tree.stride, tree.dimensions
    # Each level leaves at most the other children of one node behind.
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
                found = grown(found, 2 * (used + size))
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


@numba.njit(cache=True, nogil=True)
def inside(bounds: Ends, at: int, point: Ends) -> bool:
    """Is a point in the box that begins there?"""
    for value in point:
        if value < bounds[at] or value > bounds[at + 1]:
            return False
        at += 2
    return True
