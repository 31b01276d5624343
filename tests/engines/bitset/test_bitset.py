"""`bitset` returns what the reference returns, however few bitsets it may have."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tamis import compile_conditions
from tamis.engines.bitset import Bitset, fail_bitmaps
from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition
from tests.engines.naive import check, pairs_of, random_events, random_forest
from tests.worlds import WORLDS, world


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(name: str) -> None:
    random_ = random.Random(81)
    formulas = [condition.formula for condition in world(name).accepted(random_, 150)]
    index = Bitset().build(formulas)
    for rows in (0, 1, 3, 40):
        check(index, formulas, world(name).batch(random_, rows))


@pytest.mark.parametrize("rare", [0, 100, 10_000], ids=["lists only", "some lists", "bitmaps only"])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("domain", [10, 100_000])
def test_random_forests(monkeypatch: pytest.MonkeyPatch, domain: int, depth: int, rare: int) -> None:
    monkeypatch.setattr(fail_bitmaps, "_RARE", rare)
    random_ = random.Random(82)
    forest = random_forest(random_, 400, domain=domain, depth=depth)
    index = Bitset().build(forest)
    assert (index.stats().counts["bitsets"] == 0) == (rare == 0)
    assert (index.stats().counts["filed"] == 0) == (rare > 0)
    assert check(index, list(forest), random_events(random_, 4, domain, 40)) > 1_000


@pytest.mark.slow
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
    assert check(Bitset().build(forest), list(forest), EventBatch.of(data.events, data.event_type)) > 0


@pytest.mark.parametrize("budget", [0, 2_000, 20_000])
def test_bitsets_take_no_more_than_their_budget(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    monkeypatch.setattr(fail_bitmaps, "BUDGET_BYTES", budget)
    random_ = random.Random(83)
    forest = random_forest(random_, 300, axes=12, depth=1)
    index = Bitset().build(forest)
    bitsets = index._bitmaps.bits
    assert bitsets.nbytes <= budget
    assert len(bitsets) > 0 or budget == 0
    check(index, list(forest), random_events(random_, 12, 50, 30))


def test_few_and_many_survivors() -> None:
    """Few are evaluated; of many, the ends in their cells tell which hold."""
    random_ = random.Random(85)
    conditions = []
    for _ in range(1_000):
        low = random_.randrange(1_000_000)
        conditions.append(f"a BETWEEN {low} AND {low + 300_000} AND b < {random_.randrange(1_000_000)}")
    formulas = list(forest_of(compile_conditions(conditions)))
    index = Bitset().build(formulas)
    few = EventBatch.of([{"a": random_.randrange(1_300_000), "b": 990_000} for _ in range(20)])
    many = EventBatch.of([{"a": random_.randrange(1_300_000), "b": random_.randrange(1_000)} for _ in range(20)])
    assert 0 < check(index, formulas, few) < 100
    assert check(index, formulas, many) > 2_000


def test_a_subscription_of_several_conjunctions_is_found_once() -> None:
    formulas = [compile_condition("a = 1 OR b = 1 OR c = 1").formula, compile_condition("a = 1").formula]
    index = Bitset().build(formulas)
    assert index.stats().counts["conjunctions"] == 4
    events = [{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}, {"c": 2}, {"a": 1}]
    assert check(index, formulas, EventBatch.of(events)) == 5


def test_threads_do_not_share_scratch_arrays() -> None:
    random_ = random.Random(86)
    forest = random_forest(random_, 300)
    index = Bitset().build(forest)
    batches = [random_events(random_, 4, 50, 20) for _ in range(8)]
    wanted = [pairs_of(list(forest), batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for found, pairs in zip(pool.map(index.match, batches), wanted, strict=True):
                assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == pairs


def test_stats() -> None:
    texts = ("a = 1 AND b = 2", "a = 1 OR b = 2", "a LIKE '%x%' AND b = 2")
    stats = Bitset().build([compile_condition(text).formula for text in texts]).stats()
    assert stats.counts["subscriptions"] == 3
    assert stats.counts["conjunctions"] == 4
    assert stats.counts["filed"] == 1
    assert stats.counts["unsure"] == 0
    assert sum(stats.bytes.values()) > 0
    assert Bitset().build([]).match(EventBatch.of([{"a": 1}])).rows.tolist() == []
