"""Access predicates hold wherever their formula does, and have the lowest selectivity that is known."""

from __future__ import annotations

import random

import pytest

from tamis.engines.forest import forest_of
from tamis.formulas.formula import FALSE, TRUE
from tamis.frames import BatchFrame
from tamis.lab.bittner.implication import covers
from tamis.language.condition import normalise
from tamis.routing.access_predicates import find_access_predicates
from tamis.statistics import Statistics
from tests.routing.drawing import misses, random_formula, random_frame
from tests.worlds import world


@pytest.mark.parametrize("seed", range(20))
def test_they_hold_wherever_their_formula_does(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(40)]
    access = find_access_predicates(forest_of(formulas))
    for formula, number in zip(formulas, access.of.tolist(), strict=True):
        chosen = access.formulas[number]
        assert misses(chosen, formula, frame) == 0
        assert chosen.predicate is not None or chosen.is_or or chosen is TRUE


@pytest.mark.parametrize("name", ["typed", "schemaless"])
def test_they_hold_wherever_conditions_of_every_kind_do(name: str) -> None:
    random_ = random.Random(name)
    here = world(name)
    formulas = [condition.formula for condition in here.accepted(random_, 150)]
    frame = BatchFrame(here.batch(random_, 100))
    access = find_access_predicates(forest_of(formulas))
    for formula, number in zip(formulas, access.of.tolist(), strict=True):
        assert misses(access.formulas[number], formula, frame) == 0


def test_the_operand_with_the_lowest_selectivity_is_chosen() -> None:
    statistics = Statistics()
    formula = normalise("a = 1 AND b < 900 AND (c = 3 OR d = 4)")
    assert [find_access_predicates(forest_of([formula]), statistics).formulas] == [[normalise("a = 1")]]
    some = normalise("AT_LEAST(2, a = 1, b < 900, c < 5)")
    (chosen,) = find_access_predicates(forest_of([some])).formulas
    assert covers(chosen, some)
    assert len(chosen.operands) == 2
    assert normalise("a = 1") in chosen.operands


def test_a_computed_predicate_is_chosen_only_if_there_is_no_other() -> None:
    formulas = [normalise("length(s) = 3 AND b < 900"), normalise("length(s) = 3")]
    access = find_access_predicates(forest_of(formulas))
    assert [access.formulas[number] for number in access.of] == [normalise("b < 900"), normalise("length(s) = 3")]


def test_constants_have_sets_of_their_own() -> None:
    access = find_access_predicates(forest_of([TRUE, normalise("a = 1"), FALSE, TRUE]))
    assert access.formulas == [TRUE, FALSE, normalise("a = 1")]
    assert access.of.tolist() == [0, 2, 1, 0]
    assert find_access_predicates(forest_of([])).formulas == []
