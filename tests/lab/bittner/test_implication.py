"""Which formulas cover which, and that what covers loses no event."""

from __future__ import annotations

import random

import pytest

from tamis.formulas.formula import conjunction, disjunction
from tamis.lab.bittner.implication import covers, terms
from tamis.lab.bittner.prunings import pruning_options
from tamis.routing.trees import tree_size
from tests.lab.bittner.auctions import class_formulas
from tests.routing.drawing import formula_of, misses, random_formula, random_frame


@pytest.mark.parametrize(
    ("general", "special", "expected"),
    [
        ("a < 5", "a < 3", True),
        ("a < 5", "a < 3 AND b = 1", True),
        ("a < 5 AND b = 1", "a < 3", False),
        ("a < 3", "a < 5", False),
        ("a < 5 OR b = 1", "b = 1 AND c = 2", True),
        ("b = 1", "a < 3 OR b = 1", False),
        ("s LIKE '%x'", "s LIKE '%x' AND a = 1", True),
        ("s LIKE '%x'", "s LIKE '%xx'", False),
        ("a < 5 OR a IS NULL", "a < 3", True),
        ("a < 5", "a < 3 OR a IS NULL", False),
        ("at_least(2, a = 1, b = 1, c = 1)", "a = 1 AND c = 1 AND d = 1", True),
        ("a = 1", "a = 1 AND a = 2", True),
    ],
)
def test_which_covers_which(general: str, special: str, expected: bool) -> None:
    assert covers(formula_of(general), formula_of(special)) is expected


def test_terms_of_the_three_classes() -> None:
    found = [terms(each) for each in class_formulas()]
    assert [len(each or []) for each in found] == [2, 4, 6]
    assert [sum(tree_size(term).leaves for term in each or []) for each in found] == [8, 20, 18]


def test_too_many_terms_are_not_made_and_cover_only_their_equals() -> None:
    text = " AND ".join(f"(a = {number} OR s LIKE '%{number}')" for number in range(6))
    formula = formula_of(text)
    assert terms(formula, 4) is None
    assert covers(formula, formula_of(text), 4)
    assert not covers(formula_of("a < 5"), conjunction([formula, formula_of("a < 2")]), 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_terms_say_the_same_and_covering_is_true(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_, 2) for _ in range(20)]
    for formula in formulas:
        found = terms(formula, 200)
        assert found is not None
        assert (disjunction(found).mask(frame) == formula.mask(frame)).all()
        for special in pruning_options(formula):
            assert covers(formula, formula, 200)
            if terms(special.result, 200) is not None:
                assert covers(special.result, formula, 200), f"{special.result} does not cover {formula}"
    covered = [(one, other) for one in formulas for other in formulas if covers(one, other, 200)]
    assert all(misses(one, other, frame) == 0 for one, other in covered)
