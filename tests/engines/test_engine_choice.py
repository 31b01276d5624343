"""What `engine="auto"` goes by: features of formulas, prices, and a reason that names both."""

from __future__ import annotations

import pytest

from tamis import EventBatch, Matcher, Statistics
from tamis.engines import ENGINES, engine_choice
from tamis.engines.engine_choice import BATCH_EVENTS, COSTS, MAPPED_ENGINE, choose, estimates, features
from tamis.engines.forest import Forest, forest_of
from tamis.frames import BatchFrame
from tamis.lab.workloads import generate
from tamis.language.bulk import compile_conditions


def forest(name: str, count: int) -> Forest:
    data = generate(name, subscriptions=count, events=1, seed=3)
    return forest_of(compile_conditions(data.conditions, data.event_type))


def test_features_of_a_few_formulas() -> None:
    found = features(forest_of(compile_conditions(["a = 1 AND b < 2", "a = 1", "a = 1 OR b < 2"])))
    assert found["event"] == 1.0
    assert found["leaves"] == 5
    assert found["held"] == pytest.approx(0.05 + 0.35), "equal predicates are one"
    assert found["hits"] == pytest.approx(3 * 0.05 + 2 * 0.35)
    assert found["looked"] == pytest.approx(0.05 + 0.05 + (0.05 + 0.35))
    assert found["matches"] == pytest.approx(0.05 * 0.35 + 0.05 + (1 - 0.95 * 0.65))


@pytest.mark.parametrize("name", ["auction", "ranges", "equality"])
def test_a_sample_of_many_is_like_all_of_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = forest(name, 4_000)
    wanted = features(formulas)
    monkeypatch.setattr(engine_choice, "_SAMPLE_FORMULAS", 1_000)
    found = features(formulas)
    for feature, value in wanted.items():
        assert found[feature] == pytest.approx(value, rel=0.5), feature


def test_every_priced_engine_exists_and_every_feature_is_known() -> None:
    known = set(features(forest("ranges", 5)))
    for costs in COSTS.values():
        assert set(costs) <= set(ENGINES)
        for prices in costs.values():
            assert set(prices) <= known
            assert all(price > 0 for price in prices.values())


def test_estimates_are_in_order_and_grow_with_the_work() -> None:
    few, many = (estimates(features(forest("auction", count))) for count in (100, 3_000))
    assert list(few.values()) == sorted(few.values())
    assert all(many[name] >= few[name] for name in few)


def test_nested_conditions_that_hold_often_are_not_for_bitslice() -> None:
    data = generate(
        "jewel", subscriptions=3_000, events=64, seed=3, operators="B", shared=0.5, matches=0.13, pool=300
    )
    nested = forest_of(compile_conditions(data.conditions, data.event_type))
    statistics = Statistics()
    statistics.observe(
        BatchFrame(EventBatch.of(data.events, data.event_type)), [axis.attribute for axis in nested.axes]
    )
    assert features(nested, statistics)["walked"] > 1_000
    assert choose(nested, statistics).engine in ("bitset", "postings")
    assert features(forest("equality", 50))["walked"] == 0.0


def test_few_subscriptions_are_kept_as_snapshots_keep_them() -> None:
    choice = choose(forest("auction", 10))
    assert (choice.engine, choice.subscriptions) == (MAPPED_ENGINE, 10)
    assert MAPPED_ENGINE in choice.reason


def test_another_engine_must_be_much_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = forest("equality", 2_000)
    prices = {MAPPED_ENGINE: {"event": 10.0}, "cluster": {"event": 6.0}}
    monkeypatch.setattr(engine_choice, "COSTS", {"one": prices, "batch": prices})
    choice = choose(formulas)
    assert choice.engine == MAPPED_ENGINE
    assert "cluster, at 6, is not 2 times as fast" in choice.reason
    prices["cluster"] = {"event": 4.0}
    choice = choose(formulas, events=BATCH_EVENTS)
    assert (choice.engine, choice.reason) == (
        "cluster",
        "cluster is expected to take 4 us an event, bitslice 10",
    )


def test_a_matcher_says_what_was_chosen_and_why() -> None:
    data = generate("equality", subscriptions=200, events=5, seed=3)
    matcher = Matcher(data.event_type)
    assert "reason" not in matcher.stats(), "there is nothing to choose for"
    matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True))
    stats = matcher.stats()
    assert stats["engine"] == MAPPED_ENGINE
    assert "us an event" in stats["reason"]
    assert "reason" not in Matcher(engine="scan").stats(), "nobody chose"
