"""The compiled part of `counting`: terms in and out of the association table, and the pairs of a batch."""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import Conjunctions
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.dynamic.kernels.hit_counters import COPY_SHARE, count_down, restore_counters
from tamis.lab.dynamic.kernels.posting_lists import (
    PostingLists,
    add_posting,
    empty_posting_lists,
    posting_list_bytes,
    postings_in,
    remove_posting,
    reserve_lists,
    run_bounds,
    run_count,
)
from tamis.lab.dynamic.kernels.predicates import (
    Predicates,
    release_predicate,
    retain_predicate,
    satisfied_buffer,
    satisfied_in,
)
from tamis.lab.dynamic.kernels.terms import (
    Terms,
    empty_terms,
    free_term,
    new_term,
    report_terms,
    term_bytes,
    term_predicates,
)
from tamis.lab.dynamic.predicate_index import EncodedEvents


@struct
class CountingTable(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_table`; only compiled code reads its fields.

    terms: all terms.
    users: the terms of each predicate.
    always: list 0 has the terms without predicates.
    needed: uint8[terms]: how many predicates a term has; counters: equal to `needed` between events.
    work: int64[3]: satisfied predicates, hits, terms that held.
    """

    terms: Terms
    users: PostingLists
    always: PostingLists
    needed: U8
    counters: U8
    work: I64


@kernel
def empty_table() -> CountingTable:
    none = np.empty(0, np.uint8)
    return CountingTable(
        empty_terms(), empty_posting_lists(0), empty_posting_lists(1), none, none.copy(), np.zeros(3, np.int64)
    )


@kernel
def insert_terms(
    table: CountingTable, predicates: Predicates, conjunctions: Conjunctions, numbers: I32, slots: I32
) -> None:
    """Insert the conjunctions of formulas into empty slots; `numbers` has the predicate of every leaf."""
    reserve_lists(table.users, len(predicates.axes))
    for conjunction in range(len(conjunctions.slots)):
        mine = numbers[
            conjunctions.leaves[conjunctions.firsts[conjunction] : conjunctions.firsts[conjunction + 1]]
        ]
        term = new_term(table.terms, slots[conjunctions.slots[conjunction]], conjunctions.flags[conjunction], mine)
        if term >= len(table.needed):
            length = term + term // 2 + 16
            table.needed, table.counters = grow(table.needed, length), grow(table.counters, length)
        table.needed[term] = table.counters[term] = len(mine)
        if len(mine) == 0:
            add_posting(table.always, 0, term)
        for number in mine:
            retain_predicate(predicates, number)
            add_posting(table.users, number, term)


@kernel
def delete_terms(table: CountingTable, predicates: Predicates, slots: I32) -> None:
    for slot in slots:
        if slot >= len(table.terms.slot_terms.counts):
            continue  # FALSE has no terms
        for term in postings_in(table.terms.slot_terms, slot):
            mine = term_predicates(table.terms, term)
            if len(mine) == 0:
                remove_posting(table.always, 0, term)
            for number in mine:
                remove_posting(table.users, number, term)
                release_predicate(predicates, number)
            free_term(table.terms, term)


@kernel
def match_terms(table: CountingTable, predicates: Predicates, event: EncodedEvents) -> tuple[I32, I32, U8]:
    """Rows and slots of the candidate pairs, and 1 for those that need no verification."""
    held = satisfied_buffer(predicates)
    terms, users = table.terms, table.users
    counts, heads, cells, counters, needed = users.counts, users.heads, users.cells, table.counters, table.needed
    found = np.empty(terms.count + 1, np.int32)
    seen = np.full(len(terms.slot_terms.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        holding = satisfied_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        count, hits = 0, 0
        for term in postings_in(table.always, 0):
            found[count] = term
            count += 1
        for each in range(holding):
            number = held[each]
            for run in range(run_count(counts, heads, cells, number)):
                start, end = run_bounds(counts, heads, cells, number, run)
                hits += end - start
                count = count_down(cells, start, end, counters, found, count)
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grow(rows, length), grow(slots, length), grow(sure, length)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
        table.work[0] += holding
        table.work[1] += hits
        table.work[2] += count
        if hits * COPY_SHARE > terms.made:
            for term in range(terms.made):
                counters[term] = needed[term]
        else:
            for each in range(holding):
                restore_counters(users, held[each], counters, needed)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@kernel
def table_bytes(table: CountingTable) -> tuple[int, int, int, int, int]:
    """Bytes of the association table, of the predicates of terms, needed hits, counters, and slots."""
    predicates, slots = term_bytes(table.terms)
    made = table.terms.made
    return posting_list_bytes(table.users) + posting_list_bytes(table.always), predicates, made, made, slots


@kernel
def table_counts(table: CountingTable) -> tuple[int, int]:
    """The number of terms, and of those without predicates."""
    return table.terms.count, int(table.always.counts[0])


@kernel
def take_work(table: CountingTable) -> I64:
    """Counts of the work since the last call."""
    done = table.work.copy()
    table.work[:] = 0
    return done
