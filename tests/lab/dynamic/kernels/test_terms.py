"""Terms keep their slots and predicates, and give their numbers back when they go."""

from __future__ import annotations

import random

import numba
import numpy as np

from tamis.arrays import I32
from tamis.lab.dynamic.kernels.posting_lists import postings_in
from tamis.lab.dynamic.kernels.terms import Terms, empty_terms, free_term, new_term, term_bytes, term_predicates


@numba.njit(cache=True)
def summary(terms: Terms) -> tuple[int, int, int]:
    return terms.made, terms.count, int(np.count_nonzero(terms.slot_terms.counts))


@numba.njit(cache=True)
def slot_and_flags(terms: Terms, term: int) -> tuple[int, int]:
    return terms.slots[term], terms.flags[term]


@numba.njit(cache=True)
def terms_in(terms: Terms, slot: int) -> I32:
    return postings_in(terms.slot_terms, slot)


def test_terms_come_and_go() -> None:
    random_ = random.Random(91)
    terms = empty_terms()
    living: dict[int, tuple[int, int, list[int]]] = {}
    most = 0
    for _ in range(800):
        if living and random_.random() < 0.45:
            term = random_.choice([*living])
            free_term(terms, term)
            del living[term]
        else:
            slot, flags = random_.randrange(40), random_.randrange(4)
            predicates = [random_.randrange(30) for _ in range(random_.choice((0, 1, 2, 5, 300)))]
            term = new_term(terms, slot, flags, np.array(predicates, np.int32))
            assert term not in living
            living[term] = slot, flags, sorted(predicates)
        most = max(most, len(living))
        assert summary(terms) == (most, len(living), len({slot for slot, _, _ in living.values()}))
    assert len(living) > 50
    for term, (slot, flags, predicates) in living.items():
        assert slot_and_flags(terms, term) == (slot, flags)
        assert term_predicates(terms, term).tolist() == predicates
    for slot in range(40):
        assert terms_in(terms, slot).tolist() == sorted(term for term, each in living.items() if each[0] == slot)


def test_nothing_grows_while_terms_come_and_go() -> None:
    terms = empty_terms()
    numbers = [new_term(terms, slot, 0, np.arange(slot, dtype=np.int32)) for slot in range(50)]
    size = term_bytes(terms)
    for turn in range(1_000):
        slot = turn * 7 % 50
        free_term(terms, numbers[slot])
        numbers[slot] = new_term(terms, slot, 0, np.arange(slot, dtype=np.int32))
    assert term_bytes(terms) == size
    assert sorted(numbers) == [*range(50)]
