"""`counting` returns what the reference returns; what it cannot convert it evaluates, and says how often."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tamis import compile_conditions
from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.lab.baselines.postings import Postings
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition
from tests.engines.naive import check, pairs_of, random_events, random_forest
from tests.worlds import WORLDS, world


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(name: str) -> None:
    random_ = random.Random(71)
    formulas = [condition.formula for condition in world(name).accepted(random_, 150)]
    index = Postings().build(formulas)
    for rows in (0, 1, 3, 40):
        check(index, formulas, world(name).batch(random_, rows))


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("domain", [10, 100_000])
def test_random_forests(depth: int, domain: int) -> None:
    random_ = random.Random(72)
    forest = random_forest(random_, 400, domain=domain, depth=depth)
    assert check(Postings().build(forest), list(forest), random_events(random_, 4, domain, 40)) > 1_000


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ranges", {"width": 0.8}),
        ("equality", {}),
        ("sparse", {"width": 0.9}),
        ("strings", {"vocabulary": 1_000}),
        ("auction", {}),
    ],
)
def test_workloads(name: str, parameters: dict[str, Any]) -> None:
    data = generate(name, subscriptions=600, events=100, seed=3, **parameters)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    assert check(Postings().build(forest), list(forest), EventBatch.of(data.events, data.event_type)) > 0


def test_a_subscription_of_several_conjunctions_is_found_once() -> None:
    formulas = [compile_condition("a = 1 OR b = 1 OR c = 1").formula, compile_condition("a = 1").formula]
    index = Postings().build(formulas)
    assert index.stats().counts["conjunctions"] == 4
    events = [{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}, {"c": 2}, {"a": 1}]
    assert check(index, formulas, EventBatch.of(events)) == 5


def test_what_does_not_fit_is_evaluated() -> None:
    ors = " AND ".join(f"(a{number} = 1 OR b{number} = 1)" for number in range(9))
    texts = [ors, f"z = 1 AND {ors}", " OR ".join(f"a{number} = 1" for number in range(50)), "a0 = 1", "1 = 1"]
    formulas = [compile_condition(text).formula for text in texts]
    index = Postings().build(formulas)
    counts = index.stats().counts
    assert (counts["unsure"], counts["scanned"]) == (3, 1)
    whole = {f"b{number}": 1 for number in range(9)}
    assert check(index, formulas, EventBatch.of([{}, {"a0": 1}, whole, whole | {"z": 1}, whole | {"b8": 2}])) == 10


def test_threads_do_not_share_counters() -> None:
    random_ = random.Random(73)
    forest = random_forest(random_, 300)
    index = Postings().build(forest)
    batches = [random_events(random_, 4, 50, 20) for _ in range(8)]
    wanted = [pairs_of(list(forest), batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for found, pairs in zip(pool.map(index.match, batches), wanted, strict=True):
                assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == pairs


def test_stats() -> None:
    formulas = [compile_condition(text).formula for text in ("a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1")]
    stats = Postings().build(formulas).stats()
    assert stats.counts == {
        "subscriptions": 3,
        "conjunctions": 4,
        "predicates": 2,
        "postings": 5,
        "unsure": 0,
        "scanned": 0,
    }
    assert sum(stats.bytes.values()) > 0
    assert Postings().build([]).match(EventBatch.of([{"a": 1}])).rows.tolist() == []
