"""`bitset` returns what the reference returns, however few bitsets it may have."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tamis import compile_conditions
from tamis.engines.bitset import Bitset, marks
from tamis.engines.bitset.marks import Marks, marks_of
from tamis.engines.conjunctions.dnf import conjunctions_of
from tamis.engines.forest import Forest, forest_of
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tamis.workloads import generate
from tests.engines.naive import check, leaf_holds, pairs_of, random_events, random_forest
from tests.worlds import WORLDS, world


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(name: str) -> None:
    random_ = random.Random(81)
    formulas = [condition.formula for condition in world(name).accepted(random_, 150)]
    index = Bitset().build(formulas)
    for rows in (0, 1, 3, 40):
        check(index, formulas, world(name).batch(random_, rows))


@pytest.mark.parametrize("rare", [0, 100, 10_000], ids=["all filed", "some filed", "none filed"])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("domain", [10, 100_000])
def test_random_forests(monkeypatch: pytest.MonkeyPatch, domain: int, depth: int, rare: int) -> None:
    monkeypatch.setattr(marks, "_RARE", rare)
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
    monkeypatch.setattr(marks, "BUDGET_BYTES", budget)
    random_ = random.Random(83)
    forest = random_forest(random_, 300, axes=12, depth=1)
    index = Bitset().build(forest)
    bitsets = index._marks.bits
    assert bitsets.nbytes <= budget
    assert len(bitsets) > 0 or budget == 0
    check(index, list(forest), random_events(random_, 12, 50, 30))


def marked(built: Marks, bitset: int) -> set[int]:
    bits = np.unpackbits(built.bits[bitset].view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def failing(forest: Forest, axis: int, values: list[int | None]) -> set[int]:
    """The formulas, each a leaf, that fail at all of these values."""
    return {
        slot
        for slot, root in enumerate(forest.roots.tolist())
        if forest.leaves.axes[~root] == axis and not any(leaf_holds(forest, ~root, value) for value in values)
    }


def test_bitsets_mark_what_fails_everywhere_in_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_MOST_CELLS", 7)
    forest = random_forest(random.Random(84), 300, axes=3, depth=0, domain=60)
    built, _ = marks_of(forest.leaves, forest.pieces, 3, 0, conjunctions_of(forest))
    assert built.axes.tolist() == [0, 1, 2]
    for axis in range(3):
        cuts = built.cuts[built.cut_firsts[axis] : built.cut_firsts[axis + 1]].tolist()
        assert len(cuts) == 6
        for cell, (low, high) in enumerate(zip([-5, *cuts], [*cuts, 100], strict=True)):
            assert marked(built, int(built.bases[axis]) + cell) == failing(forest, axis, [*range(low, high)])
    nulls = [failing(forest, axis, [None]) for axis in range(3)]
    assert [marked(built, built.tree + 3 + axis) for axis in range(3)] == nulls
    assert marked(built, built.tree + 2) == nulls[1] | nulls[2]
    assert marked(built, built.tree + 1) == nulls[0] | nulls[1] | nulls[2]


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


def test_threads_do_not_share_marks() -> None:
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
