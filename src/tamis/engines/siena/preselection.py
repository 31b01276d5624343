"""The kernels of `siena`: which attributes terms need, and the pairs of a batch.

Every term has a word: the hits that it needs yet in the lowest byte, and above that a bit for each attribute of
the preselection that it needs, which are those that most terms need. A row has a word with the bits of those that
it lacks. A term that shares a bit with it is passed over wherever it turns up, before it is counted. One more bit
stands for a slot that has matched, so that its other terms are passed over, too.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba.experimental import structref

from tamis.engines.conjunctions.dnf import SEVERAL
from tamis.engines.counting.filing import Tally
from tamis.engines.dynamic.bags import Bags, numbers_in, run_of, runs_of
from tamis.engines.dynamic.index import Event
from tamis.engines.dynamic.predicates import Predicates, held_in, room_for_held
from tamis.engines.dynamic.terms import Terms, predicates_of_term, report_terms
from tamis.engines.encoding import Encoded
from tamis.engines.grouping import grown
from tamis.engines.structs import struct

Bytes: TypeAlias = npt.NDArray[np.uint8]
Ints: TypeAlias = npt.NDArray[np.int64]
Shorts: TypeAlias = npt.NDArray[np.int32]
Words: TypeAlias = npt.NDArray[np.uint32]

MOST_ATTRIBUTES = 23
"""How many a preselection may have, so that a word has room for them."""
_HITS, _ONE = np.uint32(255), np.uint32(1)
_MATCHED = np.uint32(1 << 8)
_FIRST_BIT = 9


@struct
class Preselection(structref.StructRefProxy):  # type: ignore[misc]
    """What `preselection_of` gives; only compiled code looks into it.

    size: how many attributes to choose.
    axes: int32[up to size]: those chosen; the bit of each is one further.
    ranked: how many terms there were when they were chosen.
    filed: uint32[terms]: the word of each; words: as `filed` between events.
    work: int64[4]: predicates that held, hits, those of terms that were passed over, terms that held.
    """

    size: int
    axes: Shorts
    ranked: int
    filed: Words
    words: Words
    work: Ints


@numba.njit(cache=True, nogil=True)
def preselection_of(size: int) -> Preselection:
    """Of no terms."""
    none = np.empty(0, np.uint32)
    return Preselection(size, np.empty(0, np.int32), 0, none, none.copy(), np.zeros(4, np.int64))


@numba.njit(cache=True, nogil=True)
def preselect(chosen: Preselection, tally: Tally, predicates: Predicates, slots: Shorts) -> None:
    """Give the terms of slots their words; to all terms, when there are twice as many as when axes were chosen."""
    filled = tally.terms.filled
    if tally.terms.made > len(chosen.words):
        length = len(tally.needed)
        chosen.filed, chosen.words = grown(chosen.filed, length), grown(chosen.words, length)
    if tally.terms.count > 2 * chosen.ranked:
        chosen.ranked = tally.terms.count
        slots = np.arange(len(filled.counts)).astype(np.int32)
        chosen.axes = _most_needed(chosen, tally.terms, predicates, slots)
    bits = np.zeros(len(predicates.intervals.axes), np.uint32)
    for place in range(len(chosen.axes)):
        bits[chosen.axes[place]] = _ONE << np.uint32(_FIRST_BIT + place)
    for slot in slots:
        if slot >= len(filled.counts):
            continue  # FALSE has no terms
        for term in numbers_in(filled, slot):
            word = np.uint32(tally.needed[term])
            for number in predicates_of_term(tally.terms, term):
                if _needs_value(predicates, number):
                    word |= bits[predicates.axes[number]]
            chosen.filed[term] = chosen.words[term] = word


@numba.njit(cache=True, nogil=True)
def _needs_value(predicates: Predicates, number: int) -> bool:
    """Does a predicate hold only where its axis has a value?"""
    return predicates.axes[number] >= 0 and predicates.nulls[number] == 0


@numba.njit(cache=True, nogil=True)
def _most_needed(chosen: Preselection, terms: Terms, predicates: Predicates, slots: Shorts) -> Shorts:
    """The axes that most terms need, the first of them first."""
    uses = np.zeros(len(predicates.intervals.axes), np.int64)
    for slot in slots:
        for term in numbers_in(terms.filled, slot):
            for number in predicates_of_term(terms, term):
                if _needs_value(predicates, number):
                    uses[predicates.axes[number]] += 1
    order = np.argsort(-uses, kind="mergesort")[: min(chosen.size, np.count_nonzero(uses))]
    return order.astype(np.int32)


@numba.njit(cache=True, nogil=True)
def _lacked(chosen: Preselection, encoded: Encoded, row: int) -> np.uint32:
    """The bits of the chosen axes that have no value in a row, and the one of slots that have matched."""
    word = _MATCHED
    for place in range(len(chosen.axes)):
        axis = chosen.axes[place]
        line = encoded.columns[axis] if axis < len(encoded.columns) else -1
        if line < 0 or encoded.valid[line, row] == 0:
            word |= _ONE << np.uint32(_FIRST_BIT + place)
    return word


@numba.njit(cache=True, nogil=True)
def match_preselected(
    tally: Tally, chosen: Preselection, predicates: Predicates, event: Event
) -> tuple[Shorts, Shorts, Bytes]:
    """The pairs that hold, and those that may: rows, slots, and 1 for those that do."""
    held = room_for_held(predicates)
    terms, words, filed = tally.terms, chosen.words, chosen.filed
    found, hit = np.empty(terms.count + 1, np.int32), np.empty(1024, np.uint32)
    seen = np.full(len(terms.filled.counts), -1, np.int32)
    rows, slots, sure = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.uint8)
    used = 0
    for row in range(event.encoded.rows):
        lacked = _lacked(chosen, event.encoded, row)
        holding = held_in(predicates, event.encoded, event.tests, event.with_null, row, held)
        hit, hits = _hits_of(tally.users, held[:holding], hit)
        count, passed = 0, 0
        for term in numbers_in(tally.always, 0):
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
                _leave_out(terms, found[count], words)
                count += 1
        if used + count > len(rows):
            length = 2 * (used + count)
            rows, slots, sure = grown(rows, length), grown(slots, length), grown(sure, length)
        used = report_terms(terms, found, count, row, seen, (rows, slots, sure), used)
        for place, done in enumerate((holding, hits, passed, count)):
            chosen.work[place] += done
        for at in range(hits):
            words[hit[at]] = filed[hit[at]]
        for at in range(count):
            _restore_slot(terms, found[at], chosen)
    return rows[:used].copy(), slots[:used].copy(), sure[:used].copy()


@numba.njit(cache=True, nogil=True)
def _hits_of(users: Bags, held: Shorts, hit: Words) -> tuple[Words, int]:
    """The terms of the predicates that hold, written to `hit` or to a longer array, and how many.

    Terms are looked at after all of them are known: memory then answers for many of them at a time.
    """
    counts, heads, cells = users.counts, users.heads, users.cells
    hits = 0
    for number in held:
        if hits + counts[number] > len(hit):
            hit = grown(hit, 2 * (hits + counts[number]))
        for run in range(runs_of(counts, heads, cells, number)):
            start, end = run_of(counts, heads, cells, number, run)
            for place in range(start, end):
                hit[hits] = cells[place]
                hits += 1
    return hit, hits


@numba.njit(cache=True, nogil=True)
def _leave_out(terms: Terms, term: int, words: Words) -> None:
    """Let the other terms of a slot that has matched be passed over."""
    if terms.flags[term] & SEVERAL:
        for other in numbers_in(terms.filled, terms.slots[term]):
            words[other] |= _MATCHED


@numba.njit(cache=True, nogil=True)
def _restore_slot(terms: Terms, term: int, chosen: Preselection) -> None:
    if terms.flags[term] & SEVERAL:
        for other in numbers_in(terms.filled, terms.slots[term]):
            chosen.words[other] = chosen.filed[other]


@numba.njit(cache=True, nogil=True)
def preselection_figures(chosen: Preselection) -> tuple[int, int]:
    """How many attributes are chosen, and the bytes of words."""
    return len(chosen.axes), chosen.filed.nbytes + chosen.words.nbytes


@numba.njit(cache=True, nogil=True)
def preselection_work(chosen: Preselection) -> Ints:
    """What was done since this was asked last."""
    done = chosen.work.copy()
    chosen.work[:] = 0
    return done
