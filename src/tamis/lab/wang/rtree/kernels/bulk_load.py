"""Bulk loading: a tree of many boxes at once, from the top; boxes are split until each child has its share.

The tree is as low as the number of boxes allows, and the children of a node differ by at most one box, so that
every node is at least half full. Splits are chosen on a sample of the boxes.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32
from tamis.engines.array_kernels import grow
from tamis.kernels import kernel
from tamis.lab.wang.rtree.kernels.split import best_split, extend_ranges, scale_box
from tamis.lab.wang.rtree.kernels.tree import (
    I64,
    RtreeNodes,
    add_entry,
    clear_tree,
    enclose,
    entry_of,
    new_node,
    reserve_payload,
    update_weight,
)
from tamis.lab.wang.rtree.kernels.updates import insert_box

# The sample for the choice of a split; four times as many boxes save searches 3 to 16% of their tests.
SAMPLE = 64
# Boxes are inserted one by one into a tree that has more than this many times as many; a loaded one is faster to
# search.
REBUILD_FACTOR = 5


@kernel
def bulk_load(tree: RtreeNodes, lows: I64, highs: I64, payloads: I32) -> None:
    """Add many boxes; the whole tree is loaded again if they are many in relation to those that it has.

    Args:
        tree: An R-tree without any of the payloads.
        lows: int64[boxes, dimensions]: low ends of the sides.
        highs: int64[boxes, dimensions]: high ends, not below.
        payloads: int32[boxes]: each once.
    """
    added = len(payloads)
    if added * REBUILD_FACTOR < tree.count:
        for box in range(added):
            insert_box(tree, lows[box], highs[box], int(payloads[box]))
        return
    width = 2 * tree.dimensions
    bounds, numbers = _boxes_of(tree, added)
    for box in range(added):
        row = bounds[tree.count + box]
        for axis in range(tree.dimensions):
            row[2 * axis], row[2 * axis + 1] = lows[box, axis], highs[box, axis]
        numbers[tree.count + box] = payloads[box]
    clear_tree(tree)
    if len(numbers) == 0:
        return
    reserve_payload(tree, int(numbers.max()))
    for box in range(len(numbers)):
        extend_ranges(tree, bounds[box])
    tree.count = len(numbers)
    _build_nodes(tree, bounds, numbers)
    box_around = np.empty(width, np.int64)
    # Children have higher numbers than their parents.
    for node in range(tree.made - 1, -1, -1):
        update_weight(tree, node)
        parent = tree.parents[node]
        if parent >= 0:
            enclose(tree, node, box_around)
            start = (parent * tree.stride + entry_of(tree, parent, node)) * width
            tree.bounds[start : start + width] = box_around


@kernel
def _boxes_of(tree: RtreeNodes, added: int) -> tuple[I64, I32]:
    """All boxes and payloads of the tree, followed by room for the added ones."""
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


@kernel
def _capacity(tree: RtreeNodes, height: int) -> int:
    """How many boxes a node of this height holds, in and below it."""
    room = tree.leaf
    for _ in range(1, height):
        room *= tree.inner
    return room


@kernel
def _build_nodes(tree: RtreeNodes, bounds: I64, payloads: I32) -> None:
    """Make the nodes of an empty tree; boxes of children and weights are computed afterwards."""
    count = len(payloads)
    height = 1
    while _capacity(tree, height) < count:
        height += 1
    tree.heights[tree.root] = height
    order = np.arange(count).astype(np.int32)
    keys = np.empty(count, np.int64)
    nothing = np.zeros(2 * tree.dimensions, np.int64)
    # The stack of tasks: a range of `order` (from, up to), for how many children, of which parent.
    tasks = np.empty(4 * 64, np.int64)
    used = _push_task(tree, tasks, 0, 0, count, tree.root, bounds, payloads, order)
    while used:
        used -= 4
        first, last, nodes, parent = tasks[used : used + 4]
        if used + 12 > len(tasks):
            tasks = grow(tasks, 2 * len(tasks))
        if nodes == 1:
            node = new_node(tree, tree.heights[parent] - 1)
            add_entry(tree, parent, nothing, node)
            used = _push_task(tree, tasks, used, first, last, node, bounds, payloads, order)
        else:
            middle, before = _split_run(tree, bounds, order, keys, first, last, nodes)
            tasks[used : used + 4] = (middle, last, nodes - before, parent)
            tasks[used + 4 : used + 8] = (first, middle, before, parent)
            used += 8


@kernel
def _push_task(
    tree: RtreeNodes,
    tasks: I64,
    used: int,
    first: int,
    last: int,
    node: int,
    bounds: I64,
    payloads: I32,
    order: I32,
) -> int:
    """Add boxes to a leaf, or push a task for the children of an inner node."""
    if tree.heights[node] == 1:
        for place in range(first, last):
            add_entry(tree, node, bounds[order[place]], payloads[order[place]])
        return used
    room = _capacity(tree, tree.heights[node] - 1)
    tasks[used : used + 4] = (first, last, (last - first + room - 1) // room, node)
    return used + 4


@kernel
def _split_run(
    tree: RtreeNodes, bounds: I64, order: I32, keys: I64, first: int, last: int, nodes: int
) -> tuple[int, int]:
    """Split the boxes of several nodes in two; returns where, and how many of the nodes get the first part."""
    count = last - first
    sampled = min(count, max(SAMPLE, nodes))
    places = np.empty((sampled, 2 * tree.dimensions), np.float64)
    for row in range(sampled):
        scale_box(tree, bounds[order[first + row * count // sampled]], 0, places[row])
    cuts = np.empty(nodes - 1, np.int32)
    for cut in range(nodes - 1):
        cuts[cut] = (cut + 1) * sampled // nodes
    key, cut = best_split(places, cuts)
    before = cut + 1
    middle = first + count * before // nodes
    column = 2 * key if key < tree.dimensions else 2 * (key - tree.dimensions) + 1
    for place in range(first, last):
        # `scale_box` negates low ends: the greatest come first.
        end = bounds[order[place], column]
        keys[place] = ~end if key < tree.dimensions else end
    _partition(keys, order, first, last, middle)
    return middle, before


@kernel
def _partition(keys: I64, order: I32, first: int, last: int, middle: int) -> None:
    """Quickselect: no key before `middle` is above one behind it; `order` moves with the keys."""
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
