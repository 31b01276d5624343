"""The nodes of an R-tree of boxes.

    node i, entries i * stride ...:   | box, link | box, link | ... | room for one more |

A node has a height, 1 for a leaf, and entries of a box and a link each. The link of a leaf entry is a payload, a
whole number that is in the tree at most once; that of an inner entry is a child, one less high, and the box is the
minimum bounding box of the child. Every node but the root has at least `min_entries`, and an inner root has two.
Boxes are closed; the ends of int64 stand for no end.

A node has room for one entry more than its capacity, so that it is split after it got one too many. Payloads know
their leaf and nodes their parent, so no update searches the tree.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import F64, I32, I64
from tamis.engines.array_kernels import grow
from tamis.engines.base import Stats
from tamis.engines.structs import struct
from tamis.kernels import kernel

NO_LOW, NO_HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@struct
class RtreeNodes(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_tree`; only compiled code reads its fields.

    dimensions: how many sides a box has; inner, leaf: the capacities of nodes, at least 4.
    root, count: the root, and how many boxes there are.
    made, free: node numbers ever given; a free one or -1.
    stride: how many entries a node has room for; those of node i begin at entry i * stride.
    bounds: int64[entries * dimensions * 2]: low and high end of each side of each entry's box, in this order.
    links: int32[entries]: child or payload; the first one of a free node is the next free node.
    sizes, heights, parents: int32[nodes]: how many entries; 0 for a free node; -1 for the root.
    weights: int32[nodes]: how many boxes there are in and below a node.
    homes: int32[payloads]: the leaf of a payload, -1 if it is not in the tree.
    least, most, scales: float64[dimensions]: the range of ends ever seen on an axis, and the inverse of its width.
    """

    dimensions: int
    inner: int
    leaf: int
    root: int
    count: int
    made: int
    free: int
    stride: int
    bounds: I64
    links: I32
    sizes: I32
    heights: I32
    parents: I32
    weights: I32
    homes: I32
    least: F64
    most: F64
    scales: F64


@kernel
def empty_tree(dimensions: int, inner: int, leaf: int) -> RtreeNodes:
    """A tree without boxes; capacities are at least 4."""
    tree = RtreeNodes(
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
    clear_tree(tree)
    return tree


@kernel
def clear_tree(tree: RtreeNodes) -> None:
    """Remove all boxes; the root is an empty leaf then."""
    tree.count, tree.made, tree.free = 0, 0, -1
    tree.homes[:] = -1
    tree.least[:] = np.inf
    tree.most[:] = -np.inf
    tree.scales[:] = 0.0
    tree.root = new_node(tree, 1)


@kernel
def new_node(tree: RtreeNodes, height: int) -> int:
    """A node without entries and parent; replaces the arrays of the tree if they are full."""
    if tree.free >= 0:
        node = tree.free
        tree.free = int(tree.links[node * tree.stride])
    else:
        node = tree.made
        tree.made += 1
        if node == len(tree.sizes):
            length = node + node // 2 + 4
            tree.bounds = grow(tree.bounds, length * tree.stride * 2 * tree.dimensions)
            tree.links = grow(tree.links, length * tree.stride)
            tree.sizes, tree.heights = grow(tree.sizes, length), grow(tree.heights, length)
            tree.parents, tree.weights = grow(tree.parents, length), grow(tree.weights, length)
    tree.sizes[node], tree.heights[node], tree.parents[node], tree.weights[node] = 0, height, -1, 0
    return node


@kernel
def free_node(tree: RtreeNodes, node: int) -> None:
    tree.heights[node] = 0
    tree.links[node * tree.stride] = tree.free
    tree.free = node


@kernel
def reserve_payload(tree: RtreeNodes, payload: int) -> None:
    """Grow `homes` for a payload."""
    old = len(tree.homes)
    if payload >= old:
        tree.homes = grow(tree.homes, payload + payload // 2 + 16)
        tree.homes[old:] = -1


@kernel
def height_of(tree: RtreeNodes) -> int:
    """The number of levels: the root is on level 1, leaves are on this one."""
    return int(tree.heights[tree.root])


@kernel
def root_of(tree: RtreeNodes) -> int:
    return tree.root


@kernel
def max_entries(tree: RtreeNodes, node: int) -> int:
    """The capacity of a node."""
    return tree.leaf if tree.heights[node] == 1 else tree.inner


@kernel
def min_entries(most: int) -> int:
    """How many entries a node of capacity `most` has at least, unless it is the root: 40%, as in the R*-tree."""
    return max(2, most * 2 // 5)


@kernel
def add_entry(tree: RtreeNodes, node: int, box: I64, link: int) -> None:
    """Append an entry to a node; the caller updates weights and the boxes above.

    Args:
        tree: The R-tree.
        node: A node that has room.
        box: int64[dimensions * 2]: low and high end of each side.
        link: A child, whose parent is set, or a payload, whose home is set.
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


@kernel
def remove_entry(tree: RtreeNodes, node: int, place: int) -> None:
    """Remove an entry; the last one of the node takes its place."""
    tree.sizes[node] -= 1
    here, last = node * tree.stride + place, node * tree.stride + tree.sizes[node]
    width = 2 * tree.dimensions
    for at in range(width):
        tree.bounds[here * width + at] = tree.bounds[last * width + at]
    tree.links[here] = tree.links[last]


@kernel
def entry_of(tree: RtreeNodes, node: int, link: int) -> int:
    """Which entry of a node has this link; there must be one."""
    first = node * tree.stride
    place = 0
    while tree.links[first + place] != link:
        place += 1
    return place


@kernel
def enclose(tree: RtreeNodes, node: int, box: I64) -> None:
    """Write the minimum bounding box of a node that has entries."""
    bounds, width = tree.bounds, len(box)
    start = node * tree.stride * width
    for at in range(width):
        box[at] = bounds[start + at]
    for _ in range(1, tree.sizes[node]):
        start += width
        for at in range(0, width, 2):
            box[at] = min(box[at], bounds[start + at])
            box[at + 1] = max(box[at + 1], bounds[start + at + 1])


@kernel
def update_weight(tree: RtreeNodes, node: int) -> None:
    """Compute the weight of a node from those of its children."""
    weight = int(tree.sizes[node])
    if tree.heights[node] > 1:
        first, weight = node * tree.stride, 0
        for entry in range(first, first + tree.sizes[node]):
            weight += tree.weights[tree.links[entry]]
    tree.weights[node] = weight


def tree_stats(tree: RtreeNodes) -> Stats:
    """Boxes, nodes, height; bytes of boxes, links, nodes and homes."""
    boxes, height, leaves, nodes, bounds, links, heads, homes = _sizes(tree)
    return Stats(
        {"boxes": boxes, "height": height, "leaves": leaves, "inner nodes": nodes - leaves},
        {"boxes": bounds, "links": links, "nodes": heads, "homes": homes},
    )


@kernel
def _sizes(tree: RtreeNodes) -> tuple[int, int, int, int, int, int, int, int]:
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
