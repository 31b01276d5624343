"""`counting` finds the pairs of conjunctions, verifies the rest, and frees what it no longer needs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.baselines.counting import Counting
from tests.engines.changes import change_at_random
from tests.engines.naive import check as check_formulas
from tests.engines.naive import check_workload, random_events, random_forest
from tests.lab.formulas import formulas_of
from tests.worlds import WORLDS


def ors(count: int, test: str = "= 1") -> str:
    """Too many conjunctions: two to the power of `count`."""
    return " AND ".join(f"(a{number} {test} OR b{number} {test})" for number in range(count))


@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = Counting().build([])
    change_at_random(index, name)
    assert set(index.stats().counts.values()) == {0}


@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int) -> None:
    random_ = random.Random(62)
    forest = random_forest(random_, 400, depth=depth)
    assert check_formulas(Counting().build(forest), list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.parametrize(
    ("name", "parameters"), [("auction", {}), ("ranges", {"width": 0.8}), ("strings", {}), ("equality", {})]
)
def test_the_pairs_of_postings(name: str, parameters: dict[str, Any]) -> None:
    found = check_workload(Counting().build, name, **parameters)
    assert found or name == "strings", "so few strings have no pairs"


def test_unsure_formulas_are_verified() -> None:
    texts = [ors(12), f"z = 1 AND {ors(12)}", " OR ".join(f"a{number} = 1" for number in range(50)), "a0 = 1"]
    texts += ["TRUE", "FALSE", " XOR ".join(f"(a{number} = 1)" for number in range(12))]
    formulas = formulas_of(*texts)
    index = Counting().build(formulas)
    counts = index.stats().counts
    assert counts["subscriptions"] == 7
    assert counts["unsure"] == 4
    whole = {f"b{number}": 1 for number in range(12)}
    random_ = random.Random(63)
    events: list[dict[str, int]] = [{}, {"a0": 1}, whole, whole | {"z": 1}, whole | {"b8": 2, "z": 1}]
    events += [
        {f"{name}{number}": random_.randrange(2) for number in range(12) for name in "ab"} | {"z": 1}
        for _ in range(40)
    ]
    assert check_formulas(index, formulas, EventBatch.of(events)) > 100
    index.delete_many(np.arange(7, dtype=np.int32))
    assert set(index.stats().counts.values()) == {0}
    index.insert(0, formulas[1])
    assert check_formulas(index, formulas[1:2], EventBatch.of(events)) > 0


def test_tests_of_unsure_formulas_are_not_forgotten_when_others_use_them() -> None:
    """The terms of the first formula do not use all of its leaves."""
    names = [f"{name}{number}" for number in range(12) for name in "ab"]
    formulas = formulas_of(ors(12, "LIKE '%1%'"), *(f"{name} LIKE '%1%'" for name in names), "z = 1")
    index = Counting().build([])
    for slot, formula in enumerate(formulas):
        index.insert_many(np.array([slot], np.int32), [formula])
    index.delete(len(names) + 1)
    check_formulas(index, formulas[:-1], EventBatch.of([dict.fromkeys(names, "010"), {"a3": "1"}, {}]))


def test_stats() -> None:
    stats = Counting().build(formulas_of("a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1", "TRUE")).stats()
    assert stats.counts == {"subscriptions": 4, "conjunctions": 5, "predicates": 2, "always": 1, "unsure": 0}
    assert stats.bytes["hits"] == stats.bytes["needed hits"] == 5
    assert all(size >= 0 for size in stats.bytes.values())
