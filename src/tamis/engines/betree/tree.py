"""The nodes of a BE-Tree: where they are kept, and their buckets of terms.

Every node has a bucket, a directory of parts and up to two halves. A part is a node for one key: an attribute, or
a test, that no node above it has; its terms ask for that key. A half is a node for the same key as the one above
it, and for the values up to a middle or for those beyond it: the sides of its terms on that key lie there. Keys
are whole numbers: an axis plus 1, or the ones' complement of a test.

A bucket is a run of entries. An entry has the term and, so that most of those that do not hold are passed over
without a look at the term, one of its sides whose key no node of the path has. A term stands in one bucket and
knows where. Only the root and the node of terms without sides may be without terms in or below them; a node with
parts or halves has more than half as many terms as a bucket may have.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

ROOT, ALWAYS = 0, 1
"""Nodes that are always there: above all others, and for the terms without sides."""
KEY, MIDDLE, LEFT, RIGHT, BUCKET, COUNT, DIRECTORY, PARTS = range(8)
"""Cells of a node: its key, 0 of the root; where its halves meet and which they are, -1 for none; where its bucket
is and how many entries that has; where its directory is and how many parts that has."""
NODE = 8
ENTRY = 3
"""Cells of an entry: a key (0 for none) and the term, the low end, the high end."""
LOW_BITS = (1 << 32) - 1
"""Keys stand above these bits, terms and nodes in them."""
_POWERS = 48
_BUCKET_ROOM, _DIRECTORY_ROOM = 0, 1


@struct
class Tree(structref.StructRefProxy):  # type: ignore[misc]
    """What `tree_of` gives; only compiled code looks into it.

    max_cap: how many terms a bucket may have before it is cut.
    has_loss: whether attributes lose by being asked for often.
    nodes: int64[nodes * NODE]: what matching looks at.
    parents: int64[nodes]: -1 of the root; of a free node, the next free one.
    caps, weights: int32[nodes]: how many terms its bucket may have; how many there are in and below it.
    rooms: uint8[nodes * 2]: powers of two, of the cells that its bucket and its directory have.
    made, free: nodes ever made, a free one or -1.
    cells: int64[...]: buckets, and directories: a key and a node each, rising.
    used, free_cells: cells ever used; int64[powers]: a free place of each power of two or -1, which says the next.
    homes, places: [terms]: node and place in its bucket.
    least, most: int64[keys]: the range of the ends of sides ever seen on an axis, at the axis plus 1.
    uses: int32[folded keys]: how many terms have it; folded keys are not below 0.
    scores, counts, marks: [folded keys]: to work with, 0 in between.
    work: int64[4]: nodes, entries and terms looked at, and terms that held.
    """

    max_cap: int
    has_loss: bool
    nodes: Ints
    parents: Ints
    caps: Shorts
    weights: Shorts
    rooms: Bytes
    made: int
    free: int
    cells: Ints
    used: int
    free_cells: Ints
    homes: Ints
    places: Shorts
    least: Ints
    most: Ints
    uses: Shorts
    scores: Floats
    counts: Shorts
    marks: Bytes
    work: Ints


@numba.njit(cache=True, nogil=True)
def tree_of(max_cap: int, has_loss: bool) -> Tree:
    """Of no terms."""
    tree = Tree(
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


@numba.njit(cache=True, nogil=True)
def clear_tree(tree: Tree) -> None:
    """Forget all terms, and the ranges of axes."""
    tree.made, tree.free, tree.used = 0, -1, 0
    tree.free_cells[:] = -1
    tree.homes[:] = -1
    tree.least[:] = np.iinfo(np.int64).max
    tree.most[:] = np.iinfo(np.int64).min
    tree.uses[:] = 0
    new_node(tree, 0, -1)
    new_node(tree, 0, -1)


@numba.njit(cache=True, nogil=True)
def new_node(tree: Tree, key: int, parent: int) -> int:
    """A node with nothing in it; the parent does not know it yet."""
    if tree.free >= 0:
        node = tree.free
        tree.free = int(tree.parents[node])
    else:
        node = tree.made
        tree.made += 1
        if node == len(tree.parents):
            length = node + node // 2 + 16
            tree.nodes, tree.rooms = grown(tree.nodes, length * NODE), grown(tree.rooms, length * 2)
            tree.parents, tree.caps = grown(tree.parents, length), grown(tree.caps, length)
            tree.weights = grown(tree.weights, length)
    at = node * NODE
    tree.nodes[at : at + NODE] = 0
    tree.nodes[at + KEY], tree.nodes[at + LEFT], tree.nodes[at + RIGHT] = key, -1, -1
    tree.parents[node], tree.caps[node], tree.weights[node] = parent, tree.max_cap, 0
    return node


@numba.njit(cache=True, nogil=True)
def free_node(tree: Tree, node: int) -> None:
    """Give a node back that no other node knows."""
    drop_bucket(tree, node)
    drop_directory(tree, node)
    tree.caps[node] = 0
    tree.parents[node] = tree.free
    tree.free = node


@numba.njit(cache=True, nogil=True)
def drop_bucket(tree: Tree, node: int) -> None:
    """Make a bucket empty."""
    at = node * NODE
    if tree.nodes[at + COUNT]:
        _give(tree, tree.rooms[2 * node + _BUCKET_ROOM], tree.nodes[at + BUCKET])
        tree.nodes[at + COUNT] = 0


@numba.njit(cache=True, nogil=True)
def drop_directory(tree: Tree, node: int) -> None:
    """Forget the parts of a node."""
    at = node * NODE
    if tree.nodes[at + PARTS]:
        _give(tree, tree.rooms[2 * node + _DIRECTORY_ROOM], tree.nodes[at + DIRECTORY])
        tree.nodes[at + PARTS] = 0


@numba.njit(cache=True, nogil=True)
def _take(tree: Tree, power: int) -> int:
    place = tree.free_cells[power]
    if place >= 0:
        tree.free_cells[power] = tree.cells[place]
        return int(place)
    place = tree.used
    tree.used += 1 << power
    if tree.used > len(tree.cells):
        tree.cells = grown(tree.cells, tree.used + tree.used // 2)
    return int(place)


@numba.njit(cache=True, nogil=True)
def _give(tree: Tree, power: int, place: int) -> None:
    tree.cells[place] = tree.free_cells[power]
    tree.free_cells[power] = place


@numba.njit(cache=True, nogil=True)
def _fit(tree: Tree, node: int, which: int, old: int, new: int) -> None:
    """Let the bucket or directory of a node have room for `new` cells, of which it has used `old`."""
    at = node * NODE + (BUCKET if which == _BUCKET_ROOM else DIRECTORY)
    room = int(tree.rooms[2 * node + which])
    if old and new <= 1 << room and 4 * new > 1 << room:
        return
    power = 0
    while 1 << power < new:
        power += 1
    place = _take(tree, power) if new else 0
    if old:
        before = tree.nodes[at]
        for cell in range(min(old, new)):
            tree.cells[place + cell] = tree.cells[before + cell]
        _give(tree, room, before)
    tree.nodes[at] = place
    tree.rooms[2 * node + which] = power


@numba.njit(cache=True, nogil=True)
def add_entry(tree: Tree, node: int, head: int, low: int, high: int) -> None:
    """Put an entry into the bucket of a node; `head` is its first cell."""
    at = node * NODE
    count = tree.nodes[at + COUNT]
    _fit(tree, node, _BUCKET_ROOM, ENTRY * count, ENTRY * (count + 1))
    cell = tree.nodes[at + BUCKET] + ENTRY * count
    tree.cells[cell], tree.cells[cell + 1], tree.cells[cell + 2] = head, low, high
    tree.nodes[at + COUNT] = count + 1
    term = head & LOW_BITS
    tree.homes[term], tree.places[term] = node, count


@numba.njit(cache=True, nogil=True)
def remove_entry(tree: Tree, node: int, place: int) -> None:
    """Put the last entry of a bucket where another one was."""
    at = node * NODE
    last = tree.nodes[at + COUNT] - 1
    here, there = tree.nodes[at + BUCKET] + ENTRY * place, tree.nodes[at + BUCKET] + ENTRY * last
    for cell in range(ENTRY):
        tree.cells[here + cell] = tree.cells[there + cell]
    tree.places[tree.cells[here] & LOW_BITS] = place
    _fit(tree, node, _BUCKET_ROOM, ENTRY * (last + 1), ENTRY * last)
    tree.nodes[at + COUNT] = last


@numba.njit(cache=True, nogil=True)
def _place_of(cells: Ints, first: int, count: int, key: int) -> int:
    """The first place of a directory whose key is not below."""
    wanted = key << 32
    low, high = first, first + count
    while low < high:
        middle = (low + high) >> 1
        if cells[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def part_in(cells: Ints, first: int, count: int, key: int) -> int:
    """The part for a key in a directory; -1 if there is none."""
    place = _place_of(cells, first, count, key)
    if place < first + count and cells[place] >> 32 == key:
        return int(cells[place] & LOW_BITS)
    return -1


@numba.njit(cache=True, nogil=True)
def new_part(tree: Tree, node: int, key: int) -> int:
    """A part of a node for a key that its directory does not have."""
    part = new_node(tree, key, node)
    at = node * NODE
    count = tree.nodes[at + PARTS]
    _fit(tree, node, _DIRECTORY_ROOM, count, count + 1)
    first = tree.nodes[at + DIRECTORY]
    place = _place_of(tree.cells, first, count, key)
    for cell in range(first + count, place, -1):
        tree.cells[cell] = tree.cells[cell - 1]
    tree.cells[place] = (key << 32) | part
    tree.nodes[at + PARTS] = count + 1
    return part


@numba.njit(cache=True, nogil=True)
def new_half(tree: Tree, node: int, which: int) -> int:
    """The `LEFT` or `RIGHT` half of a node, which does not have it."""
    half = new_node(tree, tree.nodes[node * NODE + KEY], node)
    tree.nodes[node * NODE + which] = half
    return half


@numba.njit(cache=True, nogil=True)
def detach(tree: Tree, node: int) -> None:
    """Let its parent forget a node that is not the root."""
    parent = tree.parents[node]
    at = parent * NODE
    if tree.nodes[at + LEFT] == node:
        tree.nodes[at + LEFT] = -1
    elif tree.nodes[at + RIGHT] == node:
        tree.nodes[at + RIGHT] = -1
    else:
        count, first = tree.nodes[at + PARTS], tree.nodes[at + DIRECTORY]
        place = _place_of(tree.cells, first, count, tree.nodes[node * NODE + KEY])
        for cell in range(place, first + count - 1):
            tree.cells[cell] = tree.cells[cell + 1]
        _fit(tree, parent, _DIRECTORY_ROOM, count, count - 1)
        tree.nodes[at + PARTS] = count - 1


@numba.njit(cache=True, nogil=True)
def is_cut(tree: Tree, node: int) -> bool:
    """Has a node halves?"""
    return tree.nodes[node * NODE + LEFT] >= 0 or tree.nodes[node * NODE + RIGHT] >= 0


@numba.njit(cache=True, nogil=True)
def tree_figures(tree: Tree) -> tuple[int, int, int, int, int]:
    """Nodes, parts among them, terms without sides; bytes of nodes with their buckets, and of homes."""
    nodes = parts = 0
    for node in range(tree.made):
        if tree.caps[node]:
            nodes += 1
            parts += tree.nodes[node * NODE + PARTS]
    held = 8 * (NODE * tree.made + tree.used) + 18 * tree.made
    keys = 16 * len(tree.least) + 17 * len(tree.scores)
    return nodes, parts, int(tree.nodes[ALWAYS * NODE + COUNT]), held, 12 * len(tree.homes) + keys


@numba.njit(cache=True, nogil=True)
def tree_work(tree: Tree) -> Ints:
    """What was done since this was asked last."""
    done = tree.work.copy()
    tree.work[:] = 0
    return done
