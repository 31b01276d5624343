"""Terms as boxes: the sides of each term next to each other in memory, and its residue of other predicates.

A side is an axis with a closed interval; or, on the axis `TESTS`, a test that must hold. A term has at most one
side on every other axis, those of rare axes first, so that verification fails early:

    cells   | head | term | axis low high | axis low high | ...        `firsts[term]` is where the sides begin
            -2     -1     0               3

What is no interval of values (several intervals, NULL) is a predicate of the residue; the hull of several
intervals is a side as well.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE, Conjunctions
from tamis.engines.forest import INTERVAL, PIECES, TEST, Leaves, Pieces
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import postings_in
from tamis.lab.dynamic.kernels.predicates import Predicates, intern_leaf, release_predicate
from tamis.lab.dynamic.kernels.terms import (
    Terms,
    empty_terms,
    free_term,
    new_term,
    term_bytes,
    term_predicates,
)

RowView: TypeAlias = tuple[I64, U8, U8]
"""One row, by axis: int64[axes] values, uint8[axes] 1 if it has one; and uint8[tests] 1 for tests that hold."""

TESTS = -1
"""The axis of all tests."""
SIDE = 3
"""Cells of a side: its axis, the low end, the high end; of a test both ends are its number."""
AXIS, LOW, HIGH = 0, 1, 2
# A head has the slot in its low 32 bits, then the number of sides, whether there is a residue, and the flags of
# the
# term: all that reporting a match needs, in one load.
HEAD, _TERM = -2, -1
_LENGTH_BITS, _RESIDUE_BIT, _FLAG_BITS = 32, 40, 48
_LONGEST = 256


@struct
class Boxes(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_boxes`; only compiled code reads its fields.

    terms: all terms; their predicates are their residues.
    firsts: int64[terms]: where the sides of a term begin.
    lengths: int32[terms]: how many sides it has.
    cells: int64[...]: heads, numbers and sides; the head of a free range names the next one of the same length.
    used, free: cells ever used, and int64[lengths]: a free range for that many sides or -1.
    uses: int64[axes + 1]: how many sides are on axis a, at a + 1.
    ranks: int32[axes + 1]: the rank of axis a in the order of sides, at a + 1.
    """

    terms: Terms
    firsts: I64
    lengths: I32
    cells: I64
    used: int
    free: I64
    uses: I64
    ranks: I32


@kernel
def empty_boxes() -> Boxes:
    return Boxes(
        empty_terms(),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
        np.empty(16, np.int64),
        0,
        np.full(_LONGEST, -1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int32),
    )


@kernel
def reserve_box_axes(boxes: Boxes, axes: int) -> None:
    """Make at least so many axes; new ones are the rarest, and rank before all residues."""
    old = len(boxes.uses)
    if axes + 1 > old:
        boxes.uses, boxes.ranks = grow(boxes.uses, axes + 1), grow(boxes.ranks, axes + 1)
        boxes.uses[old:] = 0
        least = boxes.ranks[:old].min()
        for place in range(old, axes + 1):
            boxes.ranks[place] = least - 1 - (place - old)


@kernel
def _allocate(boxes: Boxes, length: int) -> int:
    """Where the sides of a new term begin; head and term number have room before them."""
    if boxes.free[length] >= 0:
        first = boxes.free[length]
        boxes.free[length] = boxes.cells[first + HEAD]
        return int(first)
    first = boxes.used - HEAD
    boxes.used = first + SIDE * length
    if boxes.used > len(boxes.cells):
        boxes.cells = grow(boxes.cells, boxes.used + boxes.used // 2)
    return int(first)


@kernel
def _sides_of(leaves: Leaves, pieces: Pieces, mine: I32, sides: I64, residual: I32) -> tuple[int, int]:
    """Write the sides and residual leaves of a conjunction; returns how many, -1 sides if it is unsatisfiable."""
    count, residues = 0, 0
    for leaf in mine:
        kind, low, high, axis = leaves.kinds[leaf], leaves.lows[leaf], leaves.highs[leaf], leaves.axes[leaf]
        if kind == TEST:
            axis, high = TESTS, low
        if kind != INTERVAL or leaves.nulls[leaf]:
            residual[residues] = leaf
            residues += 1
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
    return count, residues


@kernel
def _sort_sides(ranks: I32, cells: I64, first: int, count: int) -> None:
    """Sort the sides of a term by the ranks of their axes."""
    for side in range(1, count):
        at = first + SIDE * side
        axis, low, high = cells[at + AXIS], cells[at + LOW], cells[at + HIGH]
        rank = ranks[axis + 1]
        while at > first and ranks[cells[at - SIDE + AXIS] + 1] > rank:
            for cell in range(SIDE):
                cells[at + cell] = cells[at - SIDE + cell]
            at -= SIDE
        cells[at + AXIS], cells[at + LOW], cells[at + HIGH] = axis, low, high


@kernel
def insert_boxes(
    boxes: Boxes, predicates: Predicates, conjunctions: Conjunctions, leaves: Leaves, pieces: Pieces, slots: I32
) -> I32:
    """Make terms of the satisfiable conjunctions; returns the terms.

    Args:
        boxes: All boxes; its axes are reserved.
        predicates: The interned predicates, to which residues are added.
        conjunctions: Those of some formulas.
        leaves: The leaves of the formulas, in the axes and coordinates of the index.
        pieces: Their intervals.
        slots: The slot of each formula.
    """
    made = np.empty(len(conjunctions.slots), np.int32)
    count = 0
    sides, residual = np.empty(SIDE * _LONGEST, np.int64), np.empty(_LONGEST, np.int32)
    for conjunction in range(len(conjunctions.slots)):
        mine = conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        length, residues = _sides_of(leaves, pieces, mine, sides, residual)
        if length < 0:
            continue
        numbers = np.empty(residues, np.int32)
        for other in range(residues):
            numbers[other] = intern_leaf(predicates, leaves, pieces, residual[other])
        slot, flags = slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction]
        term = new_term(boxes.terms, slot, flags, numbers)
        if term >= len(boxes.firsts):
            room = term + term // 2 + 16
            boxes.firsts, boxes.lengths = grow(boxes.firsts, room), grow(boxes.lengths, room)
        first = _allocate(boxes, length)
        for cell in range(SIDE * length):
            boxes.cells[first + cell] = sides[cell]
        for side in range(length):
            boxes.uses[sides[SIDE * side + AXIS] + 1] += 1
        _sort_sides(boxes.ranks, boxes.cells, first, length)
        boxes.cells[first + HEAD] = (
            np.int64(slot)
            | np.int64(length) << _LENGTH_BITS
            | np.int64(residues > 0) << _RESIDUE_BIT
            | np.int64(flags) << _FLAG_BITS
        )
        boxes.cells[first + _TERM] = term
        boxes.firsts[term], boxes.lengths[term] = first, length
        made[count] = term
        count += 1
    return made[:count].copy()


@kernel
def terms_in(boxes: Boxes, slots: I32) -> I32:
    slot_terms = boxes.terms.slot_terms
    count = 0
    for slot in slots:
        if slot < len(slot_terms.counts):  # FALSE has no terms
            count += slot_terms.counts[slot]
    found = np.empty(count, np.int32)
    at = 0
    for slot in slots:
        if slot < len(slot_terms.counts):
            for term in postings_in(slot_terms, slot):
                found[at] = term
                at += 1
    return found


@kernel
def all_terms(boxes: Boxes) -> I32:
    """All terms, in the order of slots."""
    slots = np.arange(len(boxes.terms.slot_terms.counts)).astype(np.int32)
    return terms_in(boxes, slots)


@kernel
def free_boxes(boxes: Boxes, predicates: Predicates, terms: I32) -> None:
    """Free terms, and release the predicates of their residues."""
    for term in terms:
        for number in term_predicates(boxes.terms, term):
            release_predicate(predicates, number)
        first, length = boxes.firsts[term], boxes.lengths[term]
        for side in range(length):
            boxes.uses[boxes.cells[first + SIDE * side + AXIS] + 1] -= 1
        boxes.cells[first + HEAD] = boxes.free[length]
        boxes.free[length] = first
        free_term(boxes.terms, term)


@kernel
def axis_uses(boxes: Boxes) -> I64:
    """int64[axes + 1]: how many sides there are on axis a, at a + 1."""
    return boxes.uses


@kernel
def point_sides(boxes: Boxes, terms: I32) -> I64:
    """int64[axes + 1]: how many sides of these terms on axis a are single values, at a + 1."""
    found = np.zeros(len(boxes.uses), np.int64)
    for term in terms:
        first = boxes.firsts[term]
        for at in range(first, first + SIDE * boxes.lengths[term], SIDE):
            found[boxes.cells[at + AXIS] + 1] += boxes.cells[at + LOW] == boxes.cells[at + HIGH]
    return found


@kernel
def rank_axes(boxes: Boxes, ranks: I32) -> None:
    """Set the rank of axis a to `ranks[a + 1]`, and sort the sides of all terms by it."""
    boxes.ranks = ranks.copy()
    for term in all_terms(boxes):
        _sort_sides(boxes.ranks, boxes.cells, boxes.firsts[term], boxes.lengths[term])


@kernel
def layout_keys(boxes: Boxes, terms: I32) -> tuple[I32, I32, I64]:
    """Of each term: the ranks of its first two axes (the greatest int32 if missing), the low end of the second."""
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


@kernel
def reorder_boxes(boxes: Boxes, terms: I32) -> None:
    """Copy the boxes of all terms next to each other, in this order."""
    old = boxes.cells
    boxes.cells = np.empty(boxes.used, np.int64)
    boxes.used = 0
    boxes.free[:] = -1
    for term in terms:
        length = boxes.lengths[term]
        first = _allocate(boxes, length)
        for cell in range(HEAD, SIDE * length):
            boxes.cells[first + cell] = old[boxes.firsts[term] + cell]
        boxes.firsts[term] = first


@kernel
def relabel_sides(boxes: Boxes, axis: int, old: I64, new: I64) -> None:
    """Replace the labels of an axis; old and new ones rise alike."""
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


@kernel
def _predicate_holds(predicates: Predicates, number: int, view: RowView) -> bool:
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


@kernel
def residue_holds(boxes: Boxes, predicates: Predicates, first: int, view: RowView) -> bool:
    """Does a row satisfy the residue of the term whose sides begin at `first`?"""
    for number in postings_in(boxes.terms.predicates, boxes.cells[first + _TERM]):
        if not _predicate_holds(predicates, number, view):
            return False
    return True


@kernel
def has_residue(head: int) -> bool:
    """Does the term with this head have a residue?"""
    return (head >> _RESIDUE_BIT) & 1 != 0


@kernel
def side_count(head: int) -> int:
    """The number of sides of the term with this head."""
    return (head >> _LENGTH_BITS) & 0xFF


@kernel
def box_holds(boxes: Boxes, predicates: Predicates, first: int, view: RowView) -> bool:
    """Does a row satisfy the term whose sides begin at `first`?"""
    values, there, tested = view
    cells = boxes.cells
    head = cells[first + HEAD]
    for at in range(first, first + SIDE * side_count(head), SIDE):
        axis = cells[at + AXIS]
        if axis < 0:
            if tested[cells[at + LOW]] == 0:
                return False
        elif there[axis] == 0 or values[axis] < cells[at + LOW] or values[axis] > cells[at + HIGH]:
            return False
    return not has_residue(head) or residue_holds(boxes, predicates, first, view)


@kernel
def head_at(boxes: Boxes, first: int) -> int:
    """The head of the term whose sides begin at `first`; an engine returns it for a term that holds."""
    return boxes.cells[first + HEAD]


@kernel
def term_at(boxes: Boxes, first: int) -> int:
    """The term whose sides begin at `first`."""
    return boxes.cells[first + _TERM]


@kernel
def box_pairs(boxes: Boxes, rows: I32, heads: I64) -> tuple[I32, I32, U8]:
    """Rows and slots, each pair once, and 1 for the pairs that need no verification.

    Args:
        boxes: All boxes.
        rows: Rows of the batch; equal ones are together.
        heads: The head of a term that holds in each of these rows.
    """
    found, slots, sure = (
        np.empty(len(rows), np.int32),
        np.empty(len(rows), np.int32),
        np.empty(len(rows), np.uint8),
    )
    seen = np.full(len(boxes.terms.slot_terms.counts), -1, np.int32)
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


@kernel
def box_bytes(boxes: Boxes) -> tuple[int, int, int]:
    """Bytes of sides, of residues, and of slots."""
    residues, slots = term_bytes(boxes.terms)
    return 8 * boxes.used + 12 * boxes.terms.made, residues, slots


@kernel
def box_counts(boxes: Boxes) -> tuple[int, int]:
    """The number of terms, and of sides."""
    return boxes.terms.count, int(boxes.uses.sum())
