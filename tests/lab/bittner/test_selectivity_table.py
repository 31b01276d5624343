"""Selectivities as counted, as estimated, and as estimated for formulas."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.formulas.formula import FALSE, TRUE
from tamis.formulas.predicates.within import Within
from tamis.frames import BatchFrame
from tamis.lab.bittner.selectivity_table import SelectivityTable, sampled_selectivity
from tamis.selectivity import priors
from tamis.selectivity.priors import MIN_SAMPLE
from tamis.statistics import AttributeStatistics
from tests.lab.bittner.auctions import golden_table, third_class
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


def test_what_is_forgotten_is_estimated() -> None:
    table = table_of({"a < 5": 0.25})
    table.forget(formula_of("a < 5").predicates())
    assert share(table, "a < 5") == priors.RANGE


# --- formulas --------------------------------------------------------------------------------------------------


def test_the_golden_example() -> None:
    assert golden_table().estimate(third_class()) == pytest.approx((0.0, 0.00239, 0.017), abs=5e-6)


def test_constants() -> None:
    assert SelectivityTable().estimate(TRUE) == (1, 1, 1)
    assert SelectivityTable().estimate(FALSE) == (0, 0, 0)


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


# --- by a sample of values -------------------------------------------------------------------------------------


def within(text: str) -> Within:
    (predicate,) = formula_of(text).predicates()
    assert isinstance(predicate, Within)
    return predicate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < 25", 0.8 * 0.25),
        ("a >= 25 AND a < 75", 0.8 * 0.5),
        ("a >= 75 OR a IS NULL", 0.8 * 0.25 + 0.2),
        ("a IS NOT NULL", 0.8),
        ("a IS NULL", 0.2),
    ],
)
def test_a_predicate_holds_in_its_part_of_the_sample(text: str, expected: float) -> None:
    facts = AttributeStatistics(events=1_000, present=800, sample=list(range(100)))
    assert sampled_selectivity(within(text), facts) == pytest.approx(expected, abs=0.01)


def test_a_small_sample_says_nothing() -> None:
    assert sampled_selectivity(within("a < 5"), None) is None
    facts = AttributeStatistics(20, 20, list(range(MIN_SAMPLE - 1)))
    assert sampled_selectivity(within("a < 5"), facts) is None
