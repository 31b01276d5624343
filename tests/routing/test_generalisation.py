"""Generalised formulas lose no event, and the distinct ones keep to a budget."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.events.batch import EventBatch
from tamis.formulas.formula import disjunction
from tamis.frames import BatchFrame
from tamis.language.condition import normalise
from tamis.routing.generalisation import COMMON, distinct_formulas, generalise, known_measures
from tamis.routing.pruning import MEASURES
from tamis.routing.stored_bytes import ENTRY_BYTES, NODE_BYTES
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
    for measure in (COMMON, *MEASURES):
        for budget in (0, 1_000, 10_000, 1 << 30):
            general = generalise(forest, budget, measure)
            for formula, number in zip(formulas, general.of.tolist(), strict=True):
                assert misses(general.formulas[number], formula, frame) == 0


@pytest.mark.slow
@pytest.mark.parametrize("measure", [COMMON, *MEASURES])
def test_formulas_become_more_general_and_fewer_the_smaller_the_budget(measure: str) -> None:
    random_ = random.Random(measure)
    for _ in range(4):
        frame = random_frame(random_)
        formulas = [random_formula(random_) for _ in range(60)]
        forest = forest_of(formulas)
        whole = generalise(forest, 1 << 30, measure)
        assert [whole.formulas[number] for number in whole.of] == list(forest)
        before = whole.bytes
        for budget in (20_000, 8_000, 3_000, 800):
            general = generalise(forest, budget, measure)
            assert general.bytes <= 1.01 * min(budget, before)
            assert general.counts.sum() == len(formulas)
            for formula, number in zip(formulas, general.of.tolist(), strict=True):
                assert misses(general.formulas[number], formula, frame) == 0


def test_nothing_is_smaller_than_true() -> None:
    general = generalise(forest_of([normalise("a = 1"), normalise("b IN (1, 2, 3)")]), 0)
    assert general.formulas == [normalise("TRUE")]
    assert general.bytes == ENTRY_BYTES + NODE_BYTES


def test_equal_formulas_of_different_groups_count_each() -> None:
    forest = forest_of([normalise(f"title = 'Emma' AND price < {price}") for price in range(40)])
    groups = np.arange(40, dtype=np.int32) % 10
    one = generalise(forest, 1_000)
    assert one.formulas == [normalise("title = 'Emma'")]
    assert generalise(forest, 10 * one.bytes, groups=groups).formulas == one.formulas
    assert generalise(forest, 9 * one.bytes, groups=groups).formulas != one.formulas
    assert generalise(forest, 9 * one.bytes, "accuracy", groups=groups).formulas != one.formulas


def test_attributes_that_distinguish_subscriptions_but_not_events_go_first() -> None:
    texts = [f"title = 'T{title}' AND price < {price}" for title in range(8) for price in range(10, 60)]
    general = generalise(forest_of([normalise(text) for text in texts]), 2_000, COMMON, Statistics())
    assert set(general.formulas) == {normalise(f"title = 'T{title}'") for title in range(8)}


def test_measures_are_the_bulk_one_and_those_of_pruning() -> None:
    assert known_measures() == (COMMON, *MEASURES)


def test_a_measure_learns_from_the_sample() -> None:
    forest = forest_of([formula_of("a < 3 AND b < 3")])
    for seldom, often, left in (("a", "b", "a < 3"), ("b", "a", "b < 3")):
        sample = EventBatch.of([{seldom: 9, often: 1}] * 20, EVENTS)
        assert generalise(forest, 250, "accuracy", None, sample).formulas == [formula_of(left)]


def test_equal_formulas_are_one() -> None:
    one, other = normalise("a = 1"), normalise("b = 2")
    general = distinct_formulas([one, other, one], np.array([0, 2, 1, 0]))
    assert general.formulas == [one, other]
    assert general.of.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("measure", ["common", "occurrence"])
def test_merged_formulas_admit_fewer_events_than_pruned_ones(measure: str) -> None:
    """Two operands differ in nearly every formula: to delete one of them costs more than to write a list."""
    texts = [f"title = 'book {n}' AND price < {n % 40 + 1}" for n in range(400)]
    formulas = [normalise(text) for text in texts]
    events = [{"title": f"book {n % 500}", "price": (n * 7) % 60} for n in range(1_500)]
    batch, forest = EventBatch.of(events), forest_of(formulas)
    frame, groups = BatchFrame(batch), np.arange(400, dtype=np.int32) % 2
    exact = generalise(forest, 1 << 30, merging=True)
    assert [exact.formulas[number] for number in exact.of] == formulas
    budget = exact.bytes / 5

    def admitted(merging: bool) -> int:
        """Events, once for each group."""
        found = generalise(forest, budget, measure, None, batch, groups, merging=merging)
        for formula, number in zip(formulas, found.of.tolist(), strict=True):
            assert misses(found.formulas[number], formula, frame) == 0
        numbers = [np.unique(found.of[groups == group]) for group in range(2)]
        entries = [[found.formulas[number] for number in some] for some in numbers]
        assert sum(distinct_formulas(some, np.arange(len(some))).bytes for some in entries) <= budget
        return sum(int(disjunction(some).mask(frame).sum()) for some in entries)

    assert admitted(merging=True) < admitted(merging=False)
