"""Terms as boxes: the intervals that a term asks for, side by side in memory, and what else it asks.

A side is an axis with an interval, both ends inside; or, on the axis `TESTS`, a test that must hold. A term has at
most one side on every other axis, those of rare axes first, so that a look at a term ends early where it does not
hold. What is no interval of values (several pieces, NULL) is a predicate besides; the hull of pieces is a side,
too.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions
from tamis.engines.dynamic.bags import numbers_in
from tamis.engines.dynamic.predicates import Predicates, enter_leaf, let_go
from tamis.engines.dynamic.terms import (
    Terms,
    free_term,
    new_term,
    predicates_of_term,
    term_bytes,
    terms_of,
)
from tamis.engines.forest import INTERVAL, PIECES, TEST, Leaves, Pieces
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
View: TypeAlias = tuple[Ints, Bytes, Bytes]
"""Of a row: the value of every axis, 1 if it has one, and 1 for every test that holds."""

TESTS = -1
"""The axis of all tests."""
SIDE = 3
"""Cells of a side: its axis, the low end, the high end; of a test both ends are its number."""
AXIS, LOW, HIGH = 0, 1, 2
# Before the sides of a term are its head and its number. A head has the slot in its low 32 bits, then how many
# sides there are, whether there are other predicates, and the flags of the term: all that a match needs to know.
HEAD, _TERM = -2, -1
_LENGTH_BITS, _OTHERS_BIT, _FLAG_BITS = 32, 40, 48
_LONGEST = 256


@struct
class Boxes(structref.StructRefProxy):  # type: ignore[misc]
    """What `boxes_of` gives; only compiled code looks into it.

    terms: all terms; their predicates are those that are no sides, and tests.
    firsts: int64[terms]: where the sides of a term begin.
    lengths: int32[terms]: how many sides it has.
    cells: int64[...]: heads, numbers and sides; the head of a free place is the next free one of the same length.
    used, free: cells ever used, and int64[lengths]: a free place or -1.
    uses: int64[axes + 1]: how many sides are on axis a, at a + 1.
    ranks: int32[axes + 1]: the place of axis a in the order of sides, at a + 1.
    """

    terms: Terms
    firsts: Ints
    lengths: Shorts
    cells: Ints
    used: int
    free: Ints
    uses: Ints
    ranks: Shorts


@numba.njit(cache=True, nogil=True)
def boxes_of() -> Boxes:
    """None yet."""
    return Boxes(
        terms_of(),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(16, np.int64),
        0,
        np.full(_LONGEST, -1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int32),
    )


@numba.njit(cache=True, nogil=True)
def reserve_box_axes(boxes: Boxes, axes: int) -> None:
    """Let there be so many axes; new ones are the rarest, and come before all others."""
    old = len(boxes.uses)
    if axes + 1 > old:
        boxes.uses, boxes.ranks = grown(boxes.uses, axes + 1), grown(boxes.ranks, axes + 1)
        boxes.uses[old:] = 0
        least = boxes.ranks[:old].min()
        for place in range(old, axes + 1):
            boxes.ranks[place] = least - 1 - (place - old)


@numba.njit(cache=True, nogil=True)
def _place_for(boxes: Boxes, length: int) -> int:
    """A place for so many sides, and what is before them."""
    if boxes.free[length] >= 0:
        first = boxes.free[length]
        boxes.free[length] = boxes.cells[first + HEAD]
        return int(first)
    first = boxes.used - HEAD
    boxes.used = first + SIDE * length
    if boxes.used > len(boxes.cells):
        boxes.cells = grown(boxes.cells, boxes.used + boxes.used // 2)
    return int(first)


@numba.njit(cache=True, nogil=True)
def _sides_of(leaves: Leaves, pieces: Pieces, mine: Shorts, sides: Ints, besides: Shorts) -> tuple[int, int]:
    """Write sides and other leaves of a conjunction; gives how many, or -1 sides if nothing satisfies it."""
    count, others = 0, 0
    for leaf in mine:
        kind, low, high, axis = leaves.kinds[leaf], leaves.lows[leaf], leaves.highs[leaf], leaves.axes[leaf]
        if kind == TEST:
            axis, high = TESTS, low
        if kind != INTERVAL or leaves.nulls[leaf]:
            besides[others] = leaf
            others += 1
        if kind == PIECES:
            low, high = pieces.lows[low], pieces.highs[high - 1]
        if kind != TEST and leaves.nulls[leaf]:
            continue
        if low > high:
            return -1, 0
        at = count
        if axis != TESTS:
            at = 0
            while at < count and sides[SIDE * at + AXIS] != axis:
                at += 1
        if at < count:
            low, high = max(low, sides[SIDE * at + LOW]), min(high, sides[SIDE * at + HIGH])
            if low > high:
                return -1, 0
        else:
            count += 1
        sides[SIDE * at + AXIS], sides[SIDE * at + LOW], sides[SIDE * at + HIGH] = axis, low, high
    return count, others


@numba.njit(cache=True, nogil=True)
def _sort_sides(ranks: Shorts, cells: Ints, first: int, count: int) -> None:
    """Put the sides of a term into the order of ranks."""
    for side in range(1, count):
        at = first + SIDE * side
        axis, low, high = cells[at + AXIS], cells[at + LOW], cells[at + HIGH]
        rank = ranks[axis + 1]
        while at > first and ranks[cells[at - SIDE + AXIS] + 1] > rank:
            for cell in range(SIDE):
                cells[at + cell] = cells[at - SIDE + cell]
            at -= SIDE
        cells[at + AXIS], cells[at + LOW], cells[at + HIGH] = axis, low, high


@numba.njit(cache=True, nogil=True)
def insert_boxes(
    boxes: Boxes, predicates: Predicates, conjunctions: Conjunctions, leaves: Leaves, pieces: Pieces, slots: Shorts
) -> Shorts:
    """Make terms of the conjunctions that something can satisfy, for these slots; gives the terms.

    Args:
        boxes: Of the index; axes are reserved.
        predicates: Of the index.
        conjunctions: Of formulas.
        leaves: Of the formulas, moved to the index.
        pieces: Of the leaves.
        slots: Of the formulas.
    """
    made = np.empty(len(conjunctions.slots), np.int32)
    count = 0
    sides, besides = np.empty(SIDE * _LONGEST, np.int64), np.empty(_LONGEST, np.int32)
    for conjunction in range(len(conjunctions.slots)):
        mine = conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        length, others = _sides_of(leaves, pieces, mine, sides, besides)
        if length < 0:
            continue
        numbers = np.empty(others, np.int32)
        for other in range(others):
            numbers[other] = enter_leaf(predicates, leaves, pieces, besides[other])
        slot, flags = slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction]
        term = new_term(boxes.terms, slot, flags, numbers)
        if term >= len(boxes.firsts):
            room = term + term // 2 + 16
            boxes.firsts, boxes.lengths = grown(boxes.firsts, room), grown(boxes.lengths, room)
        first = _place_for(boxes, length)
        for cell in range(SIDE * length):
            boxes.cells[first + cell] = sides[cell]
        for side in range(length):
            boxes.uses[sides[SIDE * side + AXIS] + 1] += 1
        _sort_sides(boxes.ranks, boxes.cells, first, length)
        boxes.cells[first + HEAD] = (
            np.int64(slot)
            | np.int64(length) << _LENGTH_BITS
            | np.int64(others > 0) << _OTHERS_BIT
            | np.int64(flags) << _FLAG_BITS
        )
        boxes.cells[first + _TERM] = term
        boxes.firsts[term], boxes.lengths[term] = first, length
        made[count] = term
        count += 1
    return made[:count].copy()


@numba.njit(cache=True, nogil=True)
def terms_in(boxes: Boxes, slots: Shorts) -> Shorts:
    """The terms of slots."""
    filled = boxes.terms.filled
    count = 0
    for slot in slots:
        if slot < len(filled.counts):  # FALSE has no terms
            count += filled.counts[slot]
    found = np.empty(count, np.int32)
    at = 0
    for slot in slots:
        if slot < len(filled.counts):
            for term in numbers_in(filled, slot):
                found[at] = term
                at += 1
    return found


@numba.njit(cache=True, nogil=True)
def all_terms(boxes: Boxes) -> Shorts:
    """All terms, those of lower slots first."""
    slots = np.arange(len(boxes.terms.filled.counts)).astype(np.int32)
    return terms_in(boxes, slots)


@numba.njit(cache=True, nogil=True)
def free_boxes(boxes: Boxes, predicates: Predicates, terms: Shorts) -> None:
    """Forget terms."""
    for term in terms:
        for number in predicates_of_term(boxes.terms, term):
            let_go(predicates, number)
        first, length = boxes.firsts[term], boxes.lengths[term]
        for side in range(length):
            boxes.uses[boxes.cells[first + SIDE * side + AXIS] + 1] -= 1
        boxes.cells[first + HEAD] = boxes.free[length]
        boxes.free[length] = first
        free_term(boxes.terms, term)


@numba.njit(cache=True, nogil=True)
def uses_of(boxes: Boxes) -> Ints:
    """How many sides there are on axis a, at a + 1."""
    return boxes.uses


@numba.njit(cache=True, nogil=True)
def points_on(boxes: Boxes, terms: Shorts) -> Ints:
    """How many of the sides of terms on axis a are single values, at a + 1."""
    found = np.zeros(len(boxes.uses), np.int64)
    for term in terms:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            found[boxes.cells[at + AXIS] + 1] += boxes.cells[at + LOW] == boxes.cells[at + HIGH]
    return found


@numba.njit(cache=True, nogil=True)
def rank_axes(boxes: Boxes, ranks: Shorts) -> None:
    """Put all sides into the order of these ranks of axes, those of axis a at a + 1."""
    boxes.ranks = ranks.copy()
    for term in all_terms(boxes):
        _sort_sides(boxes.ranks, boxes.cells, boxes.firsts[term], boxes.lengths[term])


@numba.njit(cache=True, nogil=True)
def beginnings(boxes: Boxes, terms: Shorts) -> tuple[Shorts, Shorts, Ints]:
    """Of terms, the ranks of the first two axes, the greatest where there is none, and where the second begins."""
    none = np.iinfo(np.int32).max
    firsts, seconds = np.full(len(terms), none, np.int32), np.full(len(terms), none, np.int32)
    lows = np.zeros(len(terms), np.int64)
    for number in range(len(terms)):
        at, length = boxes.firsts[terms[number]], boxes.lengths[terms[number]]
        if length > 0:
            firsts[number] = boxes.ranks[boxes.cells[at + AXIS] + 1]
        if length > 1:
            seconds[number] = boxes.ranks[boxes.cells[at + SIDE + AXIS] + 1]
            lows[number] = boxes.cells[at + SIDE + LOW]
    return firsts, seconds, lows


@numba.njit(cache=True, nogil=True)
def lay_out(boxes: Boxes, terms: Shorts) -> None:
    """Put all terms next to each other, in this order."""
    old = boxes.cells
    boxes.cells = np.empty(boxes.used, np.int64)
    boxes.used = 0
    boxes.free[:] = -1
    for term in terms:
        length = boxes.lengths[term]
        first = _place_for(boxes, length)
        for cell in range(HEAD, SIDE * length):
            boxes.cells[first + cell] = old[boxes.firsts[term] + cell]
        boxes.firsts[term] = first


@numba.njit(cache=True, nogil=True)
def move_sides(boxes: Boxes, axis: int, old: Ints, new: Ints) -> None:
    """Give the coordinates of an axis new labels, which rise as the old ones do."""
    cells = boxes.cells
    for term in all_terms(boxes):
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            if cells[at + AXIS] != axis:
                continue
            place = np.searchsorted(old, cells[at + LOW])
            if place < len(old) and old[place] == cells[at + LOW]:
                cells[at + LOW] = new[place]
            if cells[at + HIGH] + 1 > cells[at + HIGH]:
                place = np.searchsorted(old, cells[at + HIGH] + 1)
                if place < len(old) and old[place] == cells[at + HIGH] + 1:
                    cells[at + HIGH] = new[place] - 1


@numba.njit(cache=True, nogil=True)
def _predicate_holds(predicates: Predicates, number: int, view: View) -> bool:
    values, there, tested = view
    axis, piece = predicates.axes[number], predicates.firsts[number]
    if axis < 0:
        return tested[piece] != 0
    if there[axis] == 0:
        return predicates.nulls[number] != 0
    while piece >= 0:
        if predicates.lows[piece] <= values[axis] <= predicates.highs[piece]:
            return True
        piece = predicates.following[piece]
    return False


@numba.njit(cache=True, nogil=True)
def others_hold(boxes: Boxes, predicates: Predicates, first: int, view: View) -> bool:
    """Does a row satisfy what the term whose sides begin at a cell asks besides?"""
    for number in numbers_in(boxes.terms.predicates, boxes.cells[first + _TERM]):
        if not _predicate_holds(predicates, number, view):
            return False
    return True


@numba.njit(cache=True, nogil=True)
def has_others(head: int) -> bool:
    """Does the term with this head ask for more than its sides?"""
    return (head >> _OTHERS_BIT) & 1 != 0


@numba.njit(cache=True, nogil=True)
def sides_in(head: int) -> int:
    """How many sides the term with this head has."""
    return (head >> _LENGTH_BITS) & 0xFF


@numba.njit(cache=True, nogil=True)
def holds_at(boxes: Boxes, predicates: Predicates, first: int, view: View) -> bool:
    """Does a row satisfy the term whose sides begin at a cell?"""
    values, there, tested = view
    cells = boxes.cells
    head = cells[first + HEAD]
    for at in range(first, first + SIDE * sides_in(head), SIDE):
        axis = cells[at + AXIS]
        if axis < 0:
            if tested[cells[at + LOW]] == 0:
                return False
        elif there[axis] == 0 or values[axis] < cells[at + LOW] or values[axis] > cells[at + HIGH]:
            return False
    return not has_others(head) or others_hold(boxes, predicates, first, view)


@numba.njit(cache=True, nogil=True)
def head_at(boxes: Boxes, first: int) -> int:
    """The head of the term whose sides begin at a cell: what an engine gives for a term that holds."""
    return boxes.cells[first + HEAD]


@numba.njit(cache=True, nogil=True)
def term_at(boxes: Boxes, first: int) -> int:
    """The term whose sides begin at a cell."""
    return boxes.cells[first + _TERM]


@numba.njit(cache=True, nogil=True)
def pairs_of_boxes(boxes: Boxes, rows: Shorts, heads: Ints) -> tuple[Shorts, Shorts, Bytes]:
    """Rows, slots, each pair once, and 1 for those that hold without a further look.

    Args:
        boxes: Of the index.
        rows: Of the batch; equal ones together.
        heads: Of a term that holds in each of these rows.
    """
    found, slots, sure = (
        np.empty(len(rows), np.int32),
        np.empty(len(rows), np.int32),
        np.empty(len(rows), np.uint8),
    )
    seen = np.full(len(boxes.terms.filled.counts), -1, np.int32)
    used = 0
    for place in range(len(rows)):
        slot, flags = np.int32(heads[place] & 0xFFFFFFFF), heads[place] >> _FLAG_BITS
        if flags & SEVERAL:
            if seen[slot] == rows[place]:
                continue
            seen[slot] = rows[place]
        found[used], slots[used], sure[used] = rows[place], slot, flags & UNSURE == 0
        used += 1
    return found[:used].copy(), slots[:used].copy(), sure[:used].copy()


@numba.njit(cache=True, nogil=True)
def sides_of(boxes: Boxes, term: int) -> Ints:
    """The sides of a term, one a row: axis, low end, high end."""
    first, length = boxes.firsts[term], boxes.lengths[term]
    return boxes.cells[first : first + SIDE * length].copy().reshape(length, SIDE)


@numba.njit(cache=True, nogil=True)
def box_bytes(boxes: Boxes) -> tuple[int, int, int]:
    """Of sides, of other predicates of terms, and of slots."""
    others, slots = term_bytes(boxes.terms)
    return 8 * boxes.used + 12 * boxes.terms.made, others, slots


@numba.njit(cache=True, nogil=True)
def box_counts(boxes: Boxes) -> tuple[int, int]:
    """Terms, and sides."""
    return boxes.terms.count, int(boxes.uses.sum())
