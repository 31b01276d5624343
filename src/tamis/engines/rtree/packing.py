"""A tree of many boxes at once, from the top: a node's boxes are cut in two until each child has its share.

The tree is as low as the number of boxes allows, and children of a node differ by at most one box, so that every
node is at least half full. Where to cut is decided on a sample.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.grouping import grown
from tamis.engines.rtree.changing import insert
from tamis.engines.rtree.cutting import best_cut, place_box, widen
from tamis.engines.rtree.tree import (
    Ends,
    Shorts,
    Tree,
    add_entry,
    clear,
    enclose,
    new_node,
    place_of,
    reserve_payload,
    weigh,
)

# Boxes looked at to decide on a cut; four times as many save searches 3 to 16% of their tests.
SAMPLE = 64
# Boxes go one by one into a tree that has more than this many times as many; a packed one is better to search.
REPACK = 5


@numba.njit(cache=True, nogil=True)
def pack(tree: Tree, lows: Ends, highs: Ends, payloads: Shorts) -> None:
    """Add many boxes; all of the tree is packed anew if they are many beside those that it has.

    Args:
        tree: Has none of the payloads.
        lows: int64[boxes, dimensions]: low ends of the sides.
        highs: int64[boxes, dimensions]: high ends, not below.
        payloads: int32[boxes]: each once.
    """
    added = len(payloads)
    if added * REPACK < tree.count:
        for box in range(added):
            insert(tree, lows[box], highs[box], int(payloads[box]))
        return
    width = 2 * tree.dimensions
    bounds, numbers = _boxes_of(tree, added)
    for box in range(added):
        row = bounds[tree.count + box]
        for axis in range(tree.dimensions):
            row[2 * axis], row[2 * axis + 1] = lows[box, axis], highs[box, axis]
        numbers[tree.count + box] = payloads[box]
    clear(tree)
    if len(numbers) == 0:
        return
    reserve_payload(tree, int(numbers.max()))
    for box in range(len(numbers)):
        widen(tree, bounds[box])
    tree.count = len(numbers)
    _fill(tree, bounds, numbers)
    box_around = np.empty(width, np.int64)
    # Children have higher numbers than their parents.
    for node in range(tree.made - 1, -1, -1):
        weigh(tree, node)
        parent = tree.parents[node]
        if parent >= 0:
            enclose(tree, node, box_around)
            start = (parent * tree.stride + place_of(tree, parent, node)) * width
            tree.bounds[start : start + width] = box_around


@numba.njit(cache=True, nogil=True)
def _boxes_of(tree: Tree, added: int) -> tuple[Ends, Shorts]:
    """All boxes and payloads of the tree, with room for more behind them."""
    width = 2 * tree.dimensions
    bounds = np.empty((tree.count + added, width), np.int64)
    payloads = np.empty(tree.count + added, np.int32)
    used = 0
    for node in range(tree.made):
        if tree.heights[node] == 1:
            first = node * tree.stride
            for entry in range(first, first + tree.sizes[node]):
                bounds[used] = tree.bounds[entry * width : (entry + 1) * width]
                payloads[used] = tree.links[entry]
                used += 1
    return bounds, payloads


@numba.njit(cache=True, nogil=True)
def _room(tree: Tree, height: int) -> int:
    """How many boxes there may be in and below a node."""
    room = tree.leaf
    for _ in range(1, height):
        room *= tree.inner
    return room


@numba.njit(cache=True, nogil=True)
def _fill(tree: Tree, bounds: Ends, payloads: Shorts) -> None:
    """Make the nodes of an empty tree; boxes of children and weights are left to be computed."""
    count = len(payloads)
    height = 1
    while _room(tree, height) < count:
        height += 1
    tree.heights[tree.root] = height
    order = np.arange(count).astype(np.int32)
    keys = np.empty(count, np.int64)
    nothing = np.zeros(2 * tree.dimensions, np.int64)
    # Parts of `order` still to be dealt with: from, up to, for how many children of a parent, the parent.
    tasks = np.empty(4 * 64, np.int64)
    used = _push(tree, tasks, 0, 0, count, tree.root, bounds, payloads, order)
    while used:
        used -= 4
        first, last, nodes, parent = tasks[used : used + 4]
        if used + 12 > len(tasks):
            tasks = grown(tasks, 2 * len(tasks))
        if nodes == 1:
            node = new_node(tree, tree.heights[parent] - 1)
            add_entry(tree, parent, nothing, node)
            used = _push(tree, tasks, used, first, last, node, bounds, payloads, order)
        else:
            middle, before = _cut(tree, bounds, order, keys, first, last, nodes)
            tasks[used : used + 4] = (middle, last, nodes - before, parent)
            tasks[used + 4 : used + 8] = (first, middle, before, parent)
            used += 8


@numba.njit(cache=True, nogil=True)
def _push(
    tree: Tree,
    tasks: Ends,
    used: int,
    first: int,
    last: int,
    node: int,
    bounds: Ends,
    payloads: Shorts,
    order: Shorts,
) -> int:
    """Give boxes to a leaf, or note how many children of the node they are for."""
    if tree.heights[node] == 1:
        for place in range(first, last):
            add_entry(tree, node, bounds[order[place]], payloads[order[place]])
        return used
    room = _room(tree, tree.heights[node] - 1)
    tasks[used : used + 4] = (first, last, (last - first + room - 1) // room, node)
    return used + 4


@numba.njit(cache=True, nogil=True)
def _cut(
    tree: Tree, bounds: Ends, order: Shorts, keys: Ends, first: int, last: int, nodes: int
) -> tuple[int, int]:
    """Cut boxes for several nodes in two; gives where, and for how many nodes those before it are."""
    count = last - first
    sampled = min(count, max(SAMPLE, nodes))
    places = np.empty((sampled, 2 * tree.dimensions), np.float64)
    for row in range(sampled):
        place_box(tree, bounds[order[first + row * count // sampled]], 0, places[row])
    cuts = np.empty(nodes - 1, np.int32)
    for cut in range(nodes - 1):
        cuts[cut] = (cut + 1) * sampled // nodes
    key, cut = best_cut(places, cuts)
    before = cut + 1
    middle = first + count * before // nodes
    column = 2 * key if key < tree.dimensions else 2 * (key - tree.dimensions) + 1
    for place in range(first, last):
        # Low ends were placed downwards: the greatest come first.
        end = bounds[order[place], column]
        keys[place] = ~end if key < tree.dimensions else end
    _part(keys, order, first, last, middle)
    return middle, before


@numba.njit(cache=True, nogil=True)
def _part(keys: Ends, order: Shorts, first: int, last: int, middle: int) -> None:
    """Let no key before the middle be above one behind; `order` goes with the keys."""
    low, high = first, last - 1
    while low < high:
        pivot = keys[(low + high) >> 1]
        left, right = low, high
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            high = right
        elif middle >= left:
            low = left
        else:
            return
