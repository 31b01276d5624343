"""The best generalisation of one formula, before it is forwarded, after, or both."""

from __future__ import annotations

import random

import pytest

from tamis.formulas.formula import FALSE, TRUE, Formula
from tamis.lab.bittner.measures import ACCURACY, EFFICIENCY, MEASURES
from tamis.lab.bittner.pruning import Pruner
from tamis.lab.bittner.ranking import Ranking, ReplacingRanking, generalise
from tamis.lab.bittner.replacement import hulls
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tests.lab.bittner.auctions import golden_table, third_class
from tests.routing.drawing import formula_of, misses, random_formula, random_frame, table_of


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_one_formula_by_itself_loses_no_event(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    ranking = ReplacingRanking(MEASURES[name], SelectivityTable(), hulls)
    for _ in range(15):
        formula = random_formula(random_)
        for count in (1, 3, None):
            assert misses(generalise(formula, ranking, count=count), formula, frame) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_pruned_before_and_after_forwarding_no_event_is_lost(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    ranking = Ranking(MEASURES[name], SelectivityTable())
    originals = {number: random_formula(random_) for number in range(20)}
    pruner = Pruner(MEASURES[name], SelectivityTable())
    for number, formula in originals.items():
        pruner.register(number, generalise(formula, ranking, count=1), neighbour="north")
    pruner.prune(count=20)
    assert pruner.totals.prunings == 20
    assert all(misses(entry.current, originals[int(str(entry.id))], frame) == 0 for entry in pruner)


def test_a_threshold_ends_it() -> None:
    ranking = Ranking(ACCURACY, table_of({"a < 3": 0.9, "b < 3": 0.9, "c < 3": 0.9}))
    formula = formula_of("a < 3 AND b < 3 AND c < 3")
    assert generalise(formula, ranking, threshold=0.05) == formula
    assert generalise(formula, ranking, threshold=0.15) == formula_of("b < 3 AND c < 3")
    assert generalise(formula, ranking, threshold=0.25) == formula_of("c < 3")


def test_constants_and_single_predicates_stay() -> None:
    ranking = Ranking(EFFICIENCY, SelectivityTable())
    for formula in (TRUE, FALSE, formula_of("a < 3"), formula_of("a IN (1, 5)")):
        assert generalise(formula, ranking) == formula
    assert generalise(
        formula_of("a IN (1, 5)"), ReplacingRanking(EFFICIENCY, SelectivityTable(), hulls)
    ) == formula_of("a >= 1 AND a <= 5")


def test_the_best_option_of_the_golden_example_and_its_rank() -> None:
    ranking = Ranking(ACCURACY, golden_table())
    best = ranking.best(ranking.facts(third_class()), third_class())
    assert best is not None
    assert best.rank == pytest.approx((1, 0.00014, 1, -7), abs=5e-6)
    assert best.size == (2, 40, 6)


@pytest.mark.parametrize("formula", [TRUE, FALSE, formula_of("a < 3"), formula_of("a < 3 OR b < 3")], ids=str)
def test_where_nothing_can_be_pruned_there_is_no_best(formula: Formula) -> None:
    ranking = Ranking(EFFICIENCY, SelectivityTable())
    assert ranking.best(ranking.facts(formula), formula) is None


def test_of_equal_ranks_the_first_is_best() -> None:
    formula = formula_of("a < 3 AND b < 3")
    ranking = Ranking(ACCURACY, table_of({"a < 3": 0.5, "b < 3": 0.5}))
    best = ranking.best(ranking.facts(formula), formula)
    assert best is not None
    assert best.result == formula_of("b < 3")


def test_what_is_computed_is_pruned_first_unless_that_is_off() -> None:
    formula = formula_of("a < 3 AND a + b < 3")
    table = table_of({"a < 3": 0.99})
    for opaque_first, left in ((True, "a < 3"), (False, "a + b < 3")):
        ranking = Ranking(ACCURACY, table, opaque_first=opaque_first)
        best = ranking.best(ranking.facts(formula), formula)
        assert best is not None
        assert best.result == formula_of(left)
