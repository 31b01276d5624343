"""Buckets of terms (paper, 3.2.2), in entries that exclude most terms without a look at their boxes.

An entry has a term and its next side: the one on the first axis behind that of the structure which the bucket
belongs to. Large buckets are sorted by the axis of entries and the low end:

    group of axis 4: low 1 | low 3 | low 9      group of axis 7: low 0 | low 2      group NONE: no next side

A row that has axis 4 with the value 5 scans the first two entries there, skips the group of axis 7 if it lacks
that axis, and always scans the last group. Small buckets take entries as they come and are scanned as a whole.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, Structs
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.boxes.kernels.boxes import (
    AXIS,
    HEAD,
    HIGH,
    LOW,
    SIDE,
    TESTS,
    Boxes,
    RowView,
    has_residue,
    residue_holds,
    side_count,
)
from tamis.lab.boxes.kernels.rows import ABSENT, RowValues
from tamis.lab.dynamic.kernels.predicates import Predicates

NONE = np.iinfo(np.int32).max
"""The axis of an entry whose term has no next side; behind all others."""
ENTRY = np.dtype([("axis", np.int64), ("first", np.int64), ("low", np.int64), ("high", np.int64)])
"""An entry: the axis of the next side of a term, where the sides of the term begin, and the ends of that side."""
BUCKET = np.dtype(
    [
        ("head", np.int64),
        ("count", np.int32),
        ("power", np.int32),
        ("home", np.int32),
        ("children", np.int32),
        ("node", np.int32),
        ("frozen", np.int32),
        ("end", np.int64),
        ("start", np.int64),
        ("low", np.int64),
    ]
)
"""A bucket: where its entries begin, how many, with room for which power of two; its structure (of a free bucket:
the next free one) and how many structures it owns; what its structure keeps here: a node, whether it is frozen,
and a point."""
_POWERS = 40
_LEAST_POWER = 2
_SCAN_SHARE = 16
"""A sorted bucket is scanned as a whole if it has fewer entries than this for each value of a row."""


@struct
class BucketPool(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_pool`; only compiled code reads its fields.

    buckets: BUCKET[...]; made, free, count: ever made, a free one or -1, in use.
    entries: ENTRY[...]; used: ever used; gaps: int64[powers]: a free range or -1, whose first `low` names the
        next.
    is_sorted: 1 if buckets are large.
    homes: int32[terms]: the bucket of each.
    """

    buckets: Structs
    made: int
    free: int
    count: int
    entries: Structs
    used: int
    gaps: I64
    is_sorted: int
    homes: I32


@kernel
def empty_pool(is_sorted: int) -> BucketPool:
    return BucketPool(
        *(np.empty(16, BUCKET), 0, -1, 0),
        *(np.empty(64, ENTRY), 0, np.full(_POWERS, -1, np.int64)),
        is_sorted,
        np.empty(0, np.int32),
    )


@kernel
def new_bucket(pool: BucketPool, home: int) -> int:
    """Make an empty bucket of a structure."""
    if pool.free >= 0:
        number = pool.free
        pool.free = int(pool.buckets[number].home)
    else:
        number = pool.made
        pool.made += 1
        if number == len(pool.buckets):
            pool.buckets = grow(pool.buckets, number + number // 2)
    pool.count += 1
    bucket = pool.buckets[number]
    bucket.head, bucket.count, bucket.power, bucket.home = -1, 0, -1, home
    bucket.children, bucket.node, bucket.frozen = 0, -1, 0
    bucket.end, bucket.start, bucket.low = 0, 0, 0
    return int(number)


@kernel
def _free(pool: BucketPool, head: int, power: int) -> None:
    pool.entries[head].low = pool.gaps[power]
    pool.gaps[power] = head


@kernel
def _allocate(pool: BucketPool, power: int) -> int:
    head = pool.gaps[power]
    if head >= 0:
        pool.gaps[power] = pool.entries[head].low
        return int(head)
    head = pool.used
    pool.used += 1 << power
    if pool.used > len(pool.entries):
        pool.entries = grow(pool.entries, max(pool.used, len(pool.entries) + len(pool.entries) // 2))
    return int(head)


@kernel
def free_bucket(pool: BucketPool, number: int) -> None:
    """Free a bucket, which is empty."""
    bucket = pool.buckets[number]
    if bucket.power >= 0:
        _free(pool, bucket.head, bucket.power)
    bucket.home = pool.free
    pool.free = int(number)
    pool.count -= 1


@kernel
def _lower_bound(pool: BucketPool, head: int, count: int, axis: int, low: int) -> int:
    """The first entry of a sorted bucket that is not before (axis, low)."""
    first, last = head, head + count
    entries = pool.entries
    while first < last:
        middle = (first + last) >> 1
        entry = entries[middle]
        if entry.axis < axis or (entry.axis == axis and entry.low < low):
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def add_entry(pool: BucketPool, number: int, boxes: Boxes, term: int, side: tuple[int, int, int]) -> None:
    """Add a term with its next side to a bucket, beyond any capacity if needed."""
    axis, low, high = side
    bucket = pool.buckets[number]
    if bucket.power < 0:
        bucket.power = _LEAST_POWER
        bucket.head = _allocate(pool, _LEAST_POWER)
    elif bucket.count == 1 << bucket.power:
        longer = _allocate(pool, bucket.power + 1)
        for place in range(bucket.count):
            pool.entries[longer + place] = pool.entries[bucket.head + place]
        _free(pool, bucket.head, bucket.power)
        bucket.head = longer
        bucket.power += 1
    end = bucket.head + bucket.count
    place = _lower_bound(pool, bucket.head, bucket.count, axis, low) if pool.is_sorted else end
    entries = pool.entries
    for at in range(end, place, -1):
        entries[at] = entries[at - 1]
    entry = entries[place]
    entry.axis, entry.first, entry.low, entry.high = axis, boxes.firsts[term], low, high
    bucket.count += 1
    if term >= len(pool.homes):
        pool.homes = grow(pool.homes, term + term // 2 + 16)
    pool.homes[term] = number


@kernel
def remove_at(pool: BucketPool, number: int, place: int) -> None:
    """Remove the entry at a place of a bucket, counted from its first."""
    bucket = pool.buckets[number]
    entries = pool.entries
    last = bucket.head + bucket.count - 1
    if pool.is_sorted:
        for at in range(bucket.head + place, last):
            entries[at] = entries[at + 1]
    else:
        entries[bucket.head + place] = entries[last]
    bucket.count -= 1


@kernel
def remove_term(pool: BucketPool, number: int, boxes: Boxes, term: int, side: tuple[int, int, int]) -> None:
    """Remove a term with this next side."""
    axis, low, _ = side
    bucket = pool.buckets[number]
    place = _lower_bound(pool, bucket.head, bucket.count, axis, low) if pool.is_sorted else int(bucket.head)
    while pool.entries[place].first != boxes.firsts[term]:
        place += 1
    remove_at(pool, number, place - bucket.head)


@kernel
def _sides_hold(cells: I64, first: int, head: int, view: RowView) -> bool:
    """Does a row satisfy all sides of the term with this head?

    A missing value is less than nearly every low end, so that `there` is seldom read.
    """
    values, there, tested = view
    for at in range(first, first + SIDE * side_count(head), SIDE):
        axis = cells[at + AXIS]
        if axis == TESTS:
            if tested[cells[at + LOW]] == 0:
                return False
            continue
        value = values[axis]
        if value < cells[at + LOW] or value > cells[at + HIGH] or (value == ABSENT and there[axis] == 0):
            return False
    return True


@kernel
def scan_bucket(
    pool: BucketPool,
    number: int,
    boxes: Boxes,
    predicates: Predicates,
    rows: RowValues,
    part: tuple[int, int],
    view: RowView,
    found: I64,
    count: int,
    work: I64,
) -> int:
    """Append the heads of the terms of a bucket that hold to `found[:count]`; returns the new count.

    Args:
        pool: All buckets.
        number: The bucket.
        boxes: All boxes.
        predicates: The interned predicates.
        rows: The rows of the batch.
        part: The values of the row whose axes entries may have: from the first up to the last.
        view: The row by axis.
        found: int64[...]: the output.
        count: How many heads it has already.
        work: Entries scanned and boxes verified are added to the first two.
    """
    bucket, entries, cells = pool.buckets[number], pool.entries, boxes.cells
    values, there, tested = view
    head, end = bucket.head, bucket.head + bucket.count
    candidates = 0
    if pool.is_sorted == 0 or bucket.count < _SCAN_SHARE * (part[1] - part[0]):
        work[0] += bucket.count
        for at in range(head, end):
            entry = entries[at]
            axis = entry.axis
            if axis == TESTS:
                if tested[entry.low] == 0:
                    continue
            elif axis != NONE and (there[axis] == 0 or values[axis] < entry.low or values[axis] > entry.high):
                continue
            candidates += 1
            term = cells[entry.first + HEAD]
            if _sides_hold(cells, entry.first, term, view) and (
                not has_residue(term) or residue_holds(boxes, predicates, entry.first, view)
            ):
                found[count] = term
                count += 1
        work[1] += candidates
        return count
    for place in range(part[0], part[1] + 1):
        is_last = place == part[1]
        axis, value = (NONE, 0) if is_last else (np.int64(rows.axes[place]), rows.values[place])
        at = _lower_bound(pool, head, bucket.count, axis, np.iinfo(np.int64).min)
        start = at
        while at < end and entries[at].axis == axis:
            entry = entries[at]
            at += 1
            if axis == TESTS:
                if tested[entry.low] == 0:
                    continue
            elif not is_last:
                if entry.low > value:
                    at -= 1
                    break
                if entry.high < value:
                    continue
            candidates += 1
            term = cells[entry.first + HEAD]
            if _sides_hold(cells, entry.first, term, view) and (
                not has_residue(term) or residue_holds(boxes, predicates, entry.first, view)
            ):
                found[count] = term
                count += 1
        work[0] += at - start
    work[1] += candidates
    return count


@kernel
def pool_bytes(pool: BucketPool) -> tuple[int, int]:
    """Bytes of buckets, and of their entries, free ones included."""
    return pool.made * pool.buckets.itemsize + pool.homes.nbytes, pool.used * pool.entries.itemsize
