"""The organisation of PUBSUB (paper, 3.1): terms in and out of structures, and the search of a batch.

    header --(item)--> structure --> bucket: terms on item            H: (bucket, axis) -> structure
                                 '-> frozen bucket --(price)--> structure --> buckets ...
           --(zoom)--> structure --> ...

A term goes to the structure of its first side, which the header owns. A full bucket is split; if it cannot be, it
owns structures for the next sides of its terms. Axes rise in their order along every path, so the search below a
bucket goes on with the next axis of the event.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.boxes.kernels.boxes import AXIS, HIGH, LOW, SIDE, Boxes, box_holds, head_at, reorder_boxes, term_at
from tamis.lab.boxes.kernels.rows import RowValues, empty_view, hide_row, show_row
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    postings_in,
    remove_posting,
)
from tamis.lab.dynamic.kernels.predicates import Predicates
from tamis.lab.mishra_sahni.buckets.kernels import interval_tree
from tamis.lab.mishra_sahni.buckets.kernels.bucket_pool import (
    NONE,
    add_entry,
    free_bucket,
    pool_bytes,
    remove_at,
    remove_term,
    scan_bucket,
)
from tamis.lab.mishra_sahni.buckets.kernels.hash_table import table_bytes
from tamis.lab.mishra_sahni.buckets.kernels.priority_search_tree import search_tree_bytes
from tamis.lab.mishra_sahni.buckets.kernels.structures import (
    HASH,
    IT_RANGE,
    LEAST,
    MOST,
    OPEN,
    RBPST_HULL,
    RBPST_RANGE,
    AttributeStructures,
    bucket_for,
    buckets_at,
    drop_if_empty,
    empty_structures,
    insert_hull,
    move_hull,
    new_structure,
    structure_of,
)

HEADER = 0
ENTRIES, CHECKS, STRUCTURES, STEPS, BUCKETS, FOUND = range(6)
"""Counts of work: entries scanned, boxes verified, structures queried, nodes visited in them, buckets scanned,
terms that held."""


@struct
class Organisation(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_organisation`; only compiled code reads its fields.

    structures: all of them, and their buckets.
    capacity: how many terms a bucket holds before it is split.
    always: list 0 has the terms without sides.
    domains: int64[axes + 1, 2]: the least and the greatest end of any side so far, of axis a at a + 1.
    waiting, homes, count: a stack of terms to be placed, each with its structure, and its height.
    work: int64[6].
    room: the length of result arrays, from the pairs of the last batch.
    """

    structures: AttributeStructures
    capacity: int
    always: PostingLists
    domains: I64
    waiting: I32
    homes: I32
    count: int
    work: I64
    room: int


@kernel
def empty_organisation(capacity: int, is_sorted: int, kinds: U8) -> Organisation:
    """An organisation without terms; `kinds` has the kind of axis a at a + 1."""
    none = np.empty(16, np.int32)
    work = np.zeros(6, np.int64)
    structures = empty_structures(is_sorted, kinds)
    return Organisation(
        structures, capacity, empty_posting_lists(1), _empty_domains(len(kinds)), none, none.copy(), 0, work, 1024
    )


@kernel
def _empty_domains(count: int) -> I64:
    found = np.empty((count, 2), np.int64)
    found[:, 0], found[:, 1] = MOST, LEAST
    return found


@kernel
def set_kinds(own: Organisation, kinds: U8) -> None:
    """Set the kinds of structures made from now on."""
    own.structures.kinds = kinds
    if len(kinds) > len(own.domains):
        domains = _empty_domains(len(kinds))
        domains[: len(own.domains)] = own.domains
        own.domains = domains


@kernel
def organisation_counts(own: Organisation) -> tuple[int, int, int, int]:
    """The number of terms without sides, structures, buckets, and of entries that buckets have room for."""
    structures = own.structures
    return int(own.always.counts[0]), structures.count, structures.store.count - 1, structures.store.used


@kernel
def organisation_bytes(own: Organisation) -> tuple[int, int, int, int, int]:
    """Bytes of structures, of their hash tables, of trees, of buckets, and of entries."""
    structures = own.structures
    buckets, entries = pool_bytes(structures.store)
    return (
        structures.made * structures.records.itemsize,
        table_bytes(structures.owned) + table_bytes(structures.equal),
        search_tree_bytes(structures.points) + interval_tree.interval_tree_bytes(structures.intervals),
        buckets,
        entries,
    )


@kernel
def take_work(own: Organisation) -> I64:
    """Counts of the work since the last call."""
    done = own.work.copy()
    own.work[:] = 0
    return done


@kernel
def _enqueue(own: Organisation, term: int, structure: int) -> None:
    if own.count == len(own.waiting):
        own.waiting, own.homes = grow(own.waiting, 2 * own.count), grow(own.homes, 2 * own.count)
    own.waiting[own.count], own.homes[own.count] = term, structure
    own.count += 1


@kernel
def _side_on(boxes: Boxes, term: int, axis: int) -> int:
    """Where the first side of a term on an axis begins; -1 if there is none."""
    first = boxes.firsts[term]
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if boxes.cells[at + AXIS] == axis:
            return at
    return -1


@kernel
def _next_side(boxes: Boxes, term: int, axis: int) -> tuple[int, int, int]:
    """Axis and ends of the first side of a term behind an axis; the axis NONE if there is none."""
    rank = boxes.ranks[axis + 1]
    first = boxes.firsts[term]
    cells = boxes.cells
    for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
        if boxes.ranks[cells[at + AXIS] + 1] > rank:
            return cells[at + AXIS], cells[at + LOW], cells[at + HIGH]
    return NONE, 0, 0


@kernel
def _child_structure(own: Organisation, boxes: Boxes, bucket: int, axis: int) -> int:
    """The structure of an axis that a bucket owns; a new one takes the terms of the bucket that have the axis."""
    structures = own.structures
    number = structure_of(structures, bucket, axis)
    if number >= 0:
        return number
    number = new_structure(structures, bucket, axis)
    store = structures.store
    for place in range(store.buckets[bucket].count - 1, -1, -1):
        term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
        if _side_on(boxes, term, axis) >= 0:
            remove_at(store, bucket, place)
            _enqueue(own, term, number)
    return number


@kernel
def _enqueue_all(own: Organisation, boxes: Boxes, bucket: int, structure: int) -> None:
    """Empty a bucket, and let all its terms be placed again."""
    store = own.structures.store
    for place in range(store.buckets[bucket].count):
        _enqueue(own, term_at(boxes, store.entries[store.buckets[bucket].head + place].first), structure)
    store.buckets[bucket].count = 0


@kernel
def _build_index(own: Organisation, boxes: Boxes, number: int) -> bool:
    """Give an open structure its index; True if that freed its bucket, whose terms wait to be placed."""
    structures = own.structures
    structure = structures.records[number]
    bucket, axis = int(structure.open), int(structure.axis)
    structure.kind, structure.open = structures.kinds[axis + 1], -1
    kind = structure.kind
    store = structures.store
    if kind in (HASH, RBPST_RANGE):
        _enqueue_all(own, boxes, bucket, number)
        structure.buckets -= 1
        free_bucket(store, bucket)
        return True
    if kind == RBPST_HULL:
        least, end, start = MOST, LEAST, LEAST
        for place in range(store.buckets[bucket].count):
            at = _side_on(boxes, term_at(boxes, store.entries[store.buckets[bucket].head + place].first), axis)
            first, last = boxes.cells[at + LOW], boxes.cells[at + HIGH]
            least = min(least, first)
            if last > end or (last == end and first > start):
                end, start = last, first
        insert_hull(structures, number, bucket, end, start, least)
    else:
        low, high = own.domains[axis + 1]
        if low > high:
            low, high = LEAST, MOST
        node = interval_tree.new_tree(structures.intervals, low, high)
        structure.root = node
        interval_tree.set_bucket(structures.intervals, node, bucket)
        store.buckets[bucket].node = node
    return False


@kernel
def _close_node(own: Organisation, boxes: Boxes, number: int, bucket: int) -> None:
    """Close the node of a bucket in an interval tree; terms that do not stay wait to be placed."""
    structures = own.structures
    store, node = structures.store, int(structures.store.buckets[bucket].node)
    axis, kind = int(structures.records[number].axis), structures.records[number].kind
    interval_tree.close(structures.intervals, node)
    for place in range(store.buckets[bucket].count - 1, -1, -1):
        term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
        at = _side_on(boxes, term, axis)
        low, high = boxes.cells[at + LOW], boxes.cells[at + HIGH]
        if kind == IT_RANGE or not interval_tree.holds_middle(structures.intervals, node, low, high):
            remove_at(store, bucket, place)
            _enqueue(own, term, number)
    if store.buckets[bucket].count:
        store.buckets[bucket].frozen = 1
    else:
        interval_tree.set_bucket(structures.intervals, node, -1)
        structures.records[number].buckets -= 1
        free_bucket(store, bucket)


@kernel
def _split_hull(own: Organisation, boxes: Boxes, number: int, bucket: int) -> bool:
    """Move the terms up to the median range of a bucket to a new one; False if all are equal: it is frozen."""
    structures = own.structures
    store, axis = structures.store, int(structures.records[number].axis)
    count, head = store.buckets[bucket].count, store.buckets[bucket].head
    ends, starts = np.empty(count, np.int64), np.empty(count, np.int64)
    for place in range(count):
        at = _side_on(boxes, term_at(boxes, store.entries[head + place].first), axis)
        starts[place], ends[place] = boxes.cells[at + LOW], boxes.cells[at + HIGH]
    order = np.argsort(starts, kind="mergesort")
    order = order[np.argsort(ends[order], kind="mergesort")]
    # The last place up to the middle after which another range begins, or the first such place behind it.
    cut = -1
    for at in range(count - 1):
        here, following = order[at], order[at + 1]
        if ends[here] != ends[following] or starts[here] != starts[following]:
            cut = at
            if at >= (count - 1) // 2:
                break
    if cut < 0:
        move_hull(structures, number, bucket, ends[0], starts[0], starts[0])
        store.buckets[bucket].frozen = 1
        return False
    last = order[cut]
    moves = np.zeros(count, np.uint8)
    least = starts[last]
    for at in range(cut + 1):
        moves[order[at]] = 1
        least = min(least, starts[order[at]])
    lower = insert_hull(structures, number, -1, ends[last], starts[last], least)
    for place in range(count - 1, -1, -1):
        if moves[place]:
            term = term_at(boxes, store.entries[store.buckets[bucket].head + place].first)
            remove_at(store, bucket, place)
            add_entry(store, lower, boxes, term, _next_side(boxes, term, axis))
    return True


@kernel
def _split_bucket(own: Organisation, boxes: Boxes, number: int, bucket: int) -> bool:
    """Split a full bucket; False if it can never be split, and is frozen."""
    structures = own.structures
    if structures.records[number].kind == OPEN and _build_index(own, boxes, number):
        return True
    if structures.store.buckets[bucket].frozen:
        return False
    if structures.records[number].kind == RBPST_HULL:
        return _split_hull(own, boxes, number, bucket)
    _close_node(own, boxes, number, bucket)
    return True


@kernel
def _place(own: Organisation, boxes: Boxes, term: int, number: int) -> None:
    """Place a term in a structure, or push it on the stack for another structure (Fig. 3)."""
    structures = own.structures
    store, axis = structures.store, int(structures.records[number].axis)
    side = _side_on(boxes, term, axis)
    bucket = bucket_for(structures, number, boxes.cells[side + LOW], boxes.cells[side + HIGH])
    following = _next_side(boxes, term, axis)
    if store.buckets[bucket].count < own.capacity:
        add_entry(store, bucket, boxes, term, following)
        return
    if store.buckets[bucket].frozen == 0 and _split_bucket(own, boxes, number, bucket):
        _enqueue(own, term, number)
        return
    if (
        store.buckets[bucket].frozen
        and bucket_for(structures, number, boxes.cells[side + LOW], boxes.cells[side + HIGH]) != bucket
    ):
        _enqueue(own, term, number)  # frozen, the bucket left the range of the term to another one
        return
    if following[0] != NONE:
        _enqueue(own, term, _child_structure(own, boxes, bucket, following[0]))
        return
    for place in range(store.buckets[bucket].count):
        entry = store.entries[store.buckets[bucket].head + place]
        if entry.axis != NONE:
            other, axis = term_at(boxes, entry.first), entry.axis
            remove_at(store, bucket, place)
            add_entry(store, bucket, boxes, term, following)
            _enqueue(own, other, _child_structure(own, boxes, bucket, axis))
            return
    add_entry(store, bucket, boxes, term, following)


@kernel
def _extend_domains(own: Organisation, boxes: Boxes, terms: I32) -> None:
    """Extend the domains by all new terms, before the first of them makes a tree over its domain."""
    for term in terms:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            domain = own.domains[boxes.cells[at + AXIS] + 1]
            for end in (boxes.cells[at + LOW], boxes.cells[at + HIGH]):
                if LEAST < end < MOST:
                    domain[0], domain[1] = min(domain[0], end), max(domain[1], end)


@kernel
def insert_terms(own: Organisation, boxes: Boxes, terms: I32) -> None:
    _extend_domains(own, boxes, terms)
    for term in terms:
        if boxes.lengths[term] == 0:
            add_posting(own.always, 0, term)
            continue
        _enqueue(own, term, _child_structure(own, boxes, HEADER, boxes.cells[boxes.firsts[term] + AXIS]))
        while own.count:
            own.count -= 1
            _place(own, boxes, own.waiting[own.count], own.homes[own.count])


@kernel
def reorder_by_bucket(own: Organisation, boxes: Boxes) -> None:
    """Reorder the boxes of all terms, which are all placed, in the order in which buckets are scanned."""
    store = own.structures.store
    terms = np.empty(boxes.terms.count, np.int32)
    count = 0
    for bucket in store.buckets[: store.made]:
        for place in range(bucket.head, bucket.head + bucket.count):
            terms[count] = term_at(boxes, store.entries[place].first)
            count += 1
    for term in postings_in(own.always, 0):
        terms[count] = term
        count += 1
    reorder_boxes(boxes, terms)
    count = 0
    for bucket in store.buckets[: store.made]:
        for place in range(bucket.head, bucket.head + bucket.count):
            store.entries[place].first = boxes.firsts[terms[count]]
            count += 1


@kernel
def delete_terms(own: Organisation, boxes: Boxes, terms: I32) -> None:
    structures = own.structures
    store = structures.store
    for term in terms:
        if boxes.lengths[term] == 0:
            remove_posting(own.always, 0, term)
            continue
        bucket = int(store.homes[term])
        axis = int(structures.records[store.buckets[bucket].home].axis)
        remove_term(store, bucket, boxes, term, _next_side(boxes, term, axis))
        drop_if_empty(structures, bucket)


@kernel
def match_terms(own: Organisation, boxes: Boxes, predicates: Predicates, rows: RowValues) -> tuple[I32, I64]:
    """Rows and the heads of the terms that hold in them, in the order of rows (Fig. 2)."""
    structures = own.structures
    store, work = structures.store, own.work
    view = empty_view(boxes, predicates)
    out = np.empty(store.made + 1, np.int32)
    ways, starts = np.empty(store.made + 1, np.int32), np.empty(store.made + 1, np.int64)
    always = postings_in(own.always, 0)
    found_rows, heads = np.empty(own.room, np.int32), np.empty(own.room, np.int64)
    used = 0
    for row in range(len(rows.firsts) - 1):
        show_row(rows, row, view)
        before = used
        if used + len(always) > len(heads):
            heads = grow(heads, 2 * (used + len(always)))
        for term in always:
            if box_holds(boxes, predicates, boxes.firsts[term], view):
                heads[used] = head_at(boxes, boxes.firsts[term])
                used += 1
        end = rows.firsts[row + 1]
        tests = rows.tests[rows.test_firsts[row] : rows.test_firsts[row + 1]]
        ways[0], starts[0], ahead = HEADER, rows.firsts[row], 1
        while ahead:
            ahead -= 1
            bucket = ways[ahead]
            for at in range(starts[ahead], end):
                number = structure_of(structures, bucket, rows.axes[at])
                if number < 0:
                    continue
                work[STRUCTURES] += 1
                buckets, steps = buckets_at(structures, number, rows.values[at], tests, out)
                work[STEPS] += steps
                work[BUCKETS] += buckets
                for place in range(buckets):
                    below = out[place]
                    if used + store.buckets[below].count > len(heads):
                        heads = grow(heads, 2 * (used + store.buckets[below].count))
                    part = at + 1, end
                    used = scan_bucket(store, below, boxes, predicates, rows, part, view, heads, used, work)
                    if store.buckets[below].children:
                        ways[ahead], starts[ahead] = below, at + 1
                        ahead += 1
        hide_row(rows, row, view)
        work[FOUND] += used - before
        if used > len(found_rows):
            found_rows = grow(found_rows, 2 * used)
        found_rows[before:used] = row
    own.room = used + used // 8 + 1024
    return found_rows[:used], heads[:used]
