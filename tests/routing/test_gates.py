"""Gates and what subscriptions have in common: more general than the originals, and as small as was asked for."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.forest import forest_of
from tamis.events.compute import BatchFrame
from tamis.language.condition import normalise
from tamis.language.formula import FALSE, TRUE
from tamis.routing.common import Generalised, generalised_to, numbered, pruned_to
from tamis.routing.gates import gates_of
from tamis.routing.measures import MEASURES
from tamis.routing.selectivity import SelectivityTable
from tamis.routing.trees import covers, size
from tamis.statistics import Statistics
from tests.routing.drawing import misses, random_formula, random_frame
from tests.worlds import World, world


@pytest.mark.parametrize("seed", range(20))
def test_a_gate_holds_wherever_its_formula_does(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(40)]
    gates = gates_of(forest_of(formulas))
    for formula, number in zip(formulas, gates.of.tolist(), strict=True):
        gate = gates.formulas[number]
        assert misses(gate, formula, frame) == 0
        assert gate.predicate is not None or gate.is_or or gate is TRUE


@pytest.mark.parametrize("name", ["typed", "schemaless"])
def test_nothing_is_lost_of_conditions_of_every_kind(name: str) -> None:
    random_ = random.Random(name)
    here: World = world(name)
    formulas = [condition.formula for condition in here.accepted(random_, 150)]
    frame = BatchFrame(here.batch(random_, 100))
    forest = forest_of(formulas)
    gates = gates_of(forest)
    lots = [Generalised(gates.formulas, gates.of)]
    lots += [generalised_to(forest, budget) for budget in (0, 500, 2_000, 1 << 30)]
    for lot in lots:
        for formula, number in zip(formulas, lot.of.tolist(), strict=True):
            assert misses(lot.formulas[number], formula, frame) == 0


def test_the_rarest_operand_is_the_gate() -> None:
    statistics = Statistics()
    formula = normalise("a = 1 AND b < 900 AND (c = 3 OR d = 4)")
    assert [gates_of(forest_of([formula]), statistics).formulas] == [[normalise("a = 1")]]
    some = normalise("AT_LEAST(2, a = 1, b < 900, c < 5)")
    (gate,) = gates_of(forest_of([some])).formulas
    assert covers(gate, some)
    assert len(gate.operands) == 2
    assert normalise("a = 1") in gate.operands


def test_what_is_computed_is_the_gate_only_if_there_is_nothing_else() -> None:
    formulas = [normalise("length(s) = 3 AND b < 900"), normalise("length(s) = 3")]
    gates = gates_of(forest_of(formulas))
    assert [gates.formulas[number] for number in gates.of] == [normalise("b < 900"), normalise("length(s) = 3")]


def test_constants_are_gates_of_their_own() -> None:
    gates = gates_of(forest_of([TRUE, normalise("a = 1"), FALSE, TRUE]))
    assert gates.formulas == [TRUE, FALSE, normalise("a = 1")]
    assert gates.of.tolist() == [0, 2, 1, 0]
    assert gates_of(forest_of([])).formulas == []


# --- what subscriptions have in common ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_formulas_become_more_general_and_fewer_the_smaller_the_budget(seed: int) -> None:
    random_ = random.Random(seed)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(60)]
    forest = forest_of(formulas)
    whole = generalised_to(forest, 1 << 30)
    assert [whole.formulas[number] for number in whole.of] == list(forest)
    before = whole.bytes
    for budget in (800, 400, 200, 100, 0):
        lot = generalised_to(forest, budget)
        smallest = generalised_to(forest, 0)
        assert lot.bytes <= max(budget, smallest.bytes)
        assert lot.bytes <= before
        assert lot.counts.sum() == len(formulas)
        for formula, number in zip(formulas, lot.of.tolist(), strict=True):
            assert misses(lot.formulas[number], formula, frame) == 0


def test_what_tells_subscriptions_apart_goes_before_what_tells_events_apart() -> None:
    texts = [f"title = 'T{title}' AND price < {price}" for title in range(8) for price in range(10, 60)]
    statistics = Statistics()
    lot = generalised_to(forest_of([normalise(text) for text in texts]), 100, statistics)
    assert set(lot.formulas) == {normalise(f"title = 'T{title}'") for title in range(8)}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_pruning_step_by_step_keeps_to_the_budget_and_loses_nothing(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    formulas = [random_formula(random_) for _ in range(30)]
    forest = forest_of(formulas)
    end = pruned_to(forest, 0, MEASURES[name], SelectivityTable())
    for budget in (500, 300):
        lot = pruned_to(forest, budget, MEASURES[name], SelectivityTable())
        assert lot.bytes <= max(budget, sum(end.counts * [size(each) for each in end.formulas]))
        for formula, number in zip(formulas, lot.of.tolist(), strict=True):
            assert misses(lot.formulas[number], formula, frame) == 0


def test_equal_formulas_are_one() -> None:
    one, other = normalise("a = 1"), normalise("b = 2")
    lot = numbered([one, other, one], np.array([0, 2, 1, 0]))
    assert lot.formulas == [one, other]
    assert lot.of.tolist() == [0, 0, 1, 0]
