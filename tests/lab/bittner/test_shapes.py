"""What a shape computes once for many formulas is what each formula gives by itself."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tamis.formulas.formula import FALSE, TRUE, Formula, at_least, conjunction, disjunction
from tamis.formulas.predicates.base import Predicate
from tamis.lab.bittner.measures import MEASURES, Facts, PruningStep
from tamis.lab.bittner.prunings import pruning_options
from tamis.lab.bittner.ranking import Ranking
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.lab.bittner.shapes import ShapeCache, skeleton
from tamis.routing.trees import is_opaque, leaf_counts, tree_size
from tests.routing.drawing import formula_of, random_formula, random_frame
from tests.worlds import WORLDS, world


def facts_of(formula: Formula, table: SelectivityTable, counts: Counter[Predicate]) -> Facts:
    """What measures know of a formula, without any shape."""
    uses = sum(times * max(1, counts[each]) for each, times in leaf_counts(formula).items()) if counts else 0
    return Facts(table.estimate(formula), tree_size(formula), uses)


def ranks_of(formula: Formula, ranking: Ranking, table: SelectivityTable) -> dict[Formula, tuple[float, ...]]:
    """The rank of every option, each made and asked for itself."""
    now = facts_of(formula, table, ranking.counts)
    found: dict[Formula, tuple[float, ...]] = {}
    for each in pruning_options(formula, bottom_up=ranking.measure.bottom_up):
        order = 0 if all(map(is_opaque, each.taken.predicates())) else 1
        step = PruningStep(now, now, facts_of(each.result, table, ranking.counts))
        rank = (order, *ranking.measure.rank(step))
        found[each.result] = min(rank, found.get(each.result, rank))
    return found


def check_best(formula: Formula, ranking: Ranking, table: SelectivityTable) -> bool:
    """Is the best option by shapes the best of all? Gives whether there was one."""
    assert ranking.facts(formula) == facts_of(formula, table, ranking.counts)
    ranks = ranks_of(formula, ranking, table)
    best = ranking.best(ranking.facts(formula), formula)
    if best is None:
        assert not ranks
        return False
    assert best.rank == min(ranks.values())
    assert ranks[best.result] == best.rank
    assert best.size == tree_size(best.result)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_the_best_option_is_the_best_of_all_whatever_shapes_were_seen_before(name: str) -> None:
    random_ = random.Random(name)
    formulas = [random_formula(random_) for _ in range(150)]
    table = SelectivityTable()
    for formula in formulas:
        table.track(formula.predicates())
    table.observe(random_frame(random_))
    ranking = Ranking(MEASURES[name], table)
    if MEASURES[name].counts:
        for formula in formulas:
            ranking.counts.update(leaf_counts(formula))
    assert sum(check_best(formula, ranking, table) for formula in formulas) > 50


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_option_for_predicates_of_all_kinds(name: str) -> None:
    random_ = random.Random(5)
    table = SelectivityTable()
    ranking = Ranking(MEASURES["accuracy"], table)
    formulas = [found.formula for found in world(name).accepted(random_, 60)]
    assert any([check_best(formula, ranking, table) for formula in formulas])


def test_formulas_that_differ_in_predicates_have_one_shape() -> None:
    shapes = ShapeCache()
    texts = ("a < 3 AND (b = 1 OR c = 2)", "e > 1 AND (a < 7 OR d IS NULL)", "s > 'x' AND (b < 3 OR e IN (1, 4))")
    first, *others = [shapes.of(skeleton(formula_of(text))) for text in texts]
    assert all(each is first for each in others)
    assert len(first.prunings) == 2


@pytest.mark.parametrize(
    "text",
    [
        "a < 3 AND (b = 1 OR a > 7)",  # an attribute twice
        "a < 3 AND (b = 1 OR s LIKE '%x')",  # which is not on ranges
        "a < 3 OR (b = 1 AND c = 2)",
        "at_least(2, a < 3, b = 1, c = 2)",
        "a + b < 3 AND (b = 1 OR c = 2)",  # must be computed
    ],
)
def test_formulas_that_differ_in_more_have_other_shapes(text: str) -> None:
    shapes = ShapeCache()
    plain = shapes.of(skeleton(formula_of("a < 3 AND (b = 1 OR c = 2)")))
    assert shapes.of(skeleton(formula_of(text))) is not plain


def test_ranges_that_meet_are_made_for_each_formula() -> None:
    table = SelectivityTable()
    ranking = Ranking(MEASURES["memory"], table)
    always, sometimes, never = (
        conjunction([disjunction([formula_of(one), conjunction([formula_of(two), formula_of("b = 1")])]), rest])
        for one, two, rest in (
            ("a < 5 OR a IS NULL", "a >= 5", formula_of("c = 1")),
            ("a < 5", "a > 7", formula_of("c = 1")),
            ("a < 5", "a < 7", formula_of("c = 1")),
        )
    )
    keys = {skeleton(each).key for each in (always, sometimes, never)}
    assert len(keys) == 1
    for formula in (always, sometimes, never, always):
        assert check_best(formula, ranking, table)
    widened = [each.result for each in pruning_options(always)]
    assert formula_of("c = 1") in widened  # and what is always true has gone


def test_constants_and_shared_nodes_have_shapes() -> None:
    shapes = ShapeCache()
    assert not shapes.of(skeleton(TRUE)).prunings
    assert not shapes.of(skeleton(FALSE)).prunings
    shared = conjunction([formula_of("a < 3"), formula_of("b < 3")])
    whole = at_least(2, [shared, disjunction([shared, formula_of("c < 3")]), formula_of("d < 3")])
    shape = shapes.of(skeleton(whole))
    assert shape.whole.counts == (2, 2, 1, 1)
    assert shape.whole.size == tree_size(whole)


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.lab.bittner.shapes.MOST_REMEMBERED", 20)
    shapes = ShapeCache()
    small, large = formula_of("a < 3 AND b < 3"), formula_of("a < 3 AND b < 3 AND c < 3 AND d < 3 AND e < 3")
    assert len(shapes.of(skeleton(small)).prunings) == 2
    assert len(shapes) == 1
    assert len(shapes.of(skeleton(large)).prunings) == 5
    assert len(shapes) == 0
    assert len(shapes.of(skeleton(small)).prunings) == 2
