"""`siena` finds the pairs, and skips what cannot match."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tamis.lab.baselines.siena import Siena
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.lab.formulas import formulas_of
from tests.worlds import WORLDS


@pytest.mark.parametrize("attributes", [0, 2, 23])
@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int, attributes: int) -> None:
    random_ = random.Random(62)
    forest = random_forest(random_, 300, depth=depth)
    index = Siena(attributes).build(forest)
    assert index.stats().counts["preselected attributes"] == min(attributes, 4)
    assert check(index, list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = Siena(4).build([])
    change_at_random(index, name)
    counts = index.stats().counts
    assert counts["conjunctions"] == counts["predicates"] == counts["always"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"), [("auction", {}), ("ranges", {"width": 0.8}), ("strings", {}), ("equality", {})]
)
def test_the_pairs_of_postings(name: str, parameters: dict[str, Any]) -> None:
    found = check_workload(Siena().build, name, **parameters)
    assert found or name == "strings", "so few strings have no pairs"


def test_a_preselection_has_an_end() -> None:
    with pytest.raises(ValueError, match="from 0 to 23, not 24"):
        Siena(24)


def test_stats() -> None:
    stats = Siena(1).build(formulas_of("a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1", "TRUE", "FALSE")).stats()
    assert Siena.name == "siena"
    assert stats.counts == {
        "subscriptions": 5,
        "conjunctions": 5,
        "predicates": 2,
        "always": 1,
        "preselected attributes": 1,
        "unsure": 0,
    }
    assert stats.bytes["preselection"] >= 5 * 8
