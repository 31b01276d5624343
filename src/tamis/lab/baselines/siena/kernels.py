"""The compiled part of `siena`: which attributes terms need, and the pairs of a batch.

Each term has a word, and each row a word of the same layout; a term that shares a bit with the row is skipped
before it is counted:

    bits    31 ................. 9    8        7 ... 0
    term    attributes it needs       matched  hits that it still needs
    row     attributes it lacks       1        0

The bit `matched` is set in the other terms of a slot as soon as one of them holds.
"""

from __future__ import annotations

import numpy as np
from numba.experimental import structref

from tamis.arrays import I32, I64, U8, U32
from tamis.engines.array_kernels import grow
from tamis.engines.conjunctions.dnf import SEVERAL
from tamis.engines.encoding import EncodedBatch
from tamis.engines.structs import struct
from tamis.kernels import kernel
from tamis.lab.baselines.counting.kernels import CountingTable
from tamis.lab.dynamic.kernels.posting_lists import PostingLists, postings_in, run_bounds, run_count
from tamis.lab.dynamic.kernels.predicates import Predicates, satisfied_buffer, satisfied_in
from tamis.lab.dynamic.kernels.terms import Terms, report_terms, term_predicates
from tamis.lab.dynamic.predicate_index import EncodedEvents

MOST_ATTRIBUTES = 23
"""How many attributes a preselection may have: the bits of a word that are left for them."""
_HITS, _ONE = np.uint32(255), np.uint32(1)
_MATCHED = np.uint32(1 << 8)
_FIRST_BIT = 9


@struct
class Preselection(structref.StructRefProxy):  # type: ignore[misc]
    """Made by `empty_preselection`; only compiled code reads its fields.

    size: how many attributes to choose.
    axes: int32[up to size]: the chosen attributes, in the order of their bits.
    ranked: how many terms there were when they were chosen.
    initial_words: uint32[terms]: the word of each term; words: equal to `initial_words` between events.
    work: int64[4]: satisfied predicates, hits, hits of skipped terms, terms that held.
    """

    size: int
    axes: I32
    ranked: int
    initial_words: U32
    words: U32
    work: I64


@kernel
def empty_preselection(size: int) -> Preselection:
    none = np.empty(0, np.uint32)
    return Preselection(size, np.empty(0, np.int32), 0, none, none.copy(), np.zeros(4, np.int64))


@kernel
def preselect(chosen: Preselection, table: CountingTable, predicates: Predicates, slots: I32) -> None:
    """Set the words of the terms of slots; of all terms, with axes chosen again, when their number has doubled."""
    slot_terms = table.terms.slot_terms
    if table.terms.made > len(chosen.words):
        length = len(table.needed)
        chosen.initial_words, chosen.words = grow(chosen.initial_words, length), grow(chosen.words, length)
    if table.terms.count > 2 * chosen.ranked:
        chosen.ranked = table.terms.count
        slots = np.arange(len(slot_terms.counts)).astype(np.int32)
        chosen.axes = _most_needed(chosen, table.terms, predicates, slots)
    bits = np.zeros(len(predicates.intervals.axes), np.uint32)
    for place in range(len(chosen.axes)):
        bits[chosen.axes[place]] = _ONE << np.uint32(_FIRST_BIT + place)
    for slot in slots:
        if slot >= len(slot_terms.counts):
            continue  # FALSE has no terms
        for term in postings_in(slot_terms, slot):
            word = np.uint32(table.needed[term])
            for number in term_predicates(table.terms, term):
                if _needs_value(predicates, number):
                    word |= bits[predicates.axes[number]]
            chosen.initial_words[term] = chosen.words[term] = word


@kernel
def _needs_value(predicates: Predicates, number: int) -> bool:
    """Does a predicate hold only where its axis has a value?"""
    return predicates.axes[number] >= 0 and predicates.nulls[number] == 0


@kernel
def _most_needed(chosen: Preselection, terms: Terms, predicates: Predicates, slots: I32) -> I32:
    """The axes that most terms need, by falling use."""
    uses = np.zeros(len(predicates.intervals.axes), np.int64)
    for slot in slots:
        for term in postings_in(terms.slot_terms, slot):
            for number in term_predicates(terms, term):
                if _needs_value(predicates, number):
                    uses[predicates.axes[number]] += 1
    order = np.argsort(-uses, kind="mergesort")[: min(chosen.size, np.count_nonzero(uses))]
    return order.astype(np.int32)


@kernel
def _missing_bits(chosen: Preselection, encoded: EncodedBatch, row: int) -> np.uint32:
    """The word of a row: the bits of the chosen axes on which it has no value, and the bit of matched slots."""
    word = _MATCHED
    for place in range(len(chosen.axes)):
        axis = chosen.axes[place]
        line = encoded.columns[axis] if axis < len(encoded.columns) else -1
        if line < 0 or encoded.valid[line, row] == 0:
            word |= _ONE << np.uint32(_FIRST_BIT + place)
    return word


@kernel
def match_preselected(
    table: CountingTable, chosen: Preselection, predicates: Predicates, event: EncodedEvents
) -> tuple[I32, I32, U8]:
    """Rows and slots of the candidate pairs, and 1 for those that need no verification."""
    held = satisfied_buffer(predicates)
    terms, words, initial_words = table.terms, chosen.words, chosen.initial_words
    found, hit = np.empty(terms.count + 1, np.int32), np.empty(1024, np.uint32)
    seen = np.full(len(terms.slot_terms.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        lacked = _missing_bits(chosen, event.encoded, row)
        holding = satisfied_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        hit, hits = _hits_of(table.users, held[:holding], hit)
        count, passed = 0, 0
        for term in postings_in(table.always, 0):
            found[count] = term
            count += 1
        for at in range(hits):
            word = words[hit[at]]
            if word & lacked:
                passed += 1
                continue
            words[hit[at]] = word - _ONE
            if (word - _ONE) & _HITS == 0:
                found[count] = hit[at]
                _mark_matched(terms, found[count], words)
                count += 1
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grow(rows, length), grow(slots, length), grow(sure, length)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
        for place, done in enumerate((holding, hits, passed, count)):
            chosen.work[place] += done
        for at in range(hits):
            words[hit[at]] = initial_words[hit[at]]
        for at in range(count):
            _restore_slot(terms, found[at], chosen)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@kernel
def _hits_of(users: PostingLists, held: I32, hit: U32) -> tuple[U32, int]:
    """The terms of the satisfied predicates, written to `hit` or to a longer array, and how many.

    Words are read after all terms are known: the loads are independent then, and overlap.
    """
    counts, heads, cells = users.counts, users.heads, users.cells
    hits = 0
    for number in held:
        if hits + counts[number] > len(hit):
            hit = grow(hit, 2 * (hits + counts[number]))
        for run in range(run_count(counts, heads, cells, number)):
            start, end = run_bounds(counts, heads, cells, number, run)
            for place in range(start, end):
                hit[hits] = cells[place]
                hits += 1
    return hit, hits


@kernel
def _mark_matched(terms: Terms, term: int, words: U32) -> None:
    """Make the other terms of a slot that has matched be skipped."""
    if terms.flags[term] & SEVERAL:
        for other in postings_in(terms.slot_terms, terms.slots[term]):
            words[other] |= _MATCHED


@kernel
def _restore_slot(terms: Terms, term: int, chosen: Preselection) -> None:
    if terms.flags[term] & SEVERAL:
        for other in postings_in(terms.slot_terms, terms.slots[term]):
            chosen.words[other] = chosen.initial_words[other]


@kernel
def preselection_sizes(chosen: Preselection) -> tuple[int, int]:
    """The number of chosen attributes, and the bytes of words."""
    return len(chosen.axes), chosen.initial_words.nbytes + chosen.words.nbytes


@kernel
def take_work(chosen: Preselection) -> I64:
    """Counts of the work since the last call."""
    done = chosen.work.copy()
    chosen.work[:] = 0
    return done
