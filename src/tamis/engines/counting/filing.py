"""The kernels of `counting`: terms in and out, and the pairs of a batch."""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.dynamic.bags import (
    Bags,
    bag_bytes,
    bags_of,
    numbers_in,
    put_in,
    reserve_bags,
    run_of,
    runs_of,
    take_out,
)
from tamis.engines.dynamic.counters import COPY_SHARE, count_down, restore
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates, held_in, hold_on, let_go, room_for_held
from tamis.engines.dynamic.terms import (
    Terms,
    free_term,
    new_term,
    predicates_of_term,
    report_terms,
    term_bytes,
    terms_of,
)
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]


@struct
class Tally(structref.StructRefProxy):  # type: ignore[misc]
    """What `tally_of` gives; only compiled code looks into it.

    terms: all terms.
    users: the bag of the terms of each predicate.
    always: bag 0 has the terms without predicates.
    needed: uint8[terms]: how many predicates a term has; counters: as `needed` between events.
    work: int64[3]: predicates that held, hits, terms that held.
    """

    terms: Terms
    users: Bags
    always: Bags
    needed: Bytes
    counters: Bytes
    work: Ints


@numba.njit(cache=True, nogil=True)
def tally_of() -> Tally:
    """Of no terms."""
    none = np.empty(0, np.uint8)
    return Tally(terms_of(), bags_of(0), bags_of(1), none, none.copy(), np.zeros(3, np.int64))


@numba.njit(cache=True, nogil=True)
def insert_terms(
    tally: Tally, predicates: Predicates, conjunctions: Conjunctions, numbers: Shorts, slots: Shorts
) -> None:
    """Put the conjunctions of formulas into empty slots; `numbers` has the predicate of every leaf."""
    reserve_bags(tally.users, len(predicates.axes))
    for conjunction in range(len(conjunctions.slots)):
        mine = numbers[
            conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        ]
        term = new_term(tally.terms, slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction], mine)
        if term >= len(tally.needed):
            length = term + term // 2 + 16
            tally.needed, tally.counters = grown(tally.needed, length), grown(tally.counters, length)
        tally.needed[term] = tally.counters[term] = len(mine)
        if len(mine) == 0:
            put_in(tally.always, 0, term)
        for number in mine:
            hold_on(predicates, number)
            put_in(tally.users, number, term)


@numba.njit(cache=True, nogil=True)
def delete_terms(tally: Tally, predicates: Predicates, slots: Shorts) -> None:
    """Empty some slots."""
    for slot in slots:
        if slot >= len(tally.terms.filled.counts):
            continue  # FALSE has no terms
        for term in numbers_in(tally.terms.filled, slot):
            mine = predicates_of_term(tally.terms, term)
            if len(mine) == 0:
                take_out(tally.always, 0, term)
            for number in mine:
                take_out(tally.users, number, term)
                let_go(predicates, number)
            free_term(tally.terms, term)


@numba.njit(cache=True, nogil=True)
def match_terms(tally: Tally, predicates: Predicates, event: Event) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may: rows, slots, and 1 for those that do."""
    held = room_for_held(predicates)
    terms, users = tally.terms, tally.users
    counts, heads, cells, counters, needed = users.counts, users.heads, users.cells, tally.counters, tally.needed
    found = np.empty(terms.count + 1, np.int32)
    seen = np.full(len(terms.filled.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = held_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        count, hits = 0, 0
        for term in numbers_in(tally.always, 0):
            found[count] = term
            count += 1
        for each in range(holding):
            number = held[each]
            for run in range(runs_of(counts, heads, cells, number)):
                start, end = run_of(counts, heads, cells, number, run)
                hits += end - start
                count = count_down(cells, start, end, counters, found, count)
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grown(rows, length), grown(slots, length), grown(sure, length)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
        tally.work[0] += holding
        tally.work[1] += hits
        tally.work[2] += count
        if hits * COPY_SHARE > terms.made:
            for term in range(terms.made):
                counters[term] = needed[term]
        else:
            for each in range(holding):
                restore(users, held[each], counters, needed)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@numba.njit(cache=True, nogil=True)
def tally_bytes(tally: Tally) -> tuple[int, int, int, int, int]:
    """Of the terms of predicates, the predicates of terms, needed hits, counters, and slots."""
    predicates, slots = term_bytes(tally.terms)
    made = tally.terms.made
    return bag_bytes(tally.users) + bag_bytes(tally.always), predicates, made, made, slots


@numba.njit(cache=True, nogil=True)
def tally_counts(tally: Tally) -> tuple[int, int]:
    """Terms, and terms without predicates."""
    return tally.terms.count, int(tally.always.counts[0])


@numba.njit(cache=True, nogil=True)
def tally_work(tally: Tally) -> Ints:
    """What was done since this was asked last."""
    done = tally.work.copy()
    tally.work[:] = 0
    return done
