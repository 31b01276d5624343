"""The nodes of an R-tree of boxes: where they are kept, and what each may be asked.

A node has a height, 1 for a leaf, and entries: a box and a link each. The link of a leaf's entry is a payload, a
whole number that is in the tree at most once; that of another entry is a child, one less high, and the box is the
least one around everything in the child. Every node but the root has at least `least_entries`, and an inner root
has two. Both ends of a side belong to a box; the ends of int64 mean that there is no end.

A node has room for one entry more than it may keep, so that it can be split after it got one too many. Payloads
know their leaf and nodes their parent, so nothing is ever searched for in order to be changed.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.base import Stats
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Ends: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]

NO_LOW, NO_HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@struct
class Tree(structref.StructRefProxy):  # type: ignore[misc]
    """What `tree_of` gives; only compiled code looks into it.

    dimensions: how many sides a box has; inner, leaf: how many entries a node may have, at least 4.
    root, count: a node, and how many boxes there are.
    made, free: node numbers ever given; a free one or -1.
    stride: entries that there is room for in a node; those of node i begin at entry i * stride.
    bounds: int64[entries * dimensions * 2]: low and high end of each side of each entry's box, in this order.
    links: int32[entries]: child or payload; the first one of a free node is the next free node.
    sizes, heights, parents: int32[nodes]: how many entries; 0 for a free node; -1 for the root.
    weights: int32[nodes]: how many boxes there are in and below it.
    homes: int32[payloads]: the leaf, -1 if the payload is not there.
    least, most, scales: float64[dimensions]: the range of ends ever seen on an axis, and 1 by its width.
    """

    dimensions: int
    inner: int
    leaf: int
    root: int
    count: int
    made: int
    free: int
    stride: int
    bounds: Ends
    links: Shorts
    sizes: Shorts
    heights: Shorts
    parents: Shorts
    weights: Shorts
    homes: Shorts
    least: Floats
    most: Floats
    scales: Floats


@numba.njit(cache=True, nogil=True)
def tree_of(dimensions: int, inner: int, leaf: int) -> Tree:
    """A tree without boxes, for so many axes and entries of inner nodes and leaves (at least 4)."""
    tree = Tree(
        dimensions,
        inner,
        leaf,
        0,
        0,
        0,
        -1,
        max(inner, leaf) + 1,
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(dimensions, np.float64),
        np.empty(dimensions, np.float64),
        np.empty(dimensions, np.float64),
    )
    clear(tree)
    return tree


@numba.njit(cache=True, nogil=True)
def clear(tree: Tree) -> None:
    """Forget all boxes; the root is an empty leaf then."""
    tree.count, tree.made, tree.free = 0, 0, -1
    tree.homes[:] = -1
    tree.least[:] = np.inf
    tree.most[:] = -np.inf
    tree.scales[:] = 0.0
    tree.root = new_node(tree, 1)


@numba.njit(cache=True, nogil=True)
def new_node(tree: Tree, height: int) -> int:
    """A node without entries and parent; arrays of nodes that a caller looked up before may be old ones after."""
    if tree.free >= 0:
        node = tree.free
        tree.free = int(tree.links[node * tree.stride])
    else:
        node = tree.made
        tree.made += 1
        if node == len(tree.sizes):
            length = node + node // 2 + 4
            tree.bounds = grown(tree.bounds, length * tree.stride * 2 * tree.dimensions)
            tree.links = grown(tree.links, length * tree.stride)
            tree.sizes, tree.heights = grown(tree.sizes, length), grown(tree.heights, length)
            tree.parents, tree.weights = grown(tree.parents, length), grown(tree.weights, length)
    tree.sizes[node], tree.heights[node], tree.parents[node], tree.weights[node] = 0, height, -1, 0
    return node


@numba.njit(cache=True, nogil=True)
def free_node(tree: Tree, node: int) -> None:
    """Give a node's number back."""
    tree.heights[node] = 0
    tree.links[node * tree.stride] = tree.free
    tree.free = node


@numba.njit(cache=True, nogil=True)
def reserve_payload(tree: Tree, payload: int) -> None:
    """Let there be a home for a payload."""
    old = len(tree.homes)
    if payload >= old:
        tree.homes = grown(tree.homes, payload + payload // 2 + 16)
        tree.homes[old:] = -1


@numba.njit(cache=True, nogil=True)
def height_of(tree: Tree) -> int:
    """How many levels there are: the root is on level 1, leaves are on this one."""
    return int(tree.heights[tree.root])


@numba.njit(cache=True, nogil=True)
def root_of(tree: Tree) -> int:
    """The node on level 1."""
    return tree.root


@numba.njit(cache=True, nogil=True)
def most_entries(tree: Tree, node: int) -> int:
    """How many entries a node may have."""
    return tree.leaf if tree.heights[node] == 1 else tree.inner


@numba.njit(cache=True, nogil=True)
def least_entries(most: int) -> int:
    """How many entries a node must have that is not the root and may have `most`: 40%, as in the R*-tree."""
    return max(2, most * 2 // 5)


@numba.njit(cache=True, nogil=True)
def add_entry(tree: Tree, node: int, box: Ends, link: int) -> None:
    """Write an entry behind those of a node; weights and the boxes above are the caller's.

    Args:
        tree: Of the node.
        node: Has room for it.
        box: int64[dimensions * 2]: low and high end of each side.
        link: A child, which gets its parent, or a payload, which gets its home.
    """
    entry = node * tree.stride + tree.sizes[node]
    width = len(box)
    for at in range(width):
        tree.bounds[entry * width + at] = box[at]
    tree.links[entry] = link
    tree.sizes[node] += 1
    if tree.heights[node] == 1:
        tree.homes[link] = node
    else:
        tree.parents[link] = node


@numba.njit(cache=True, nogil=True)
def remove_entry(tree: Tree, node: int, place: int) -> None:
    """Put the last entry of a node where another one was."""
    tree.sizes[node] -= 1
    here, last = node * tree.stride + place, node * tree.stride + tree.sizes[node]
    width = 2 * tree.dimensions
    for at in range(width):
        tree.bounds[here * width + at] = tree.bounds[last * width + at]
    tree.links[here] = tree.links[last]


@numba.njit(cache=True, nogil=True)
def place_of(tree: Tree, node: int, link: int) -> int:
    """Which entry of a node has this link; there is one."""
    first = node * tree.stride
    place = 0
    while tree.links[first + place] != link:
        place += 1
    return place


@numba.njit(cache=True, nogil=True)
def enclose(tree: Tree, node: int, box: Ends) -> None:
    """Write the least box around the entries of a node, which has some."""
    bounds, width = tree.bounds, len(box)
    start = node * tree.stride * width
    for at in range(width):
        box[at] = bounds[start + at]
    for _ in range(1, tree.sizes[node]):
        start += width
        for at in range(0, width, 2):
            box[at] = min(box[at], bounds[start + at])
            box[at + 1] = max(box[at + 1], bounds[start + at + 1])


@numba.njit(cache=True, nogil=True)
def weigh(tree: Tree, node: int) -> None:
    """Count the boxes in and below a node, whose children's weights are right."""
    weight = int(tree.sizes[node])
    if tree.heights[node] > 1:
        first, weight = node * tree.stride, 0
        for entry in range(first, first + tree.sizes[node]):
            weight += tree.weights[tree.links[entry]]
    tree.weights[node] = weight


def tree_stats(tree: Tree) -> Stats:
    """Boxes, nodes, height; bytes of boxes, of links, of what is known of each node and of homes."""
    boxes, height, leaves, nodes, bounds, links, heads, homes = _figures(tree)
    return Stats(
        {"boxes": boxes, "height": height, "leaves": leaves, "inner nodes": nodes - leaves},
        {"boxes": bounds, "links": links, "nodes": heads, "homes": homes},
    )


@numba.njit(cache=True, nogil=True)
def _figures(tree: Tree) -> tuple[int, int, int, int, int, int, int, int]:
    nodes = leaves = 0
    for node in range(tree.made):
        nodes += tree.heights[node] > 0
        leaves += tree.heights[node] == 1
    entries = tree.made * tree.stride
    return (
        tree.count,
        height_of(tree),
        leaves,
        nodes,
        entries * 16 * tree.dimensions,
        4 * entries,
        16 * tree.made,
        tree.homes.nbytes,
    )
