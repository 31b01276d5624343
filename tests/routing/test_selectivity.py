"""Selectivities as counted, as guessed, and as estimated for formulas."""

from __future__ import annotations

import random
from itertools import product
from math import prod

import numpy as np
import pytest

from tamis.events.compute import BatchFrame
from tamis.language.formula import FALSE, TRUE
from tamis.routing.selectivity import (
    RANGE_SHARE,
    Selectivity,
    SelectivityTable,
    combined,
)
from tests.routing.auctions import golden_table, third_class
from tests.routing.drawing import formula_of, random_formula, random_frame, table_of
from tests.worlds import WORLDS, world


def share(table: SelectivityTable, text: str) -> float:
    (predicate,) = formula_of(text).predicates()
    return table.of(predicate)


# --- counting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_counts_are_those_of_masks_for_predicates_of_all_kinds(name: str) -> None:
    random_ = random.Random(3)
    here = world(name)
    frames = [BatchFrame(here.batch(random_, rows)) for rows in (20, 7)]
    predicates = {each for found in here.accepted(random_, 25) for each in found.formula.predicates()}
    table = SelectivityTable()
    table.track(predicates)
    for frame in frames:
        table.observe(frame)
    for predicate in predicates:
        held = sum(int(predicate.mask(frame).sum()) for frame in frames)
        assert table.of(predicate) == held / 27, predicate.describe()


def test_a_predicate_that_comes_later_is_counted_from_then_on() -> None:
    random_ = random.Random(0)
    first, second = random_frame(random_, 50), random_frame(random_, 30)
    early, late = formula_of("a < 5"), formula_of("b < 5")
    table = SelectivityTable()
    table.track(early.predicates())
    table.observe(first)
    table.track(late.predicates())
    table.observe(second)
    assert share(table, "b < 5") == late.mask(second).mean()
    both = np.concatenate([early.mask(first), early.mask(second)])
    assert share(table, "a < 5") == both.mean()
    assert len(table) == table.version == 2


def test_with_a_half_life_the_old_fades() -> None:
    random_ = random.Random(0)
    first, second = random_frame(random_, 100), random_frame(random_, 100)
    table = SelectivityTable(half_life=50)
    formula = formula_of("a < 5")
    table.track(formula.predicates())
    table.observe(first)
    table.observe(second)
    expected = (formula.mask(first).sum() / 2 + formula.mask(second).sum()) / 150
    assert share(table, "a < 5") == pytest.approx(expected)


def test_what_is_forgotten_is_guessed() -> None:
    table = table_of({"a < 5": 0.25})
    table.forget(formula_of("a < 5").predicates())
    assert share(table, "a < 5") == RANGE_SHARE


# --- formulas --------------------------------------------------------------------------------------------------


def test_the_golden_example() -> None:
    assert golden_table().estimate(third_class()) == pytest.approx((0.0, 0.00239, 0.017), abs=5e-6)


def test_constants() -> None:
    assert SelectivityTable().estimate(TRUE) == (1, 1, 1)
    assert SelectivityTable().estimate(FALSE) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_at_least_of_independent_ones_against_all_outcomes(seed: int) -> None:
    random_ = random.Random(seed)
    shares = [random_.random() for _ in range(random_.randint(1, 5))]
    for least in range(len(shares) + 2):
        expected = sum(
            prod(one if held else 1 - one for one, held in zip(shares, outcome, strict=True))
            for outcome in product((False, True), repeat=len(shares))
            if sum(outcome) >= least
        )
        found = combined(least, [Selectivity(one, one, one) for one in shares])
        assert found.average == pytest.approx(expected)
        assert found.least <= found.average + 1e-12
        assert found.average <= found.most + 1e-12


def test_bounds_of_at_least_are_those_of_and_and_or_at_the_ends() -> None:
    shares = [Selectivity(one, one, one) for one in (0.9, 0.8, 0.7)]
    assert combined(3, shares) == pytest.approx((0.4, 0.504, 0.7))
    assert combined(1, shares) == pytest.approx((0.9, 0.994, 1.0))
    assert combined(2, shares)[::2] == pytest.approx((0.7, 1.0))
    few = [Selectivity(one, one, one) for one in (0.1, 0.2, 0.3)]
    assert combined(2, few)[::2] == pytest.approx((0.0, 0.3))


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_on_the_events_that_were_counted(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_, 150)
    table = SelectivityTable()
    formulas = [random_formula(random_) for _ in range(40)]
    for formula in formulas:
        table.track(formula.predicates())
    table.observe(frame)
    for formula in formulas:
        found = table.estimate(formula)
        held = formula.mask(frame).mean()
        assert found.least - 1e-9 <= held <= found.most + 1e-9, f"{formula}: {found}, counted {held}"
        assert found.least - 1e-9 <= found.average <= found.most + 1e-9
