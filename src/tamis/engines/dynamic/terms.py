"""Terms: the conjunctions of subscriptions that come and go, for engines that know nothing else.

A subscription is the OR of its terms, a term the AND of its predicates. Terms have dense numbers, used again when
they go. A term of a formula that says more than its terms do (`UNSURE`) only makes it a candidate.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.dnf import SEVERAL, UNSURE
from tamis.engines.dynamic.bags import Bags, bag_bytes, bags_of, numbers_in, put_in, reserve_bags, take_out
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.int32]


@struct
class Terms(structref.StructRefProxy):  # type: ignore[misc]
    """What `terms_of` gives; only compiled code looks into it.

    slots: int32[terms]: the slot; of a free one, the next free one.
    flags: uint8[terms]: SEVERAL and UNSURE, as conjunctions have them.
    predicates: the bag of each term's predicates; filled: the bag of each slot's terms.
    made, free, count: numbers ever given, a free one or -1, terms.
    """

    slots: Shorts
    flags: Bytes
    predicates: Bags
    filled: Bags
    made: int
    free: int
    count: int


@numba.njit(cache=True, nogil=True)
def terms_of() -> Terms:
    """None yet."""
    return Terms(np.empty(0, np.int32), np.empty(0, np.uint8), bags_of(0), bags_of(0), 0, -1, 0)


@numba.njit(cache=True, nogil=True)
def new_term(terms: Terms, slot: int, flags: int, predicates: Shorts) -> int:
    """A term of the predicates of a slot."""
    if terms.free >= 0:
        term = terms.free
        terms.free = terms.slots[term]
    else:
        term = terms.made
        terms.made += 1
        if term == len(terms.slots):
            length = term + term // 2 + 16
            terms.slots, terms.flags = grown(terms.slots, length), grown(terms.flags, length)
    if len(predicates):
        reserve_bags(terms.predicates, term + 1)
    reserve_bags(terms.filled, slot + 1)
    terms.count += 1
    put_in(terms.filled, slot, term)
    terms.slots[term], terms.flags[term] = slot, flags
    for number in predicates:
        put_in(terms.predicates, term, number)
    return int(term)


@numba.njit(cache=True, nogil=True)
def predicates_of_term(terms: Terms, term: int) -> Shorts:
    """The predicates of a term, rising, each as often as it was given."""
    if term >= len(terms.predicates.counts):
        return np.empty(0, np.int32)
    return numbers_in(terms.predicates, term)


@numba.njit(cache=True, nogil=True)
def free_term(terms: Terms, term: int) -> None:
    """Free a term."""
    if term < len(terms.predicates.counts):
        for number in numbers_in(terms.predicates, term):
            take_out(terms.predicates, term, number)
    slot = terms.slots[term]
    take_out(terms.filled, slot, term)
    terms.slots[term] = terms.free
    terms.free = term
    terms.count -= 1


@numba.njit(cache=True, nogil=True)
def report_terms(
    terms: Terms, found: Shorts, count: int, row: int, seen: Shorts, pairs: tuple[Shorts, Shorts, Bytes], used: int
) -> int:
    """Write the pairs of a row whose terms were found, each slot once; gives the number of pairs.

    Args:
        terms: All of them.
        found: Terms that hold, the first `count`.
        count: How many.
        row: Of the batch.
        seen: int32[slots]: the last row in which the slot was written, of those with several terms.
        pairs: Rows, slots, and 1 for those that hold without a further look; there is room for `count` more.
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


@numba.njit(cache=True, nogil=True)
def term_bytes(terms: Terms) -> tuple[int, int]:
    """Of the predicates of terms, and of slots and flags."""
    return bag_bytes(terms.predicates), 5 * terms.made + bag_bytes(terms.filled)
