"""Formulas in which nothing can be pruned are widened, as little as a budget allows."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.formulas.formula import FALSE, TRUE, Formula
from tamis.routing.widening import stored_sizes, widen
from tests.routing.drawing import formula_of, misses, random_formula, random_frame


def widened(formulas: list[Formula], budget: float) -> list[Formula]:
    return widen(formulas, np.arange(len(formulas), dtype=np.int32), budget, None, None)


@pytest.mark.parametrize("seed", range(6))
def test_budgets_are_kept_and_no_event_is_lost(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = list(dict.fromkeys(random_formula(random_, 2) for _ in range(30)))
    before = float(stored_sizes(formulas).sum())
    for budget in (before, before / 2, before / 5, 500, 110):
        found = widened(formulas, budget)
        # The bytes of a pattern are a mean of those that are measured together.
        assert stored_sizes(list(set(found) - {FALSE})).sum() <= 1.01 * budget
        assert all(misses(new, old, frame) == 0 for new, old in zip(found, formulas, strict=True))
        assert budget < before or found == formulas


def test_a_list_loses_its_gaps_then_its_ends_then_everything() -> None:
    long = formula_of(f"a IN ({', '.join(str(3 * number) for number in range(100))})")
    whole = formula_of("a >= 0 AND a <= 297")
    sizes = stored_sizes([long, whole, formula_of("a IS NOT NULL"), TRUE]).tolist()
    assert sizes[0] > 10 * sizes[1] > 10 * sizes[3]
    assert widened([long], sizes[0]) == [long]
    assert widened([long], sizes[1]) == [whole]
    assert widened([long], sizes[3]) == [TRUE]


def test_entries_that_become_equal_count_once() -> None:
    formulas = [formula_of(f"a = {number} OR b = {number}") for number in range(50)]
    found = widened(formulas, 2 * float(stored_sizes([formula_of("a IS NOT NULL OR b IS NOT NULL")])[0]))
    assert set(found) <= {*formulas, formula_of("a IS NOT NULL OR b IS NOT NULL")}
    assert formula_of("a IS NOT NULL OR b IS NOT NULL") in found


def test_constants_stay() -> None:
    assert widened([TRUE, FALSE], 0) == [TRUE, FALSE]
