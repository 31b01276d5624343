"""The best generalisation of one formula, before it is forwarded, after, or both."""

from __future__ import annotations

import random

import pytest

from tamis.language.formula import FALSE, TRUE
from tamis.routing.measures import ACCURACY, EFFICIENCY, MEASURES
from tamis.routing.pruning import Pruner
from tamis.routing.ranking import Ranking, generalised
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.trees import hulls
from tests.routing.auctions import golden_table, third_class
from tests.routing.drawing import formula_of, misses, random_formula, random_frame, table_of


@pytest.mark.parametrize("name", MEASURES)
def test_one_formula_by_itself_loses_no_event(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    ranking = Ranking(MEASURES[name], SelectivityTable(), replacing=hulls)
    for _ in range(15):
        formula = random_formula(random_)
        for count in (1, 3, None):
            assert misses(generalised(formula, ranking, count=count), formula, frame) == 0


@pytest.mark.parametrize("name", MEASURES)
def test_pruned_before_and_after_forwarding_no_event_is_lost(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    ranking = Ranking(MEASURES[name], SelectivityTable())
    originals = {number: random_formula(random_) for number in range(20)}
    pruner = Pruner(MEASURES[name], SelectivityTable())
    for number, formula in originals.items():
        pruner.register(number, generalised(formula, ranking, count=1), neighbour="north")
    pruner.prune(count=20)
    assert pruner.totals.prunings == 20
    assert all(misses(entry.current, originals[int(str(entry.id))], frame) == 0 for entry in pruner)


def test_the_best_option_of_the_golden_example_and_its_rank() -> None:
    ranking = Ranking(ACCURACY, golden_table())
    best = ranking.best(ranking.facts(third_class()), third_class())
    assert best is not None
    assert best.rank == pytest.approx((1, 0.00014, 1, -7), abs=5e-6)
    assert best.outline == (2, 40, 6)


def test_a_threshold_ends_it() -> None:
    ranking = Ranking(ACCURACY, table_of({"a < 3": 0.9, "b < 3": 0.9, "c < 3": 0.9}))
    formula = formula_of("a < 3 AND b < 3 AND c < 3")
    assert generalised(formula, ranking, threshold=0.05) == formula
    assert generalised(formula, ranking, threshold=0.15) == formula_of("b < 3 AND c < 3")
    assert generalised(formula, ranking, threshold=0.25) == formula_of("c < 3")


def test_constants_and_single_predicates_stay() -> None:
    ranking = Ranking(EFFICIENCY, SelectivityTable())
    for formula in (TRUE, FALSE, formula_of("a < 3"), formula_of("a IN (1, 5)")):
        assert generalised(formula, ranking) == formula
    assert generalised(
        formula_of("a IN (1, 5)"), Ranking(EFFICIENCY, SelectivityTable(), replacing=hulls)
    ) == formula_of("a >= 1 AND a <= 5")
