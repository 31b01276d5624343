"""Conjunctions say what their formulas say, or something weaker that is marked as such."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.conjunctions.dnf import (
    CONJUNCTIONS,
    LEAVES,
    LONGEST,
    SEVERAL,
    UNSURE,
    Conjunctions,
    conjunctions_of,
)
from tamis.engines.forest import Forest, forest_of
from tamis.language.condition import compile_condition
from tests.engines.naive import node_holds, random_forest


def conjunctions_by_slot(forest: Forest) -> tuple[Conjunctions, list[list[list[int]]]]:
    found = conjunctions_of(forest)
    by_slot: list[list[list[int]]] = [[] for _ in range(len(forest))]
    for place, slot in enumerate(found.slots.tolist()):
        by_slot[slot].append(found.leaves[found.firsts[place] : found.firsts[place + 1]].tolist())
    return found, by_slot


def check(forest: Forest, random_: random.Random) -> tuple[int, int]:
    """How many formulas are unsure, and how many have several conjunctions."""
    found, by_slot = conjunctions_by_slot(forest)
    assert (np.diff(found.slots) >= 0).all()
    flags = dict(zip(found.slots.tolist(), found.flags.tolist(), strict=True))
    for slot, conjunctions in enumerate(by_slot):
        assert len(conjunctions) <= CONJUNCTIONS
        assert sum(map(len, conjunctions)) <= LEAVES
        assert all(len(conjunction) <= LONGEST for conjunction in conjunctions)
        if conjunctions:
            assert bool(flags[slot] & SEVERAL) == (len(conjunctions) > 1)
    for share in (0.05, 0.3, 0.6, 0.9, 0.97):
        truth = [random_.random() < share for _ in range(len(forest.leaves.kinds))]
        for slot, conjunctions in enumerate(by_slot):
            wanted = node_holds(forest, int(forest.roots[slot]), truth)
            some = any(all(truth[leaf] for leaf in conjunction) for conjunction in conjunctions)
            assert some == wanted or (some and flags[slot] & UNSURE), (slot, share)
    unsure = sum(1 for flag in flags.values() if flag & UNSURE)
    return unsure, sum(1 for flag in flags.values() if flag & SEVERAL)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_random_formulas(depth: int) -> None:
    random_ = random.Random(depth)
    unsure, several = check(random_forest(random_, 150, depth=depth), random_)
    if depth == 1:
        assert unsure == 0
    if depth == 4:
        assert unsure > 5 and several > 20


def forest_for(text: str) -> Forest:
    return forest_of([compile_condition(text).formula])


def test_a_conjunction_stays_as_it_is() -> None:
    found, by_slot = conjunctions_by_slot(forest_for("a = 1 AND b > 2 AND c LIKE '%x%'"))
    assert by_slot == [[[0, 1, 2]]]
    assert found.flags.tolist() == [0]


def test_constants() -> None:
    forest = forest_of([compile_condition(text).formula for text in ("TRUE", "FALSE")])
    found, by_slot = conjunctions_by_slot(forest)
    assert by_slot == [[[]], []]
    assert found.flags.tolist() == [0]


def test_what_does_not_fit_is_left_out_of_an_and() -> None:
    pairs = " AND ".join(f"(a{number} = 1 OR b{number} = 2)" for number in range(8))
    forest = forest_for(f"{pairs} AND z = 3")
    found, by_slot = conjunctions_by_slot(forest)
    assert len(by_slot[0]) == CONJUNCTIONS
    assert {len(conjunction) for conjunction in by_slot[0]} == {6}
    assert set(found.flags.tolist()) == {SEVERAL | UNSURE}
    check(forest, random.Random(1))


def test_a_long_and_keeps_as_many_leaves_as_a_byte_counts() -> None:
    forest = forest_for(" AND ".join(f"a{number} = 1" for number in range(400)))
    found, by_slot = conjunctions_by_slot(forest)
    assert [len(conjunction) for conjunction in by_slot[0]] == [LONGEST]
    assert found.flags.tolist() == [UNSURE]


def test_a_long_or_is_always_evaluated() -> None:
    found, by_slot = conjunctions_by_slot(forest_for(" OR ".join(f"a{number} = 1" for number in range(40))))
    assert by_slot == [[[]]]
    assert found.flags.tolist() == [UNSURE]


@pytest.mark.parametrize(
    ("least", "count", "conjunctions", "unsure"),
    [
        (2, 4, 6, False),
        (3, 4, 4, False),
        (1, 32, 32, False),
        (8, 10, 28, True),
        (30, 60, 31, True),
        (20, 60, 1, True),
    ],
    ids=["2 of 4", "3 of 4", "1 of 32", "8 of 10, as 6 of 8", "30 of 60, as 1 of 31", "20 of 60"],
)
def test_at_least(least: int, count: int, conjunctions: int, unsure: bool) -> None:
    forest = forest_for(f"AT_LEAST({least}, {', '.join(f'a{number} = 1' for number in range(count))})")
    found, by_slot = conjunctions_by_slot(forest)
    assert len(by_slot[0]) == conjunctions
    assert bool(found.flags[0] & UNSURE) == unsure
    check(forest, random.Random(2))


@pytest.mark.slow
def test_nested_exclusive_ors_and_formulas_too_large_to_look_into() -> None:
    xor = " XOR ".join(f"a{number} = 1" for number in range(12))
    several = " OR ".join(f"(b{number} = 1 AND c{number} = 2)" for number in range(600))
    for text in (xor, several, f"z = 1 AND ({several})"):
        forest = forest_for(text)
        found, by_slot = conjunctions_by_slot(forest)
        assert len(found.slots) == 1 or found.flags[0] & SEVERAL
        assert (found.flags & UNSURE).all()
    assert [len(conjunction) for conjunction in by_slot[0]] == [1]
