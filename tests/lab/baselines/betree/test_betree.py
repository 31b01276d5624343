"""`betree` finds the pairs, and its tree stays in order, whatever comes and goes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tamis.engines.forest import Forest
from tamis.lab.baselines.betree import BETree
from tamis.lab.dynamic.term_index import TermIndex
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.lab.baselines.betree.trees import built, nodes_of
from tests.worlds import WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("max_cap", [1, 4])
@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int, max_cap: int) -> None:
    random_ = random.Random(71)
    forest = random_forest(random_, 300, depth=depth)
    index = BETree(max_cap, loss=depth == 1).build(forest)
    assert len(nodes_of(index)) > 50
    assert check(index, list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = BETree(2).build([])
    change_at_random(index, name)
    assert len(nodes_of(index)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"), [("auction", {}), ("ranges", {"width": 0.8}), ("strings", {}), ("equality", {})]
)
def test_the_pairs_of_postings(name: str, parameters: dict[str, Any]) -> None:
    def sound(forest: Forest) -> TermIndex:
        index = BETree(8).build(forest)
        nodes_of(index)
        return index

    found = check_workload(sound, name, **parameters)
    assert found or name == "strings", "so few strings have no pairs"


def test_stats_and_names() -> None:
    stats = built(["a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1", "TRUE"], 8).stats()
    assert BETree.name == "betree"
    assert stats.counts == {
        "subscriptions": 4,
        "predicates": 0,
        "conjunctions": 5,
        "sides": 5,
        "nodes": 2,
        "parts": 0,
        "always": 1,
        "unsure": 0,
    }
    assert all(size >= 0 for size in stats.bytes.values())
