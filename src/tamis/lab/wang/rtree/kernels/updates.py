"""Insertion and deletion of a box; the invariants of `kernels.tree` hold after each.

A new box goes down to where the bounding boxes grow least. A node with one entry too many is split as bulk loading
would split it. A node with too few entries is removed, and its entries are inserted again at its height.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import I32
from tamis.kernels import kernel
from tamis.lab.wang.rtree.kernels.split import (
    LEAST_WIDTH,
    best_split,
    extend_ranges,
    scale_box,
    scaled_end,
    sort_by,
)
from tamis.lab.wang.rtree.kernels.tree import (
    I64,
    RtreeNodes,
    add_entry,
    enclose,
    entry_of,
    free_node,
    max_entries,
    min_entries,
    new_node,
    remove_entry,
    reserve_payload,
    update_weight,
)


@kernel
def insert_box(tree: RtreeNodes, low: I64, high: I64, payload: int) -> None:
    """Add a box.

    Args:
        tree: An R-tree without the payload.
        low: int64[dimensions]: low ends of the sides.
        high: int64[dimensions]: high ends, not below.
        payload: At least 0.
    """
    box = np.empty(2 * tree.dimensions, np.int64)
    for axis in range(tree.dimensions):
        box[2 * axis], box[2 * axis + 1] = low[axis], high[axis]
    extend_ranges(tree, box)
    reserve_payload(tree, payload)
    tree.count += 1
    _insert_entry(tree, box, payload, 1, 1)


@kernel
def delete_box(tree: RtreeNodes, payload: int) -> bool:
    """Remove the box of a payload; False if it is not in the tree."""
    if payload >= len(tree.homes) or tree.homes[payload] < 0:
        return False
    tree.count -= 1
    node = int(tree.homes[payload])
    tree.homes[payload] = -1
    remove_entry(tree, node, entry_of(tree, node, payload))
    _reinsert(tree, _condense(tree, node))
    while tree.heights[tree.root] > 1 and tree.sizes[tree.root] == 1:
        old = tree.root
        tree.root = int(tree.links[old * tree.stride])
        tree.parents[tree.root] = -1
        free_node(tree, old)
    return True


@kernel
def delete_boxes(tree: RtreeNodes, payloads: I32) -> None:
    for payload in payloads:
        delete_box(tree, np.int64(payload))


@kernel
def _insert_entry(tree: RtreeNodes, box: I64, link: int, weight: int, height: int) -> None:
    """Put an entry into a node of this height."""
    node, width = tree.root, len(box)
    while tree.heights[node] > height:
        tree.weights[node] += weight
        entry = node * tree.stride + _choose(tree, node, box)
        for at in range(0, width, 2):
            lower = entry * width + at
            tree.bounds[lower] = min(tree.bounds[lower], box[at])
            tree.bounds[lower + 1] = max(tree.bounds[lower + 1], box[at + 1])
        node = int(tree.links[entry])
    tree.weights[node] += weight
    add_entry(tree, node, box, link)
    while tree.sizes[node] > max_entries(tree, node):
        node = _split_node(tree, node)


@kernel
def _choose(tree: RtreeNodes, node: int, box: I64) -> int:
    """The entry of an inner node whose volume grows least; among equals the one of least volume."""
    bounds, width = tree.bounds, len(box)
    start = node * tree.stride * width
    best, best_growth, best_volume = 0, np.inf, np.inf
    for place in range(tree.sizes[node]):
        old, new = 1.0, 1.0
        for axis in range(tree.dimensions):
            least, scale = tree.least[axis], tree.scales[axis]
            low, high = bounds[start + 2 * axis], bounds[start + 2 * axis + 1]
            length = scaled_end(least, scale, high) - scaled_end(least, scale, low) + LEAST_WIDTH
            old *= length
            if box[2 * axis] < low or box[2 * axis + 1] > high:
                low, high = min(low, box[2 * axis]), max(high, box[2 * axis + 1])
                length = scaled_end(least, scale, high) - scaled_end(least, scale, low) + LEAST_WIDTH
            new *= length
        growth = new - old
        if growth < best_growth or (growth == best_growth and old < best_volume):
            best, best_growth, best_volume = place, growth, old
        start += width
    return best


@kernel
def _split_node(tree: RtreeNodes, node: int) -> int:
    """Move some entries of a node to a new sibling; returns the parent, which may have one too many then."""
    height, width = int(tree.heights[node]), 2 * tree.dimensions
    box = np.empty(width, np.int64)
    if node == tree.root:
        tree.root = new_node(tree, height + 1)
        add_entry(tree, tree.root, box, node)
    beside = new_node(tree, height)
    parent = int(tree.parents[node])
    count, least = int(tree.sizes[node]), min_entries(max_entries(tree, node))
    places = np.empty((count, width), np.float64)
    first = node * tree.stride
    for row in range(count):
        scale_box(tree, tree.bounds, (first + row) * width, places[row])
    cuts = np.arange(least, count - least + 1).astype(np.int32)
    key, cut = best_split(places, cuts)
    order = np.empty(count, np.int32)
    sort_by(places, key, order)
    # From the end, so that the entry which fills a gap has been visited already.
    for place in np.sort(order[cuts[cut] :])[::-1]:
        entry = first + place
        box[:] = tree.bounds[entry * width : (entry + 1) * width]
        add_entry(tree, beside, box, tree.links[entry])
        remove_entry(tree, node, place)
    update_weight(tree, node)
    update_weight(tree, beside)
    enclose(tree, node, box)
    start = (parent * tree.stride + entry_of(tree, parent, node)) * width
    tree.bounds[start : start + width] = box
    enclose(tree, beside, box)
    add_entry(tree, parent, box, beside)
    update_weight(tree, parent)
    return parent


@kernel
def _condense(tree: RtreeNodes, node: int) -> I64:
    """Update weights and boxes upwards from a leaf that lost an entry; returns the removed nodes, bottom up."""
    width = 2 * tree.dimensions
    box = np.empty(width, np.int64)
    taken = np.empty(tree.heights[tree.root], np.int64)
    used = 0
    lost = 1
    while node != tree.root:
        tree.weights[node] -= lost
        parent = int(tree.parents[node])
        place = entry_of(tree, parent, node)
        if tree.sizes[node] < min_entries(max_entries(tree, node)):
            lost += tree.weights[node]
            remove_entry(tree, parent, place)
            taken[used] = node
            used += 1
        else:
            enclose(tree, node, box)
            start = (parent * tree.stride + place) * width
            tree.bounds[start : start + width] = box
        node = parent
    tree.weights[node] -= lost
    return taken[:used]


@kernel
def _reinsert(tree: RtreeNodes, taken: I64) -> None:
    """Insert the entries of removed nodes into others of the same height, and free the nodes."""
    width = 2 * tree.dimensions
    box = np.empty(width, np.int64)
    for node in taken:
        height = int(tree.heights[node])
        for place in range(tree.sizes[node]):
            entry = node * tree.stride + place
            box[:] = tree.bounds[entry * width : (entry + 1) * width]
            link = int(tree.links[entry])
            _insert_entry(tree, box, link, 1 if height == 1 else int(tree.weights[link]), height)
        free_node(tree, node)
