"""Generalised formulas lose no event, and the distinct ones keep to a budget."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.lab.bittner.measures import MEASURES
from tamis.language.condition import normalise
from tamis.routing.generalisation import (
    COMMON,
    distinct_formulas,
    generalise,
    generalise_to_budget,
    known_measures,
)
from tamis.routing.trees import size
from tamis.statistics import Statistics
from tests.routing.drawing import EVENTS, formula_of, misses, random_formula, random_frame
from tests.worlds import world


@pytest.mark.slow
@pytest.mark.parametrize("name", ["typed", "schemaless"])
def test_conditions_of_every_kind_lose_no_event(name: str) -> None:
    random_ = random.Random(name)
    here = world(name)
    formulas = [condition.formula for condition in here.accepted(random_, 150)]
    frame = BatchFrame(here.batch(random_, 100))
    forest = forest_of(formulas)
    for budget in (0, 500, 2_000, 1 << 30):
        general = generalise_to_budget(forest, budget)
        for formula, number in zip(formulas, general.of.tolist(), strict=True):
            assert misses(general.formulas[number], formula, frame) == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_formulas_become_more_general_and_fewer_the_smaller_the_budget(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(60)]
    forest = forest_of(formulas)
    whole = generalise_to_budget(forest, 1 << 30)
    assert [whole.formulas[number] for number in whole.of] == list(forest)
    before = whole.bytes
    for budget in (800, 400, 200, 100, 0):
        general = generalise_to_budget(forest, budget)
        smallest = generalise_to_budget(forest, 0)
        assert general.bytes <= max(budget, smallest.bytes)
        assert general.bytes <= before
        assert general.counts.sum() == len(formulas)
        for formula, number in zip(formulas, general.of.tolist(), strict=True):
            assert misses(general.formulas[number], formula, frame) == 0


def test_attributes_that_distinguish_subscriptions_but_not_events_go_first() -> None:
    texts = [f"title = 'T{title}' AND price < {price}" for title in range(8) for price in range(10, 60)]
    statistics = Statistics()
    general = generalise_to_budget(forest_of([normalise(text) for text in texts]), 100, statistics)
    assert set(general.formulas) == {normalise(f"title = 'T{title}'") for title in range(8)}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_pruning_step_by_step_keeps_to_the_budget_and_loses_nothing(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(30)]
    forest = forest_of(formulas)
    end = generalise(forest, 0, name, None, None)
    for budget in (500, 300):
        general = generalise(forest, budget, name, None, None)
        assert general.bytes <= max(budget, sum(end.counts * [size(each) for each in end.formulas]))
        for formula, number in zip(formulas, general.of.tolist(), strict=True):
            assert misses(general.formulas[number], formula, frame) == 0


def test_measures_are_the_own_and_those_of_the_laboratory() -> None:
    assert known_measures() == (COMMON, *MEASURES)
    forest = forest_of([normalise(f"title = 'Emma' AND price < {price}") for price in range(10, 90)])
    assert generalise(forest, 100, COMMON, None, None).formulas == generalise_to_budget(forest, 100).formulas


def test_a_measure_of_the_laboratory_learns_from_the_sample() -> None:
    forest = forest_of([formula_of("a < 3 AND b < 3")])
    for seldom, often, left in (("a", "b", "a < 3"), ("b", "a", "b < 3")):
        sample = EventBatch.of([{seldom: 9, often: 1}] * 20, EVENTS)
        assert generalise(forest, 5, "accuracy", None, sample).formulas == [formula_of(left)]


def test_equal_formulas_are_one() -> None:
    one, other = normalise("a = 1"), normalise("b = 2")
    general = distinct_formulas([one, other, one], np.array([0, 2, 1, 0]))
    assert general.formulas == [one, other]
    assert general.of.tolist() == [0, 0, 1, 0]
