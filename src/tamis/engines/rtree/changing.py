"""A box in, a box out: a tree stays as `tree` says it is after each.

A new box goes down to where the box around a node grows least. A node with one entry too many is cut in two where
packing would cut it. A node that has too few entries is taken out, and its entries are put in again at its height.
"""

from __future__ import annotations

import numba
import numpy as np

from tamis.engines.rtree.cutting import LEAST_WIDTH, best_cut, place_box, position, sort_by, widen
from tamis.engines.rtree.tree import (
    Ends,
    Shorts,
    Tree,
    add_entry,
    enclose,
    free_node,
    least_entries,
    most_entries,
    new_node,
    place_of,
    remove_entry,
    reserve_payload,
    weigh,
)


@numba.njit(cache=True, nogil=True)
def insert(tree: Tree, low: Ends, high: Ends, payload: int) -> None:
    """Add a box.

    Args:
        tree: Does not have the payload.
        low: int64[dimensions]: low ends of the sides.
        high: int64[dimensions]: high ends, not below.
        payload: At least 0.
    """
    box = np.empty(2 * tree.dimensions, np.int64)
    for axis in range(tree.dimensions):
        box[2 * axis], box[2 * axis + 1] = low[axis], high[axis]
    widen(tree, box)
    reserve_payload(tree, payload)
    tree.count += 1
    _put(tree, box, payload, 1, 1)


@numba.njit(cache=True, nogil=True)
def delete(tree: Tree, payload: int) -> bool:
    """Remove the box of a payload; was it there?"""
    if payload >= len(tree.homes) or tree.homes[payload] < 0:
        return False
    tree.count -= 1
    node = int(tree.homes[payload])
    tree.homes[payload] = -1
    remove_entry(tree, node, place_of(tree, node, payload))
    _put_again(tree, _condense(tree, node))
    while tree.heights[tree.root] > 1 and tree.sizes[tree.root] == 1:
        old = tree.root
        tree.root = int(tree.links[old * tree.stride])
        tree.parents[tree.root] = -1
        free_node(tree, old)
    return True


@numba.njit(cache=True, nogil=True)
def delete_all(tree: Tree, payloads: Shorts) -> None:
    """Remove the boxes of payloads."""
    for payload in payloads:
        delete(tree, np.int64(payload))


@numba.njit(cache=True, nogil=True)
def _put(tree: Tree, box: Ends, link: int, weight: int, height: int) -> None:
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
    while tree.sizes[node] > most_entries(tree, node):
        node = _split(tree, node)


@numba.njit(cache=True, nogil=True)
def _choose(tree: Tree, node: int, box: Ends) -> int:
    """The entry of an inner node whose volume grows least; among equals the one of least volume."""
    bounds, width = tree.bounds, len(box)
    start = node * tree.stride * width
    best, best_growth, best_volume = 0, np.inf, np.inf
    for place in range(tree.sizes[node]):
        old, new = 1.0, 1.0
        for axis in range(tree.dimensions):
            least, scale = tree.least[axis], tree.scales[axis]
            low, high = bounds[start + 2 * axis], bounds[start + 2 * axis + 1]
            length = position(least, scale, high) - position(least, scale, low) + LEAST_WIDTH
            old *= length
            if box[2 * axis] < low or box[2 * axis + 1] > high:
                low, high = min(low, box[2 * axis]), max(high, box[2 * axis + 1])
                length = position(least, scale, high) - position(least, scale, low) + LEAST_WIDTH
            new *= length
        growth = new - old
        if growth < best_growth or (growth == best_growth and old < best_volume):
            best, best_growth, best_volume = place, growth, old
        start += width
    return best


@numba.njit(cache=True, nogil=True)
def _split(tree: Tree, node: int) -> int:
    """Move some entries of a node to a new one beside it; gives the parent, which may have too many then."""
    height, width = int(tree.heights[node]), 2 * tree.dimensions
    box = np.empty(width, np.int64)
    if node == tree.root:
        tree.root = new_node(tree, height + 1)
        add_entry(tree, tree.root, box, node)
    beside = new_node(tree, height)
    parent = int(tree.parents[node])
    count, least = int(tree.sizes[node]), least_entries(most_entries(tree, node))
    places = np.empty((count, width), np.float64)
    first = node * tree.stride
    for row in range(count):
        place_box(tree, tree.bounds, (first + row) * width, places[row])
    cuts = np.arange(least, count - least + 1).astype(np.int32)
    key, cut = best_cut(places, cuts)
    order = np.empty(count, np.int32)
    sort_by(places, key, order)
    # Taken out from behind, so that the last entry, which fills the gap, has not been asked for yet.
    for place in np.sort(order[cuts[cut] :])[::-1]:
        entry = first + place
        box[:] = tree.bounds[entry * width : (entry + 1) * width]
        add_entry(tree, beside, box, tree.links[entry])
        remove_entry(tree, node, place)
    weigh(tree, node)
    weigh(tree, beside)
    enclose(tree, node, box)
    start = (parent * tree.stride + place_of(tree, parent, node)) * width
    tree.bounds[start : start + width] = box
    enclose(tree, beside, box)
    add_entry(tree, parent, box, beside)
    weigh(tree, parent)
    return parent


@numba.njit(cache=True, nogil=True)
def _condense(tree: Tree, node: int) -> Ends:
    """Make weights and boxes right from a leaf that lost an entry upwards; gives the nodes taken out."""
    width = 2 * tree.dimensions
    box = np.empty(width, np.int64)
    taken = np.empty(tree.heights[tree.root], np.int64)
    used = 0
    lost = 1
    while node != tree.root:
        tree.weights[node] -= lost
        parent = int(tree.parents[node])
        place = place_of(tree, parent, node)
        if tree.sizes[node] < least_entries(most_entries(tree, node)):
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


@numba.njit(cache=True, nogil=True)
def _put_again(tree: Tree, taken: Ends) -> None:
    """Put the entries of nodes that were taken out into others of the same height."""
    width = 2 * tree.dimensions
    box = np.empty(width, np.int64)
    for node in taken:
        height = int(tree.heights[node])
        for place in range(tree.sizes[node]):
            entry = node * tree.stride + place
            box[:] = tree.bounds[entry * width : (entry + 1) * width]
            link = int(tree.links[entry])
            _put(tree, box, link, 1 if height == 1 else int(tree.weights[link]), height)
        free_node(tree, node)
