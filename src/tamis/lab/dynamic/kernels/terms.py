"""Terms: the conjunctions of subscriptions, which come and go, with dense numbers that are given again.

A subscription is the OR of its terms, a term the AND of its predicates. `SEVERAL` marks a term whose slot has
others, so that a pair must be deduplicated; `UNSURE` marks a term that is only necessary: it makes its
subscription a candidate (see `tamis.engines.conjunctions.dnf`).
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, U8
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    remove_posting,
    reserve_lists,
)


@struct
class Terms(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_terms`; only compiled code reads its fields.

    slots: int32[terms]: the slot; of a free one, the next free one.
    flags: uint8[terms]: SEVERAL and UNSURE, as conjunctions have them.
    predicates: the predicates of each term; slot_terms: the terms of each slot.
    made, free, count: numbers ever given, a free one or -1, terms.
    """

    slots: I32
    flags: U8
    predicates: PostingLists
    slot_terms: PostingLists
    made: int
    free: int
    count: int


@kernel
def empty_terms() -> Terms:
    return Terms(
        np.empty(0, np.int32), np.empty(0, np.uint8), empty_posting_lists(0), empty_posting_lists(0), 0, -1, 0
    )


@kernel
def new_term(terms: Terms, slot: int, flags: int, predicates: I32) -> int:
    """Add a term to a slot; returns its number."""
    if terms.free >= 0:
        term = terms.free
        terms.free = terms.slots[term]
    else:
        term = terms.made
        terms.made += 1
        if term == len(terms.slots):
            length = term + term // 2 + 16
            terms.slots, terms.flags = grow(terms.slots, length), grow(terms.flags, length)
    if len(predicates):
        reserve_lists(terms.predicates, term + 1)
    reserve_lists(terms.slot_terms, slot + 1)
    terms.count += 1
    add_posting(terms.slot_terms, slot, term)
    terms.slots[term], terms.flags[term] = slot, flags
    for number in predicates:
        add_posting(terms.predicates, term, number)
    return int(term)


@kernel
def term_predicates(terms: Terms, term: int) -> I32:
    """The predicates of a term, rising, each as often as it was given."""
    if term >= len(terms.predicates.counts):
        return np.empty(0, np.int32)
    return postings_in(terms.predicates, term)


@kernel
def free_term(terms: Terms, term: int) -> None:
    """Free a number; its predicates are released by the caller."""
    if term < len(terms.predicates.counts):
        for number in postings_in(terms.predicates, term):
            remove_posting(terms.predicates, term, number)
    slot = terms.slots[term]
    remove_posting(terms.slot_terms, slot, term)
    terms.slots[term] = terms.free
    terms.free = term
    terms.count -= 1


@kernel
def report_terms(
    terms: Terms, found: I32, count: int, row: int, seen: I32, pairs: tuple[I32, I32, U8], used: int
) -> int:
    """Append the pairs of a row to `pairs`, each slot once; returns the number of pairs.

    Args:
        terms: All of them.
        found: The terms that hold, in the first `count` places.
        count: How many terms hold.
        row: The row of the batch.
        seen: int32[slots]: the last row in which the slot was written, of those with several terms.
        pairs: Rows, slots, and 1 for those that need no verification; there is room for `count` more.
        used: How many pairs there are.
    """
    rows, slots, sure = pairs
    for at in range(count):
        slot, flags = terms.slots[found[at]], terms.flags[found[at]]
        if flags & SEVERAL:
            if seen[slot] == row:
                continue
            seen[slot] = row
        rows[used], slots[used], sure[used] = row, slot, flags & UNSURE == 0
        used += 1
    return used


@kernel
def term_bytes(terms: Terms) -> tuple[int, int]:
    """Bytes of the predicates of terms, and of slots and flags."""
    return posting_list_bytes(terms.predicates), 5 * terms.made + posting_list_bytes(terms.slot_terms)
