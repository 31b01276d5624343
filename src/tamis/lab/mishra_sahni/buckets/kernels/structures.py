"""Attribute structures (paper, 3.2.3): the buckets of one axis below one bucket, found by a value.

A structure begins with one open bucket, for everything. When that overflows, the structure gets the kind of index
of
its axis: a hash table of values (ranges share one more bucket), an interval tree or a priority search tree, each
    with one bucket for every distinct range or with fewer, fuller ones. A bucket is *frozen* when it can never be
    split again.
Invariant: only a frozen bucket owns structures, since a split would lose those of its terms.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, U8, Structs
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.boxes.kernels.boxes import TESTS
from tamis.lab.mishra_sahni.buckets.kernels import interval_tree, priority_search_tree
from tamis.lab.mishra_sahni.buckets.kernels.bucket_pool import BucketPool, empty_pool, free_bucket, new_bucket
from tamis.lab.mishra_sahni.buckets.kernels.hash_table import (
    HashTable,
    empty_table,
    look_up,
    remove_key,
    set_value,
)
from tamis.lab.mishra_sahni.buckets.kernels.interval_tree import IntervalTrees, empty_interval_trees
from tamis.lab.mishra_sahni.buckets.kernels.priority_search_tree import PrioritySearchTrees, empty_search_trees

OPEN, HASH, IT_NODE, IT_RANGE, RBPST_RANGE, RBPST_HULL = 0, 1, 2, 3, 4, 5
KINDS = {
    "hash": HASH,
    "it-node": IT_NODE,
    "it-range": IT_RANGE,
    "rbpst-range": RBPST_RANGE,
    "rbpst-hull": RBPST_HULL,
}
"""The kinds that users may choose, by name."""
STRUCTURE = np.dtype(
    [
        ("axis", np.int32),
        ("parent", np.int32),
        ("kind", np.int32),
        ("root", np.int32),
        ("buckets", np.int32),
        ("open", np.int32),
    ]
)
"""A structure: its axis, the bucket that owns it (of a free one: the next free one), its kind, the root of its
tree or -1, how many buckets it has, and the bucket of everything (OPEN) or of ranges (HASH), -1 if there is
none."""
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@struct
class AttributeStructures(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_structures`; only compiled code reads its fields.

    store: all buckets; number 0 is the header, which is always empty and owns the structures of first axes.
    structures: STRUCTURE[...]; made, free, count: ever made, a free one or -1, in use.
    owned: the structure of (bucket, axis).
    equal: the bucket of (structure, value).
    points, intervals: the pools of trees.
    kinds: uint8[axes + 1]: the kind that a structure of axis a gets, at a + 1.
    """

    store: BucketPool
    records: Structs
    made: int
    free: int
    count: int
    owned: HashTable
    equal: HashTable
    points: PrioritySearchTrees
    intervals: IntervalTrees
    kinds: U8


@kernel
def empty_structures(is_sorted: int, kinds: U8) -> AttributeStructures:
    """The header bucket, which is always empty, without structures."""
    store = empty_pool(is_sorted)
    new_bucket(store, -1)
    return AttributeStructures(
        store,
        *(np.empty(16, STRUCTURE), 0, -1, 0),
        *(empty_table(), empty_table()),
        *(empty_search_trees(), empty_interval_trees()),
        kinds,
    )


@kernel
def new_structure(structures: AttributeStructures, bucket: int, axis: int) -> int:
    """Make a structure without buckets that a bucket owns."""
    if structures.free >= 0:
        number = structures.free
        structures.free = int(structures.records[number].parent)
    else:
        number = structures.made
        structures.made += 1
        if number == len(structures.records):
            structures.records = grow(structures.records, number + number // 2)
    structures.count += 1
    structure = structures.records[number]
    structure.axis, structure.parent, structure.kind = axis, bucket, OPEN
    structure.root, structure.buckets, structure.open = -1, 0, -1
    set_value(structures.owned, bucket, axis, number)
    structures.store.buckets[bucket].children += 1
    return int(number)


@kernel
def structure_of(structures: AttributeStructures, bucket: int, axis: int) -> int:
    """The structure of an axis that a bucket owns, -1 if there is none."""
    return look_up(structures.owned, bucket, axis)


@kernel
def _new_bucket_of(structures: AttributeStructures, number: int) -> int:
    structures.records[number].buckets += 1
    return new_bucket(structures.store, number)


@kernel
def insert_hull(structures: AttributeStructures, number: int, bucket: int, end: int, start: int, low: int) -> int:
    """Insert the point of a bucket into the tree of its structure; makes the bucket if it is -1."""
    if bucket < 0:
        bucket = _new_bucket_of(structures, number)
    structure, mine = structures.records[number], structures.store.buckets[bucket]
    mine.end, mine.start, mine.low = end, start, low
    structure.root = priority_search_tree.insert(structures.points, int(structure.root), end, start, low, bucket)
    return bucket


@kernel
def move_hull(structures: AttributeStructures, number: int, bucket: int, end: int, start: int, low: int) -> None:
    """Replace the point of a bucket."""
    structure, mine = structures.records[number], structures.store.buckets[bucket]
    structure.root = priority_search_tree.delete(structures.points, int(structure.root), mine.end, mine.start)
    insert_hull(structures, number, bucket, end, start, low)


@kernel
def _hull_bucket(structures: AttributeStructures, number: int, low: int, high: int) -> int:
    """The bucket of RBPST-hull for a range: that of the least (end, start) which is not below it."""
    root = int(structures.records[number].root)
    bucket = priority_search_tree.successor(structures.points, root, high, low)
    if bucket >= 0:
        mine = structures.store.buckets[bucket]
        if mine.frozen == 0:
            if low < mine.low:
                move_hull(structures, number, bucket, mine.end, mine.start, low)
            return bucket
        if mine.end == high and mine.start == low:
            return bucket
        # A frozen bucket keeps its one range; the ranges between it and the bucket before get a bucket of their
        # own.
        end, start = (mine.end, mine.start - 1) if mine.start > LEAST else (mine.end - 1, MOST)
        return insert_hull(structures, number, -1, end, start, low)
    bucket = priority_search_tree.last(structures.points, root)
    if bucket >= 0 and structures.store.buckets[bucket].frozen == 0:
        move_hull(structures, number, bucket, high, low, min(low, structures.store.buckets[bucket].low))
        return bucket
    return insert_hull(structures, number, -1, high, low, low)


@kernel
def _interval_bucket(structures: AttributeStructures, number: int, low: int, high: int) -> int:
    """The bucket of an interval tree for a range."""
    structure = structures.records[number]
    node = interval_tree.find(structures.intervals, int(structure.root), low, high)
    if structure.kind == IT_RANGE and interval_tree.is_closed(structures.intervals, node):
        bucket = interval_tree.range_bucket(structures.intervals, node, low, high)
        if bucket < 0:
            bucket = _new_bucket_of(structures, number)
            interval_tree.add_range(structures.intervals, node, low, high, bucket)
            mine = structures.store.buckets[bucket]
            mine.node, mine.start, mine.end, mine.frozen = node, low, high, 1
        return bucket
    bucket = interval_tree.bucket_of(structures.intervals, node)
    if bucket < 0:
        bucket = _new_bucket_of(structures, number)
        interval_tree.set_bucket(structures.intervals, node, bucket)
        structures.store.buckets[bucket].node = node
    return bucket


@kernel
def bucket_for(structures: AttributeStructures, number: int, low: int, high: int) -> int:
    """The bucket of a structure for a range, made if it is missing."""
    structure = structures.records[number]
    kind = structure.kind
    if kind == OPEN or (kind == HASH and low != high):
        if structure.open < 0:
            bucket = _new_bucket_of(structures, number)
            structure.open = bucket
            structures.store.buckets[bucket].frozen = kind == HASH
        return int(structure.open)
    if kind == HASH:
        bucket = look_up(structures.equal, number, low)
        if bucket < 0:
            bucket = _new_bucket_of(structures, number)
            mine = structures.store.buckets[bucket]
            mine.low, mine.frozen = low, 1
            set_value(structures.equal, number, low, bucket)
        return bucket
    if kind == RBPST_HULL:
        return _hull_bucket(structures, number, low, high)
    if kind == RBPST_RANGE:
        bucket = priority_search_tree.exact(structures.points, int(structure.root), high, low)
        if bucket < 0:
            bucket = insert_hull(structures, number, -1, high, low, low)
            structures.store.buckets[bucket].frozen = 1
        return bucket
    return _interval_bucket(structures, number, low, high)


@kernel
def drop_bucket(structures: AttributeStructures, bucket: int) -> int:
    """Remove a bucket that is empty and owns nothing; returns its structure."""
    mine = structures.store.buckets[bucket]
    number = int(mine.home)
    structure = structures.records[number]
    kind = structure.kind
    if structure.open == bucket:
        structure.open = -1
    elif kind == HASH:
        remove_key(structures.equal, number, mine.low)
    elif kind in (RBPST_RANGE, RBPST_HULL):
        structure.root = priority_search_tree.delete(structures.points, int(structure.root), mine.end, mine.start)
    elif kind in (IT_NODE, IT_RANGE):
        if interval_tree.bucket_of(structures.intervals, int(mine.node)) == bucket:
            interval_tree.set_bucket(structures.intervals, int(mine.node), -1)
        else:
            interval_tree.remove_range(structures.intervals, int(mine.node), mine.start, mine.end)
        structure.root = interval_tree.prune(structures.intervals, int(structure.root), int(mine.node))
    structure.buckets -= 1
    free_bucket(structures.store, bucket)
    return number


@kernel
def drop_if_empty(structures: AttributeStructures, bucket: int) -> None:
    """Remove a bucket, its structure, the bucket above and so on, as long as they are empty."""
    while (
        bucket and structures.store.buckets[bucket].count == 0 and structures.store.buckets[bucket].children == 0
    ):
        number = drop_bucket(structures, bucket)
        structure = structures.records[number]
        if structure.buckets:
            return
        bucket = int(structure.parent)
        remove_key(structures.owned, bucket, structure.axis)
        structure.parent = structures.free
        structures.free = number
        structures.count -= 1
        structures.store.buckets[bucket].children -= 1


@kernel
def buckets_at(structures: AttributeStructures, number: int, value: int, tests: I32, out: I32) -> tuple[int, int]:
    """Write the buckets of a structure that may have terms which accept a value; returns how many, and steps.

    Args:
        structures: All structures.
        number: The structure.
        value: The value on its axis.
        tests: The tests that hold, if the axis is that of tests.
        out: int32[...]: the output.
    """
    structure = structures.records[number]
    kind = structure.kind
    count, steps = 0, 1
    if structure.open >= 0:
        out[count] = structure.open
        count += 1
    if kind == HASH:
        if structure.axis == TESTS:
            steps = len(tests)
            for test in tests:
                bucket = look_up(structures.equal, number, test)
                if bucket >= 0:
                    out[count] = bucket
                    count += 1
        else:
            bucket = look_up(structures.equal, number, value)
            if bucket >= 0:
                out[count] = bucket
                count += 1
    elif kind in (RBPST_RANGE, RBPST_HULL):
        count, steps = priority_search_tree.query(structures.points, int(structure.root), value, out, count)
    elif kind != OPEN:
        count, steps = interval_tree.query(structures.intervals, int(structure.root), value, out, count)
    return count, steps
