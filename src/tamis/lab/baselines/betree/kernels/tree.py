"""The nodes of a BE-Tree, and their buckets of terms.

    root (no key)                      bucket: terms that no partition takes
     |- partition "price"              bucket: terms on price whose side spans the middle
     |    |- half: price <= 50         bucket: terms whose side on price lies there
     |    |    '- partition "zoom"     ...
     |    '- half: price > 50
     '- partition "item"

Every node has a bucket, a directory of partitions and up to two halves. A partition is a node for one key: an
attribute or a test that no node above it has, and that all its terms restrict. A half has the key of the node
above it, for the values up to a middle or for those beyond it. Keys are whole numbers: an axis plus 1, or the
ones' complement of a test.

A bucket is a run of entries: the term, and one of its sides whose key no node of the path has, so that most terms
that do not hold are skipped without a look at their boxes. A term is in one bucket and knows which. Invariants:
only the root and the node of terms without sides may have no terms in or below them; a node with partitions or
halves has more than half as many terms in and below it as a bucket may have.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import F64, I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel

ROOT, ALWAYS = 0, 1
"""The two nodes that always exist: the root, and the node of the terms without sides."""
KEY, MIDDLE, LEFT, RIGHT, BUCKET, COUNT, DIRECTORY, PARTITIONS = range(8)
"""Cells of a node: its key, 0 of the root; where its halves meet and which they are, -1 for none; where its bucket
is and how many entries that has; where its directory is and how many partitions that has."""
NODE = 8
ENTRY = 3
"""Cells of an entry: a key (0 for none) and the term, the low end, the high end."""
LOW_BITS = (1 << 32) - 1
"""Keys stand above these bits, terms and nodes in them."""
_POWERS = 48
_BUCKET_ROOM, _DIRECTORY_ROOM = 0, 1


@struct
class BETreeNodes(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_tree`; only compiled code reads its fields.

    max_cap: how many terms a bucket may have before it is split.
    has_loss: whether the score of an attribute falls with its use.
    nodes: int64[nodes * NODE]: what matching reads.
    parents: int64[nodes]: -1 of the root; of a free node, the next free one.
    caps, weights: int32[nodes]: how many terms its bucket may have; how many there are in and below it.
    rooms: uint8[nodes * 2]: powers of two, of the cells that its bucket and its directory have.
    made, free: nodes ever made, a free one or -1.
    cells: int64[...]: buckets, and directories: a key and a node each, rising.
    used, free_cells: cells ever used; int64[powers]: a free range of each power of two or -1, naming the next.
    homes, places: [terms]: node and place in its bucket.
    least, most: int64[keys]: the range of the ends of sides ever seen on an axis, at the axis plus 1.
    uses: int32[folded keys]: how many terms have it; folded keys are not below 0.
    scores, counts, marks: [folded keys]: scratch space, 0 between calls.
    work: int64[4]: nodes visited, entries and terms verified, terms that held.
    """

    max_cap: int
    has_loss: bool
    nodes: I64
    parents: I64
    caps: I32
    weights: I32
    rooms: U8
    made: int
    free: int
    cells: I64
    used: int
    free_cells: I64
    homes: I64
    places: I32
    least: I64
    most: I64
    uses: I32
    scores: F64
    counts: I32
    marks: U8
    work: I64


@kernel
def empty_tree(max_cap: int, has_loss: bool) -> BETreeNodes:
    tree = BETreeNodes(
        max_cap,
        has_loss,
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.int32),
        np.empty(0, np.uint8),
        0,
        -1,
        np.empty(0, np.int64),
        0,
        np.full(_POWERS, -1, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(0, np.float64),
        np.empty(0, np.int32),
        np.empty(0, np.uint8),
        np.zeros(4, np.int64),
    )
    clear_tree(tree)
    return tree


@kernel
def clear_tree(tree: BETreeNodes) -> None:
    """Remove all terms, and the ranges of axes."""
    tree.made, tree.free, tree.used = 0, -1, 0
    tree.free_cells[:] = -1
    tree.homes[:] = -1
    tree.least[:] = np.iinfo(np.int64).max
    tree.most[:] = np.iinfo(np.int64).min
    tree.uses[:] = 0
    new_node(tree, 0, -1)
    new_node(tree, 0, -1)


@kernel
def new_node(tree: BETreeNodes, key: int, parent: int) -> int:
    """An empty node; its parent does not link it yet."""
    if tree.free >= 0:
        node = tree.free
        tree.free = int(tree.parents[node])
    else:
        node = tree.made
        tree.made += 1
        if node == len(tree.parents):
            length = node + node // 2 + 16
            tree.nodes, tree.rooms = grow(tree.nodes, length * NODE), grow(tree.rooms, length * 2)
            tree.parents, tree.caps = grow(tree.parents, length), grow(tree.caps, length)
            tree.weights = grow(tree.weights, length)
    at = node * NODE
    tree.nodes[at : at + NODE] = 0
    tree.nodes[at + KEY], tree.nodes[at + LEFT], tree.nodes[at + RIGHT] = key, -1, -1
    tree.parents[node], tree.caps[node], tree.weights[node] = parent, tree.max_cap, 0
    return node


@kernel
def free_node(tree: BETreeNodes, node: int) -> None:
    """Free a node that no other node links."""
    drop_bucket(tree, node)
    drop_directory(tree, node)
    tree.caps[node] = 0
    tree.parents[node] = tree.free
    tree.free = node


@kernel
def drop_bucket(tree: BETreeNodes, node: int) -> None:
    at = node * NODE
    if tree.nodes[at + COUNT]:
        _free(tree, tree.rooms[2 * node + _BUCKET_ROOM], tree.nodes[at + BUCKET])
        tree.nodes[at + COUNT] = 0


@kernel
def drop_directory(tree: BETreeNodes, node: int) -> None:
    at = node * NODE
    if tree.nodes[at + PARTITIONS]:
        _free(tree, tree.rooms[2 * node + _DIRECTORY_ROOM], tree.nodes[at + DIRECTORY])
        tree.nodes[at + PARTITIONS] = 0


@kernel
def _allocate(tree: BETreeNodes, power: int) -> int:
    place = tree.free_cells[power]
    if place >= 0:
        tree.free_cells[power] = tree.cells[place]
        return int(place)
    place = tree.used
    tree.used += 1 << power
    if tree.used > len(tree.cells):
        tree.cells = grow(tree.cells, tree.used + tree.used // 2)
    return int(place)


@kernel
def _free(tree: BETreeNodes, power: int, place: int) -> None:
    tree.cells[place] = tree.free_cells[power]
    tree.free_cells[power] = place


@kernel
def _fit(tree: BETreeNodes, node: int, which: int, old: int, new: int) -> None:
    """Resize the bucket or directory of a node from `old` cells to `new`."""
    at = node * NODE + (BUCKET if which == _BUCKET_ROOM else DIRECTORY)
    room = int(tree.rooms[2 * node + which])
    if old and new <= 1 << room and 4 * new > 1 << room:
        return
    power = 0
    while 1 << power < new:
        power += 1
    place = _allocate(tree, power) if new else 0
    if old:
        before = tree.nodes[at]
        for cell in range(min(old, new)):
            tree.cells[place + cell] = tree.cells[before + cell]
        _free(tree, room, before)
    tree.nodes[at] = place
    tree.rooms[2 * node + which] = power


@kernel
def add_entry(tree: BETreeNodes, node: int, head: int, low: int, high: int) -> None:
    """Append an entry to the bucket of a node; `head` is its first cell."""
    at = node * NODE
    count = tree.nodes[at + COUNT]
    _fit(tree, node, _BUCKET_ROOM, ENTRY * count, ENTRY * (count + 1))
    cell = tree.nodes[at + BUCKET] + ENTRY * count
    tree.cells[cell], tree.cells[cell + 1], tree.cells[cell + 2] = head, low, high
    tree.nodes[at + COUNT] = count + 1
    term = head & LOW_BITS
    tree.homes[term], tree.places[term] = node, count


@kernel
def remove_entry(tree: BETreeNodes, node: int, place: int) -> None:
    """Remove an entry; the last one of the bucket takes its place."""
    at = node * NODE
    last = tree.nodes[at + COUNT] - 1
    here, there = tree.nodes[at + BUCKET] + ENTRY * place, tree.nodes[at + BUCKET] + ENTRY * last
    for cell in range(ENTRY):
        tree.cells[here + cell] = tree.cells[there + cell]
    tree.places[tree.cells[here] & LOW_BITS] = place
    _fit(tree, node, _BUCKET_ROOM, ENTRY * (last + 1), ENTRY * last)
    tree.nodes[at + COUNT] = last


@kernel
def _lower_bound(cells: I64, first: int, count: int, key: int) -> int:
    """The first cell of a directory whose key is not less."""
    wanted = key << 32
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        if cells[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def partition_in(cells: I64, first: int, count: int, key: int) -> int:
    """The partition of a key in a directory, -1 if there is none."""
    place = _lower_bound(cells, first, count, key)
    if place < first + count and cells[place] >> 32 == key:
        return int(cells[place] & LOW_BITS)
    return -1


@kernel
def new_partition(tree: BETreeNodes, node: int, key: int) -> int:
    """Add a partition for a key that the directory of a node does not have."""
    partition = new_node(tree, key, node)
    at = node * NODE
    count = tree.nodes[at + PARTITIONS]
    _fit(tree, node, _DIRECTORY_ROOM, count, count + 1)
    first = tree.nodes[at + DIRECTORY]
    place = _lower_bound(tree.cells, first, count, key)
    for cell in range(first + count, place, -1):
        tree.cells[cell] = tree.cells[cell - 1]
    tree.cells[place] = (key << 32) | partition
    tree.nodes[at + PARTITIONS] = count + 1
    return partition


@kernel
def new_half(tree: BETreeNodes, node: int, which: int) -> int:
    """Add the missing `LEFT` or `RIGHT` half of a node."""
    half = new_node(tree, tree.nodes[node * NODE + KEY], node)
    tree.nodes[node * NODE + which] = half
    return half


@kernel
def detach(tree: BETreeNodes, node: int) -> None:
    """Unlink a node from its parent."""
    parent = tree.parents[node]
    at = parent * NODE
    if tree.nodes[at + LEFT] == node:
        tree.nodes[at + LEFT] = -1
    elif tree.nodes[at + RIGHT] == node:
        tree.nodes[at + RIGHT] = -1
    else:
        count, first = tree.nodes[at + PARTITIONS], tree.nodes[at + DIRECTORY]
        place = _lower_bound(tree.cells, first, count, tree.nodes[node * NODE + KEY])
        for cell in range(place, first + count - 1):
            tree.cells[cell] = tree.cells[cell + 1]
        _fit(tree, parent, _DIRECTORY_ROOM, count, count - 1)
        tree.nodes[at + PARTITIONS] = count - 1


@kernel
def is_clustered(tree: BETreeNodes, node: int) -> bool:
    """Does a node have halves?"""
    return tree.nodes[node * NODE + LEFT] >= 0 or tree.nodes[node * NODE + RIGHT] >= 0


@kernel
def tree_sizes(tree: BETreeNodes) -> tuple[int, int, int, int, int]:
    """The number of nodes, of partitions, of terms without sides; bytes of nodes with buckets, and of homes."""
    nodes = partitions = 0
    for node in range(tree.made):
        if tree.caps[node]:
            nodes += 1
            partitions += tree.nodes[node * NODE + PARTITIONS]
    held = 8 * (NODE * tree.made + tree.used) + 18 * tree.made
    keys = 16 * len(tree.least) + 17 * len(tree.scores)
    return nodes, partitions, int(tree.nodes[ALWAYS * NODE + COUNT]), held, 12 * len(tree.homes) + keys


@kernel
def tree_work(tree: BETreeNodes) -> I64:
    """Counts of the work since the last call."""
    done = tree.work.copy()
    tree.work[:] = 0
    return done
