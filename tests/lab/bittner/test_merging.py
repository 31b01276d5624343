"""Mergers lose no event, and what is left of one when a part goes loses none either."""

from __future__ import annotations

import random

import pytest

from tamis.formulas.formula import disjunction
from tamis.lab.bittner.measures import ACCURACY, MEASURES
from tamis.lab.bittner.merging import Merging, merge
from tamis.lab.bittner.pruning import Pruner
from tamis.lab.bittner.ranking import Ranking, ReplacingRanking
from tamis.lab.bittner.replacement import hulls
from tamis.lab.bittner.selectivity_table import SelectivityTable
from tamis.routing.trees import size
from tests.routing.drawing import formula_of, misses, random_formula, random_frame


def test_without_a_generalisation_a_merger_is_perfect() -> None:
    parts = [formula_of("a = 1 AND b < 3"), formula_of("a = 2 AND b < 3")]
    assert merge(parts, Ranking(ACCURACY, SelectivityTable()), count=0) == disjunction(parts)


def test_generalised_it_becomes_small() -> None:
    ranking = Ranking(ACCURACY, SelectivityTable())
    parts = [formula_of(f"a = 1 AND b = {number}") for number in range(4)]
    found = merge(parts, ranking, count=4)
    assert size(found) < sum(map(size, parts)) / 3


@pytest.mark.parametrize("name", MEASURES)
def test_mergers_lose_no_event(name: str) -> None:
    random_ = random.Random(name)
    frame = random_frame(random_)
    ranking = ReplacingRanking(MEASURES[name], SelectivityTable(), hulls)
    for _ in range(8):
        parts = [random_formula(random_, 2) for _ in range(3)]
        for count in (1, 4, None):
            assert misses(merge(parts, ranking, count=count), disjunction(parts), frame) == 0


def test_parts_go_one_by_one() -> None:
    random_ = random.Random(4)
    frame = random_frame(random_)
    pruner = Pruner(ACCURACY, SelectivityTable())
    parts = {number: random_formula(random_, 2) for number in range(4)}
    for number, formula in parts.items():
        pruner.register(number, formula, neighbour="north", hops=3 - number % 2)
    pruner.prune(count=2)
    merging = Merging(pruner)
    merging.merge("all", range(4), count=3)
    assert [(entry.id, entry.neighbour, entry.hops) for entry in pruner] == [("all", "north", 2)]
    for gone in (2, 0):
        assert list(merging.deregister(gone)) == ["all"]
        del parts[gone]
        assert pruner["all"].original == disjunction(parts.values())
        assert misses(pruner["all"].current, disjunction(parts.values()), frame) == 0
    assert merging.deregister(3) == {1: parts[1]}
    assert [entry.id for entry in pruner] == [1]
    assert merging.deregister(1) == {}
    assert len(pruner) == 0
    with pytest.raises(KeyError):
        merging.deregister(1)


def test_only_entries_of_one_neighbour_are_merged() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    pruner.register(1, formula_of("a = 1"), neighbour="north")
    pruner.register(2, formula_of("a = 2"), neighbour="south")
    with pytest.raises(ValueError, match="merger 'both'"):
        Merging(pruner).merge("both", [1, 2], count=1)
    with pytest.raises(ValueError, match="merger 'one'"):
        Merging(pruner).merge("one", [1], count=1)
    assert len(pruner) == 2


def test_a_merger_goes_with_its_parts_only() -> None:
    pruner = Pruner(ACCURACY, SelectivityTable())
    for number in (1, 2):
        pruner.register(number, formula_of(f"a = {number} AND b < 3"))
    merging = Merging(pruner)
    merging.merge("both", [1, 2], count=1)
    with pytest.raises(KeyError):
        merging.deregister("both")
    assert "both" in pruner
