"""`siena` finds the pairs, and passes over what cannot match."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.engines.siena import Siena
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.language.formula import Formula
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS


def formulas_of(*texts: str) -> list[Formula]:
    return [compile_condition(text).formula for text in texts]


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


def test_what_needs_an_attribute_that_an_event_lacks_is_passed_over() -> None:
    formulas = formulas_of("a = 1 AND b = 1", "a = 1 AND b = 2", "a = 1 AND (c = 1 OR c IS NULL)", "a = 1")
    events = [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 2}, {"b": 1, "c": 1}, {}]
    for attributes, passed in ((0, 0), (1, 3), (2, 5), (3, 7)):
        index = Siena(attributes).build(formulas)
        assert check(index, formulas, EventBatch.of(events)) == 2 + 3
        done = index.work()
        assert done == {"held": 10, "hits": 18, "passed over": passed, "conjunctions": 5}
        assert set(index.work().values()) == {0}


def test_the_other_conjunctions_of_a_slot_that_has_matched_are_passed_over() -> None:
    formulas = formulas_of("a = 1 OR (b = 1 AND c = 1)", "c = 1")
    index = Siena().build(formulas)
    batch = EventBatch.of([{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}])
    for _ in range(2):
        assert check(index, formulas, batch) == 4
        assert index.work()["passed over"] == 2, "both hits of the second conjunction"


def test_the_attributes_are_those_that_most_terms_need() -> None:
    """They are chosen again when there are twice as many terms."""
    index = Siena(1).build(formulas_of("a = 1 AND x = 1", "a = 2"))
    formulas = formulas_of("a = 1 AND x = 1", "a = 2", *(f"x = {number} AND b = 1" for number in range(9)))
    batch = EventBatch.of([{"x": 1}])
    index.match(batch)
    assert index.work()["passed over"] == 1
    index.insert_many(np.arange(2, 11, dtype=np.int32), formulas[2:])
    batch = EventBatch.of([{"b": 1}, {"x": 1}])
    assert check(index, formulas, batch) == 0
    assert index.work() == {"held": 2, "hits": 11, "passed over": 9, "conjunctions": 0}


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
