"""Buckets of terms: what each holds, in entries that say at a glance which terms are not worth a look.

An entry has a term and its next side: the one on the axis that follows, in the order of axes, that of the
structure which the bucket belongs to. Large buckets are sorted by the axis of entries and the low end, so that
only the groups of an event's own axes are looked at, and of each only what begins at its value or below. Small
ones take entries as they come.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.boxes.rows import ABSENT, Rows
from tamis.engines.boxes.sides import (
    AXIS,
    HEAD,
    HIGH,
    LOW,
    SIDE,
    TESTS,
    Boxes,
    View,
    has_others,
    others_hold,
    sides_in,
)
from tamis.engines.dynamic.predicates import Predicates
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Ints: TypeAlias = npt.NDArray[np.int64]
Records: TypeAlias = npt.NDArray[np.void]
Shorts: TypeAlias = npt.NDArray[np.int32]

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
"""A bucket: where its entries are, how many, with room for which power of two; its structure (of a free bucket:
the next free one) and how many structures it owns; what its structure knows of it: a node, whether it can never be
divided again, and a point."""
_POWERS = 40
_LEAST_POWER = 2
_GLANCE = 16
"""A sorted bucket is looked through from end to end if it has fewer entries than this for each value of a row."""


@struct
class Store(structref.StructRefProxy):  # type: ignore[misc]
    """What `store_of` gives; only compiled code looks into it.

    buckets: BUCKET[...]; made, free, count: ever made, a free one or -1, in use.
    entries: ENTRY[...]; used: ever used; gaps: int64[powers]: a free place or -1, whose first `low` is the next.
    is_sorted: 1 if buckets are large.
    homes: int32[terms]: the bucket of each.
    """

    buckets: Records
    made: int
    free: int
    count: int
    entries: Records
    used: int
    gaps: Ints
    is_sorted: int
    homes: Shorts


@numba.njit(cache=True, nogil=True)
def store_of(is_sorted: int) -> Store:
    """No buckets yet."""
    return Store(
        *(np.empty(16, BUCKET), 0, -1, 0),
        *(np.empty(64, ENTRY), 0, np.full(_POWERS, -1, np.int64)),
        is_sorted,
        np.empty(0, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def new_bucket(store: Store, home: int) -> int:
    """An empty bucket of a structure."""
    if store.free >= 0:
        number = store.free
        store.free = int(store.buckets[number].home)
    else:
        number = store.made
        store.made += 1
        if number == len(store.buckets):
            store.buckets = grown(store.buckets, number + number // 2)
    store.count += 1
    bucket = store.buckets[number]
    bucket.head, bucket.count, bucket.power, bucket.home = -1, 0, -1, home
    bucket.children, bucket.node, bucket.frozen = 0, -1, 0
    bucket.end, bucket.start, bucket.low = 0, 0, 0
    return int(number)


@numba.njit(cache=True, nogil=True)
def _give_place(store: Store, head: int, power: int) -> None:
    store.entries[head].low = store.gaps[power]
    store.gaps[power] = head


@numba.njit(cache=True, nogil=True)
def _take_place(store: Store, power: int) -> int:
    head = store.gaps[power]
    if head >= 0:
        store.gaps[power] = store.entries[head].low
        return int(head)
    head = store.used
    store.used += 1 << power
    if store.used > len(store.entries):
        store.entries = grown(store.entries, max(store.used, len(store.entries) + len(store.entries) // 2))
    return int(head)


@numba.njit(cache=True, nogil=True)
def free_bucket(store: Store, number: int) -> None:
    """Forget a bucket, which is empty."""
    bucket = store.buckets[number]
    if bucket.power >= 0:
        _give_place(store, bucket.head, bucket.power)
    bucket.home = store.free
    store.free = int(number)
    store.count -= 1


@numba.njit(cache=True, nogil=True)
def _place_for(store: Store, head: int, count: int, axis: int, low: int) -> int:
    """The first place of a sorted bucket whose entry is not before (axis, low)."""
    first, last = head, head + count
    entries = store.entries
    while first < last:
        middle = (first + last) >> 1
        entry = entries[middle]
        if entry.axis < axis or (entry.axis == axis and entry.low < low):
            first = middle + 1
        else:
            last = middle
    return first


@numba.njit(cache=True, nogil=True)
def add_entry(store: Store, number: int, boxes: Boxes, term: int, side: tuple[int, int, int]) -> None:
    """Put a term with its next side into a bucket, beyond any capacity if need be."""
    axis, low, high = side
    bucket = store.buckets[number]
    if bucket.power < 0:
        bucket.power = _LEAST_POWER
        bucket.head = _take_place(store, _LEAST_POWER)
    elif bucket.count == 1 << bucket.power:
        longer = _take_place(store, bucket.power + 1)
        for place in range(bucket.count):
            store.entries[longer + place] = store.entries[bucket.head + place]
        _give_place(store, bucket.head, bucket.power)
        bucket.head = longer
        bucket.power += 1
    end = bucket.head + bucket.count
    place = _place_for(store, bucket.head, bucket.count, axis, low) if store.is_sorted else end
    entries = store.entries
    for at in range(end, place, -1):
        entries[at] = entries[at - 1]
    entry = entries[place]
    entry.axis, entry.first, entry.low, entry.high = axis, boxes.firsts[term], low, high
    bucket.count += 1
    if term >= len(store.homes):
        store.homes = grown(store.homes, term + term // 2 + 16)
    store.homes[term] = number


@numba.njit(cache=True, nogil=True)
def remove_at(store: Store, number: int, place: int) -> None:
    """Take out the entry at a place of a bucket, counted from its first."""
    bucket = store.buckets[number]
    entries = store.entries
    last = bucket.head + bucket.count - 1
    if store.is_sorted:
        for at in range(bucket.head + place, last):
            entries[at] = entries[at + 1]
    else:
        entries[bucket.head + place] = entries[last]
    bucket.count -= 1


@numba.njit(cache=True, nogil=True)
def remove_term(store: Store, number: int, boxes: Boxes, term: int, side: tuple[int, int, int]) -> None:
    """Take out a term with this next side."""
    axis, low, _ = side
    bucket = store.buckets[number]
    place = _place_for(store, bucket.head, bucket.count, axis, low) if store.is_sorted else int(bucket.head)
    while store.entries[place].first != boxes.firsts[term]:
        place += 1
    remove_at(store, number, place - bucket.head)


@numba.njit(cache=True, nogil=True)
def _sides_hold(cells: Ints, first: int, head: int, view: View) -> bool:
    """Does a row satisfy all sides of the term with this head?

    A value that is absent is less than nearly every low end, so that whether it is there is seldom asked.
    """
    values, there, tested = view
    for at in range(first, first + SIDE * sides_in(head), SIDE):
        axis = cells[at + AXIS]
        if axis == TESTS:
            if tested[cells[at + LOW]] == 0:
                return False
            continue
        value = values[axis]
        if value < cells[at + LOW] or value > cells[at + HIGH] or (value == ABSENT and there[axis] == 0):
            return False
    return True


@numba.njit(cache=True, nogil=True)
def look_through(
    store: Store,
    number: int,
    boxes: Boxes,
    predicates: Predicates,
    rows: Rows,
    part: tuple[int, int],
    view: View,
    found: Ints,
    count: int,
    work: Ints,
) -> int:
    """Write the heads of the terms of a bucket that hold; gives how many there are then.

    Args:
        store: Of all buckets.
        number: Of the bucket.
        boxes: Of the index.
        predicates: Of the index.
        rows: Of the batch.
        part: Of the row, the values on axes that may be those of entries: from the first up to the last.
        view: Of the row, empty where it shows nothing.
        found: Where they go, behind the first `count`.
        count: How many are there already.
        work: Entries looked at and boxes looked at are added to the first two.
    """
    bucket, entries, cells = store.buckets[number], store.entries, boxes.cells
    values, there, tested = view
    head, end = bucket.head, bucket.head + bucket.count
    candidates = 0
    if store.is_sorted == 0 or bucket.count < _GLANCE * (part[1] - part[0]):
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
                not has_others(term) or others_hold(boxes, predicates, entry.first, view)
            ):
                found[count] = term
                count += 1
        work[1] += candidates
        return count
    for place in range(part[0], part[1] + 1):
        is_last = place == part[1]
        axis, value = (NONE, 0) if is_last else (np.int64(rows.axes[place]), rows.values[place])
        at = _place_for(store, head, bucket.count, axis, np.iinfo(np.int64).min)
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
                not has_others(term) or others_hold(boxes, predicates, entry.first, view)
            ):
                found[count] = term
                count += 1
        work[0] += at - start
    work[1] += candidates
    return count


@numba.njit(cache=True, nogil=True)
def store_bytes(store: Store) -> tuple[int, int]:
    """Of buckets, and of their entries, free places included."""
    return store.made * store.buckets.itemsize + store.homes.nbytes, store.used * store.entries.itemsize
