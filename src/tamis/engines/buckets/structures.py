"""Attribute structures: the buckets of one axis below one bucket, found by a value.

A structure begins with one open bucket, for everything. When that overflows, it gets the kind of index that its
axis is to have: a hash table for equalities (ranges share one bucket besides), an interval tree or a priority
search tree, each with one bucket for every distinct range or with fewer, fuller ones. A bucket is *frozen* when it
can never be divided again: only then may it own structures, since those of its terms would be lost by dividing it.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.boxes.sides import TESTS
from tamis.engines.buckets import interval_tree, priority_tree
from tamis.engines.buckets.interval_tree import Intervals, intervals_of
from tamis.engines.buckets.priority_tree import Points, points_of
from tamis.engines.buckets.store import Store, free_bucket, new_bucket, store_of
from tamis.engines.buckets.table import Table, look_up, remove_key, set_value, table_of
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Records: TypeAlias = npt.NDArray[np.void]
Shorts: TypeAlias = npt.NDArray[np.int32]

OPEN, HASH, HALVES, HALVES_BY_RANGE, POINTS, HULLS = 0, 1, 2, 3, 4, 5
KINDS = {"hash": HASH, "it-node": HALVES, "it-range": HALVES_BY_RANGE, "rbpst-range": POINTS, "rbpst-hull": HULLS}
"""What users may choose, by name."""
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
class Structures(structref.StructRefProxy):  # type: ignore[misc]
    """What `structures_of` gives; only compiled code looks into it.

    store: all buckets; number 0 is the header, which is always empty and owns the structures of first axes.
    structures: STRUCTURE[...]; made, free, count: ever made, a free one or -1, in use.
    owned: the structure of (bucket, axis).
    equal: the bucket of (structure, value).
    points, intervals: the pools of trees.
    kinds: uint8[axes + 1]: the kind that a structure of axis a gets, at a + 1.
    """

    store: Store
    structures: Records
    made: int
    free: int
    count: int
    owned: Table
    equal: Table
    points: Points
    intervals: Intervals
    kinds: Bytes


@numba.njit(cache=True, nogil=True)
def structures_of(is_sorted: int, kinds: Bytes) -> Structures:
    """The header alone."""
    store = store_of(is_sorted)
    new_bucket(store, -1)
    return Structures(
        store,
        *(np.empty(16, STRUCTURE), 0, -1, 0),
        *(table_of(), table_of()),
        *(points_of(), intervals_of()),
        kinds,
    )


@numba.njit(cache=True, nogil=True)
def new_structure(all_: Structures, bucket: int, axis: int) -> int:
    """A structure without buckets, owned by a bucket."""
    if all_.free >= 0:
        number = all_.free
        all_.free = int(all_.structures[number].parent)
    else:
        number = all_.made
        all_.made += 1
        if number == len(all_.structures):
            all_.structures = grown(all_.structures, number + number // 2)
    all_.count += 1
    structure = all_.structures[number]
    structure.axis, structure.parent, structure.kind = axis, bucket, OPEN
    structure.root, structure.buckets, structure.open = -1, 0, -1
    set_value(all_.owned, bucket, axis, number)
    all_.store.buckets[bucket].children += 1
    return int(number)


@numba.njit(cache=True, nogil=True)
def structure_of(all_: Structures, bucket: int, axis: int) -> int:
    """The structure of an axis that a bucket owns, -1 if there is none."""
    return look_up(all_.owned, bucket, axis)


@numba.njit(cache=True, nogil=True)
def _bucket_for(all_: Structures, number: int) -> int:
    all_.structures[number].buckets += 1
    return new_bucket(all_.store, number)


@numba.njit(cache=True, nogil=True)
def new_hull(all_: Structures, number: int, bucket: int, end: int, start: int, low: int) -> int:
    """Give a bucket that has no point one in the tree of its structure; a new bucket if it is -1."""
    if bucket < 0:
        bucket = _bucket_for(all_, number)
    structure, mine = all_.structures[number], all_.store.buckets[bucket]
    mine.end, mine.start, mine.low = end, start, low
    structure.root = priority_tree.insert(all_.points, int(structure.root), end, start, low, bucket)
    return bucket


@numba.njit(cache=True, nogil=True)
def move_hull(all_: Structures, number: int, bucket: int, end: int, start: int, low: int) -> None:
    """Give a bucket another point."""
    structure, mine = all_.structures[number], all_.store.buckets[bucket]
    structure.root = priority_tree.delete(all_.points, int(structure.root), mine.end, mine.start)
    new_hull(all_, number, bucket, end, start, low)


@numba.njit(cache=True, nogil=True)
def _hull_for(all_: Structures, number: int, low: int, high: int) -> int:
    """The bucket of hulls for a range: that of the least (end, start) which is not below it."""
    root = int(all_.structures[number].root)
    bucket = priority_tree.successor(all_.points, root, high, low)
    if bucket >= 0:
        mine = all_.store.buckets[bucket]
        if mine.frozen == 0:
            if low < mine.low:
                move_hull(all_, number, bucket, mine.end, mine.start, low)
            return bucket
        if mine.end == high and mine.start == low:
            return bucket
        # A frozen bucket keeps its one range; what is between it and the bucket before has a bucket of its own.
        end, start = (mine.end, mine.start - 1) if mine.start > LEAST else (mine.end - 1, MOST)
        return new_hull(all_, number, -1, end, start, low)
    bucket = priority_tree.last(all_.points, root)
    if bucket >= 0 and all_.store.buckets[bucket].frozen == 0:
        move_hull(all_, number, bucket, high, low, min(low, all_.store.buckets[bucket].low))
        return bucket
    return new_hull(all_, number, -1, high, low, low)


@numba.njit(cache=True, nogil=True)
def _half_for(all_: Structures, number: int, low: int, high: int) -> int:
    """The bucket of an interval tree for a range."""
    structure = all_.structures[number]
    node = interval_tree.find(all_.intervals, int(structure.root), low, high)
    if structure.kind == HALVES_BY_RANGE and interval_tree.is_closed(all_.intervals, node):
        bucket = interval_tree.range_bucket(all_.intervals, node, low, high)
        if bucket < 0:
            bucket = _bucket_for(all_, number)
            interval_tree.put_range(all_.intervals, node, low, high, bucket)
            mine = all_.store.buckets[bucket]
            mine.node, mine.start, mine.end, mine.frozen = node, low, high, 1
        return bucket
    bucket = interval_tree.bucket_of(all_.intervals, node)
    if bucket < 0:
        bucket = _bucket_for(all_, number)
        interval_tree.set_bucket(all_.intervals, node, bucket)
        all_.store.buckets[bucket].node = node
    return bucket


@numba.njit(cache=True, nogil=True)
def bucket_for(all_: Structures, number: int, low: int, high: int) -> int:
    """The bucket of a structure for a range; made if it is missing."""
    structure = all_.structures[number]
    kind = structure.kind
    if kind == OPEN or (kind == HASH and low != high):
        if structure.open < 0:
            bucket = _bucket_for(all_, number)
            structure.open = bucket
            all_.store.buckets[bucket].frozen = kind == HASH
        return int(structure.open)
    if kind == HASH:
        bucket = look_up(all_.equal, number, low)
        if bucket < 0:
            bucket = _bucket_for(all_, number)
            mine = all_.store.buckets[bucket]
            mine.low, mine.frozen = low, 1
            set_value(all_.equal, number, low, bucket)
        return bucket
    if kind == HULLS:
        return _hull_for(all_, number, low, high)
    if kind == POINTS:
        bucket = priority_tree.exact(all_.points, int(structure.root), high, low)
        if bucket < 0:
            bucket = new_hull(all_, number, -1, high, low, low)
            all_.store.buckets[bucket].frozen = 1
        return bucket
    return _half_for(all_, number, low, high)


@numba.njit(cache=True, nogil=True)
def drop_bucket(all_: Structures, bucket: int) -> int:
    """Remove a bucket that is empty and owns nothing; gives its structure."""
    mine = all_.store.buckets[bucket]
    number = int(mine.home)
    structure = all_.structures[number]
    kind = structure.kind
    if structure.open == bucket:
        structure.open = -1
    elif kind == HASH:
        remove_key(all_.equal, number, mine.low)
    elif kind in (POINTS, HULLS):
        structure.root = priority_tree.delete(all_.points, int(structure.root), mine.end, mine.start)
    elif kind in (HALVES, HALVES_BY_RANGE):
        if interval_tree.bucket_of(all_.intervals, int(mine.node)) == bucket:
            interval_tree.set_bucket(all_.intervals, int(mine.node), -1)
        else:
            interval_tree.take_range(all_.intervals, int(mine.node), mine.start, mine.end)
        structure.root = interval_tree.prune(all_.intervals, int(structure.root), int(mine.node))
    structure.buckets -= 1
    free_bucket(all_.store, bucket)
    return number


@numba.njit(cache=True, nogil=True)
def drop_if_empty(all_: Structures, bucket: int) -> None:
    """Remove a bucket, its structure, the bucket above and so on, for as long as they have nothing left."""
    while bucket and all_.store.buckets[bucket].count == 0 and all_.store.buckets[bucket].children == 0:
        number = drop_bucket(all_, bucket)
        structure = all_.structures[number]
        if structure.buckets:
            return
        bucket = int(structure.parent)
        remove_key(all_.owned, bucket, structure.axis)
        structure.parent = all_.free
        all_.free = number
        all_.count -= 1
        all_.store.buckets[bucket].children -= 1


@numba.njit(cache=True, nogil=True)
def buckets_at(all_: Structures, number: int, value: int, tests: Shorts, out: Shorts) -> tuple[int, int]:
    """Write the buckets of a structure that may have terms whose sides hold a value; gives how many, and steps.

    Args:
        all_: Of the index.
        number: Of the structure.
        value: Of its axis.
        tests: That hold, if the axis is that of tests.
        out: Where the buckets go.
    """
    structure = all_.structures[number]
    kind = structure.kind
    count, steps = 0, 1
    if structure.open >= 0:
        out[count] = structure.open
        count += 1
    if kind == HASH:
        if structure.axis == TESTS:
            steps = len(tests)
            for test in tests:
                bucket = look_up(all_.equal, number, test)
                if bucket >= 0:
                    out[count] = bucket
                    count += 1
        else:
            bucket = look_up(all_.equal, number, value)
            if bucket >= 0:
                out[count] = bucket
                count += 1
    elif kind in (POINTS, HULLS):
        count, steps = priority_tree.query(all_.points, int(structure.root), value, out, count)
    elif kind != OPEN:
        count, steps = interval_tree.query(all_.intervals, int(structure.root), value, out, count)
    return count, steps
