"""The kernels of `buckets`: terms in and out of structures, and what a batch finds.

A term is filed under its first side, in the structure of that axis which the header owns. A full bucket is
divided; if it cannot be, it owns structures for the next sides of its terms. Axes follow their order along every
way down.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.boxes.rows import Rows, empty_view, hide_row, show_row
from tamis.engines.boxes.sides import AXIS, HIGH, LOW, SIDE, Boxes, head_at, holds_at, lay_out, term_at
from tamis.engines.buckets import interval_tree
from tamis.engines.buckets.priority_tree import point_bytes
from tamis.engines.buckets.store import (
    NONE,
    add_entry,
    free_bucket,
    look_through,
    remove_at,
    remove_term,
    store_bytes,
)
from tamis.engines.buckets.structures import (
    HALVES_BY_RANGE,
    HASH,
    HULLS,
    LEAST,
    MOST,
    OPEN,
    POINTS,
    Structures,
    bucket_for,
    buckets_at,
    drop_if_empty,
    move_hull,
    new_hull,
    new_structure,
    structure_of,
    structures_of,
)
from tamis.engines.buckets.table import table_bytes
from tamis.engines.dynamic.bags import Bags, bags_of, numbers_in, put_in, take_out
from tamis.engines.dynamic.predicates import Predicates
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]

HEADER = 0
ENTRIES, CHECKS, STRUCTURES, STEPS, BUCKETS, FOUND = range(6)
"""Kinds of work: entries and boxes looked at, structures asked, steps in them, buckets looked at, terms that
hold."""


@struct
class Organisation(structref.StructRefProxy):  # type: ignore[misc]
    """What `organisation_of` gives; only compiled code looks into it.

    structures: all of them, and their buckets.
    capacity: how many terms a bucket has before it is divided.
    always: bag 0 has the terms without sides.
    domains: int64[axes + 1, 2]: the least and the greatest end of any side so far, that of tests first.
    waiting, homes, count: terms to be placed in structures, and how many.
    work: int64[6].
    room: how many pairs the last batch had, and so may the next.
    """

    structures: Structures
    capacity: int
    always: Bags
    domains: Ints
    waiting: Shorts
    homes: Shorts
    count: int
    work: Ints
    room: int


@numba.njit(cache=True, nogil=True)
def organisation_of(capacity: int, is_sorted: int, kinds: Bytes) -> Organisation:
    """Of no terms; `kinds` are those of axes, that of tests first."""
    none = np.empty(16, np.int32)
    work = np.zeros(6, np.int64)
    all_ = structures_of(is_sorted, kinds)
    return Organisation(all_, capacity, bags_of(1), _no_domains(len(kinds)), none, none.copy(), 0, work, 1024)


@numba.njit(cache=True, nogil=True)
def _no_domains(count: int) -> Ints:
    found = np.empty((count, 2), np.int64)
    found[:, 0], found[:, 1] = MOST, LEAST
    return found


@numba.njit(cache=True, nogil=True)
def set_kinds(own: Organisation, kinds: Bytes) -> None:
    """Let structures of axes get these kinds from now on."""
    own.structures.kinds = kinds
    if len(kinds) > len(own.domains):
        domains = _no_domains(len(kinds))
        domains[: len(own.domains)] = own.domains
        own.domains = domains


@numba.njit(cache=True, nogil=True)
def organisation_counts(own: Organisation) -> tuple[int, int, int, int]:
    """Terms without sides, structures, buckets, and entries for which there is room."""
    all_ = own.structures
    return int(own.always.counts[0]), all_.count, all_.store.count - 1, all_.store.used


@numba.njit(cache=True, nogil=True)
def organisation_bytes(own: Organisation) -> tuple[int, int, int, int, int]:
    """Of structures, of their tables, of trees, of buckets, and of entries."""
    all_ = own.structures
    buckets, entries = store_bytes(all_.store)
    return (
        all_.made * all_.structures.itemsize,
        table_bytes(all_.owned) + table_bytes(all_.equal),
        point_bytes(all_.points) + interval_tree.interval_bytes(all_.intervals),
        buckets,
        entries,
    )


@numba.njit(cache=True, nogil=True)
def organisation_work(own: Organisation) -> Ints:
    """What was done since this was asked last."""
    done = own.work.copy()
    own.work[:] = 0
    return done


@numba.njit(cache=True, nogil=True)
def _let_wait(own: Organisation, term: int, structure: int) -> None:
    if own.count == len(own.waiting):
        own.waiting, own.homes = grown(own.waiting, 2 * own.count), grown(own.homes, 2 * own.count)
    own.waiting[own.count], own.homes[own.count] = term, structure
    own.count += 1


@numba.njit(cache=True, nogil=True)
def _side_on(boxes: Boxes, term: int, axis: int) -> int:
    """The cell of a term's side on an axis, the first if there are several; -1 if there is none."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if boxes.cells[at + AXIS] == axis:
            return at
    return -1


@numba.njit(cache=True, nogil=True)
def _next_side(boxes: Boxes, term: int, axis: int) -> tuple[int, int, int]:
    """Axis and ends of the side that follows those on an axis, NONE if there is none."""
    rank = boxes.ranks[axis + 1]
    first = boxes.firsts[term]
    cells = boxes.cells
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if boxes.ranks[cells[at + AXIS] + 1] > rank:
            return cells[at + AXIS], cells[at + LOW], cells[at + HIGH]
    return NONE, 0, 0


@numba.njit(cache=True, nogil=True)
def _owned(own: Organisation, boxes: Boxes, bucket: int, axis: int) -> int:
    """The structure of an axis that a bucket owns; if it is new, what the bucket has on the axis moves there."""
    all_ = own.structures
    number = structure_of(all_, bucket, axis)
    if number >= 0:
        return number
    number = new_structure(all_, bucket, axis)
    store = all_.store
    for place in range(store.buckets[bucket].count - 1, -1, -1):
        term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
        if _side_on(boxes, term, axis) >= 0:
            remove_at(store, bucket, place)
            _let_wait(own, term, number)
    return number


@numba.njit(cache=True, nogil=True)
def _send_all(own: Organisation, boxes: Boxes, bucket: int, structure: int) -> None:
    """Let all terms of a bucket be placed again."""
    store = own.structures.store
    for place in range(store.buckets[bucket].count):
        _let_wait(own, term_at(boxes, store.entries[store.buckets[bucket].head + place].first), structure)
    store.buckets[bucket].count = 0


@numba.njit(cache=True, nogil=True)
def _index(own: Organisation, boxes: Boxes, number: int) -> bool:
    """Give a structure that has an open bucket its index; is the bucket gone, and all its terms wait?"""
    all_ = own.structures
    structure = all_.structures[number]
    bucket, axis = int(structure.open), int(structure.axis)
    structure.kind, structure.open = all_.kinds[axis + 1], -1
    kind = structure.kind
    store = all_.store
    if kind in (HASH, POINTS):
        _send_all(own, boxes, bucket, number)
        structure.buckets -= 1
        free_bucket(store, bucket)
        return True
    if kind == HULLS:
        least, end, start = MOST, LEAST, LEAST
        for place in range(store.buckets[bucket].count):
            at = _side_on(boxes, term_at(boxes, store.entries[store.buckets[bucket].head + place].first), axis)
            first, last = boxes.cells[at + LOW], boxes.cells[at + HIGH]
            least = min(least, first)
            if last > end or (last == end and first > start):
                end, start = last, first
        new_hull(all_, number, bucket, end, start, least)
    else:
        low, high = own.domains[axis + 1]
        if low > high:
            low, high = LEAST, MOST
        node = interval_tree.plant(all_.intervals, low, high)
        structure.root = node
        interval_tree.set_bucket(all_.intervals, node, bucket)
        store.buckets[bucket].node = node
    return False


@numba.njit(cache=True, nogil=True)
def _halve(own: Organisation, boxes: Boxes, number: int, bucket: int) -> None:
    """Close the node of a bucket; what does not stay in it waits."""
    all_ = own.structures
    store, node = all_.store, int(all_.store.buckets[bucket].node)
    axis, kind = int(all_.structures[number].axis), all_.structures[number].kind
    interval_tree.close(all_.intervals, node)
    for place in range(store.buckets[bucket].count - 1, -1, -1):
        term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
        at = _side_on(boxes, term, axis)
        low, high = boxes.cells[at + LOW], boxes.cells[at + HIGH]
        if kind == HALVES_BY_RANGE or not interval_tree.holds_middle(all_.intervals, node, low, high):
            remove_at(store, bucket, place)
            _let_wait(own, term, number)
    if store.buckets[bucket].count:
        store.buckets[bucket].frozen = 1
    else:
        interval_tree.set_bucket(all_.intervals, node, -1)
        all_.structures[number].buckets -= 1
        free_bucket(store, bucket)


@numba.njit(cache=True, nogil=True)
def _cut_hull(own: Organisation, boxes: Boxes, number: int, bucket: int) -> bool:
    """Send what is at or below the median range of a bucket to one of its own; False if all ranges are equal."""
    all_ = own.structures
    store, axis = all_.store, int(all_.structures[number].axis)
    count, head = store.buckets[bucket].count, store.buckets[bucket].head
    ends, starts = np.empty(count, np.int64), np.empty(count, np.int64)
    for place in range(count):
        at = _side_on(boxes, term_at(boxes, store.entries[head + place].first), axis)
        starts[place], ends[place] = boxes.cells[at + LOW], boxes.cells[at + HIGH]
    order = np.argsort(starts, kind="mergesort")
    order = order[np.argsort(ends[order], kind="mergesort")]
    # The last place at or before the middle after which another range begins; or the first such place behind it.
    cut = -1
    for at in range(count - 1):
        here, following = order[at], order[at + 1]
        if ends[here] != ends[following] or starts[here] != starts[following]:
            cut = at
            if at >= (count - 1) // 2:
                break
    if cut < 0:
        move_hull(all_, number, bucket, ends[0], starts[0], starts[0])
        store.buckets[bucket].frozen = 1
        return False
    last = order[cut]
    moves = np.zeros(count, np.uint8)
    least = starts[last]
    for at in range(cut + 1):
        moves[order[at]] = 1
        least = min(least, starts[order[at]])
    lower = new_hull(all_, number, -1, ends[last], starts[last], least)
    for place in range(count - 1, -1, -1):
        if moves[place]:
            term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
            remove_at(store, bucket, place)
            add_entry(store, lower, boxes, term, _next_side(boxes, term, axis))
    return True


@numba.njit(cache=True, nogil=True)
def _divided(own: Organisation, boxes: Boxes, number: int, bucket: int) -> bool:
    """Divide a full bucket; False if it can never be, and is frozen."""
    all_ = own.structures
    if all_.structures[number].kind == OPEN and _index(own, boxes, number):
        return True
    if all_.store.buckets[bucket].frozen:
        return False
    if all_.structures[number].kind == HULLS:
        return _cut_hull(own, boxes, number, bucket)
    _halve(own, boxes, number, bucket)
    return True


@numba.njit(cache=True, nogil=True)
def _place(own: Organisation, boxes: Boxes, term: int, number: int) -> None:
    """Put a term into a structure, or let it wait for another place."""
    all_ = own.structures
    store, axis = all_.store, int(all_.structures[number].axis)
    side = _side_on(boxes, term, axis)
    bucket = bucket_for(all_, number, boxes.cells[side + LOW], boxes.cells[side + HIGH])
    following = _next_side(boxes, term, axis)
    if store.buckets[bucket].count < own.capacity:
        add_entry(store, bucket, boxes, term, following)
        return
    if store.buckets[bucket].frozen == 0 and _divided(own, boxes, number, bucket):
        _let_wait(own, term, number)
        return
    if (
        store.buckets[bucket].frozen
        and bucket_for(all_, number, boxes.cells[side + LOW], boxes.cells[side + HIGH]) != bucket
    ):
        _let_wait(own, term, number)  # by freezing, the bucket has left the term's range to another
        return
    if following[0] != NONE:
        _let_wait(own, term, _owned(own, boxes, bucket, following[0]))
        return
    for place in range(store.buckets[bucket].count):
        entry = store.entries[store.buckets[bucket].head + place]
        if entry.axis != NONE:
            other, axis = term_at(boxes, entry.first), entry.axis
            remove_at(store, bucket, place)
            add_entry(store, bucket, boxes, term, following)
            _let_wait(own, other, _owned(own, boxes, bucket, axis))
            return
    add_entry(store, bucket, boxes, term, following)


@numba.njit(cache=True, nogil=True)
def _widen(own: Organisation, boxes: Boxes, terms: Shorts) -> None:
    """Take note of how far sides reach, before the first of them decides how far a tree does."""
    for term in terms:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            domain = own.domains[boxes.cells[at + AXIS] + 1]
            for end in (boxes.cells[at + LOW], boxes.cells[at + HIGH]):
                if LEAST < end < MOST:
                    domain[0], domain[1] = min(domain[0], end), max(domain[1], end)


@numba.njit(cache=True, nogil=True)
def put_terms(own: Organisation, boxes: Boxes, terms: Shorts) -> None:
    """File terms."""
    _widen(own, boxes, terms)
    for term in terms:
        if boxes.lengths[term] == 0:
            put_in(own.always, 0, term)
            continue
        _let_wait(own, term, _owned(own, boxes, HEADER, boxes.cells[boxes.firsts[term] + AXIS]))
        while own.count:
            own.count -= 1
            _place(own, boxes, own.waiting[own.count], own.homes[own.count])


@numba.njit(cache=True, nogil=True)
def lay_out_filed(own: Organisation, boxes: Boxes) -> None:
    """Put the boxes of all terms, all being filed, into the order in which buckets are looked through."""
    store = own.structures.store
    terms = np.empty(boxes.terms.count, np.int32)
    count = 0
    for bucket in store.buckets[: store.made]:
        for place in range(bucket.head, bucket.head + bucket.count):
            terms[count] = term_at(boxes, store.entries[place].first)
            count += 1
    for term in numbers_in(own.always, 0):
        terms[count] = term
        count += 1
    lay_out(boxes, terms)
    count = 0
    for bucket in store.buckets[: store.made]:
        for place in range(bucket.head, bucket.head + bucket.count):
            store.entries[place].first = boxes.firsts[terms[count]]
            count += 1


@numba.njit(cache=True, nogil=True)
def take_terms(own: Organisation, boxes: Boxes, terms: Shorts) -> None:
    """Take out terms that are filed."""
    all_ = own.structures
    store = all_.store
    for term in terms:
        if boxes.lengths[term] == 0:
            take_out(own.always, 0, term)
            continue
        bucket = int(store.homes[term])
        axis = int(all_.structures[store.buckets[bucket].home].axis)
        remove_term(store, bucket, boxes, term, _next_side(boxes, term, axis))
        drop_if_empty(all_, bucket)


@numba.njit(cache=True, nogil=True)
def match_terms(own: Organisation, boxes: Boxes, predicates: Predicates, rows: Rows) -> tuple[Shorts, Ints]:
    """Rows and the heads of terms that hold in them, in the order of rows."""
    all_ = own.structures
    store, work = all_.store, own.work
    view = empty_view(boxes, predicates)
    out = np.empty(store.made + 1, np.int32)
    ways, starts = np.empty(store.made + 1, np.int32), np.empty(store.made + 1, np.int64)
    always = numbers_in(own.always, 0)
    found_rows, heads = np.empty(own.room, np.int32), np.empty(own.room, np.int64)
    used = 0
    for row in range(len(rows.firsts) - 1):
        show_row(rows, row, view)
        before = used
        if used + len(always) > len(heads):
            heads = grown(heads, 2 * (used + len(always)))
        for term in always:
            if holds_at(boxes, predicates, boxes.firsts[term], view):
                heads[used] = head_at(boxes, boxes.firsts[term])
                used += 1
        end = rows.firsts[row + 1]
        tests = rows.tests[rows.test_firsts[row] : rows.test_firsts[row + 1]]
        ways[0], starts[0], ahead = HEADER, rows.firsts[row], 1
        while ahead:
            ahead -= 1
            bucket = ways[ahead]
            for at in range(starts[ahead], end):
                number = structure_of(all_, bucket, rows.axes[at])
                if number < 0:
                    continue
                work[STRUCTURES] += 1
                buckets, steps = buckets_at(all_, number, rows.values[at], tests, out)
                work[STEPS] += steps
                work[BUCKETS] += buckets
                for place in range(buckets):
                    below = out[place]
                    if used + store.buckets[below].count > len(heads):
                        heads = grown(heads, 2 * (used + store.buckets[below].count))
                    part = at + 1, end
                    used = look_through(store, below, boxes, predicates, rows, part, view, heads, used, work)
                    if store.buckets[below].children:
                        ways[ahead], starts[ahead] = below, at + 1
                        ahead += 1
        hide_row(rows, row, view)
        work[FOUND] += used - before
        if used > len(found_rows):
            found_rows = grown(found_rows, 2 * used)
        found_rows[before:used] = row
    own.room = used + used // 8 + 1024
    return found_rows[:used], heads[:used]
