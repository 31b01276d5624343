"""Chances are between 0 and 1, rise with what a leaf allows, and order children so that nodes are decided soon."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.engines.forest import Forest, Nodes, forest_of
from tamis.engines.selectivity import leaf_selectivities, most_selective_parts, node_selectivities
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.selectivity import priors
from tamis.statistics import Statistics
from tests.worlds import WORLDS, world

EVENT_TYPE = EventType.from_dict(
    {"name": "t", "attributes": {"n": "int", "s": "string", "d": "double", "e": "int"}}
)


def forest_with(*texts: str) -> Forest:
    return forest_of([compile_condition(text, EVENT_TYPE).formula for text in texts])


def learned(forest: Forest, batch: EventBatch) -> Statistics:
    statistics = Statistics()
    statistics.observe(BatchFrame(batch), [axis.attribute for axis in forest.axes])
    return statistics


def selectivities_of(forest: Forest, statistics: Statistics | None) -> list[float]:
    """Of the roots, all of which are leaves."""
    assert np.all(forest.roots < 0)
    return list(leaf_selectivities(forest, statistics)[~forest.roots].tolist())


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", WORLDS)
def test_all_selectivities_are_between_0_and_1(name: str, known: bool) -> None:
    here, random_ = world(name), random.Random(81)
    forest = forest_of([condition.formula for condition in here.accepted(random_, 60)])
    selectivities = leaf_selectivities(forest, learned(forest, here.batch(random_, 30)) if known else None)
    assert len(selectivities) == len(forest.leaves.kinds)
    assert np.all((selectivities > 0) & (selectivities < 1))
    nodes = node_selectivities(forest.nodes, selectivities)
    assert np.all((nodes >= 0) & (nodes <= 1))


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.integers(0, 20))
def test_what_allows_more_is_as_likely_at_least(values: list[int], seed: int) -> None:
    random_ = random.Random(seed)
    low, high = sorted(random_.sample(range(-25, 25), 2))
    texts = [f"n BETWEEN {low - more} AND {high + more}" for more in range(0, 30, 3)]
    texts += ["n IS NOT NULL"]
    forest = forest_with(*texts)
    events = [{"n": value, "d": value / 4, "s": str(value)} for value in values]
    found = selectivities_of(forest, learned(forest, EventBatch.of(events, EVENT_TYPE)))
    assert found == sorted(found)


@pytest.mark.parametrize(
    "texts",
    [
        ("s < 'b'", "s < 'd'", "s < 'z'"),
        ("s = 'b'", "s IN ('b', 'd')", "s <> 'q'"),
        ("d < -1", "d < 0.3", "d < 1e9"),
        ("e > 3 AND e < 5", "e > 3", "e > 3 OR e IS NULL", "e > 0 OR e IS NULL"),
    ],
)
def test_selectivities_by_statistics(texts: tuple[str, ...]) -> None:
    """Shares of events; half of them have no `e`."""
    random_ = random.Random(82)
    events = [
        {"s": random_.choice("abcdef"), "d": random_.random(), **({"e": random_.randrange(9)} if row % 2 else {})}
        for row in range(60)
    ]
    forest, batch = forest_with(*texts), EventBatch.of(events, EVENT_TYPE)
    found = selectivities_of(forest, learned(forest, batch))
    shares = [formula.mask(BatchFrame(batch)).mean() for formula in forest]
    assert found == sorted(found)
    np.testing.assert_allclose(found, shares, atol=0.05)


def test_selectivities_without_statistics() -> None:
    """A value is rarer than a range; it is one of twenty, or one of as many as are asked for."""
    few, many = forest_with("n = 1", "n > 1", "s LIKE '%x%'"), forest_with(*(f"n = {each}" for each in range(100)))
    value, range_, test = selectivities_of(few, None)
    assert (value, range_, test) == pytest.approx((priors.point(1), priors.RANGE, priors.TEST))
    np.testing.assert_allclose(selectivities_of(many, None), 0.01)
    np.testing.assert_allclose(selectivities_of(few, Statistics()), [value, range_, test])


def test_nodes() -> None:
    """AND multiplies, OR multiplies what is left; constants are what they are."""
    nodes = Nodes(
        np.array([2, 1, 2, 0, 1, 4], np.int32),
        np.array([0, 2, 4, 7, 7, 7, 10], np.int64),
        np.array([~0, ~1, ~0, 0, ~0, ~1, 1, ~0, ~0, ~1], np.int32),
    )
    found = node_selectivities(nodes, np.array([0.5, 0.2]))
    np.testing.assert_allclose(found[:2], [0.1, 1 - 0.5 * 0.9])
    # Two of three independent children, 0.5, 0.2 and 0.55.
    assert found[2] == pytest.approx(0.5 * 0.2 * 0.45 + 0.5 * 0.8 * 0.55 + 0.5 * 0.2 * 0.55 + 0.5 * 0.2 * 0.55)
    assert found[3:].tolist() == [1.0, 0.0, 0.0]


def test_the_most_selective_parts() -> None:
    """An AND is reached by its most selective child, an OR by any; of two of three, half as many count."""
    nodes = Nodes(
        np.array([2, 1, 2, 1], np.int32),
        np.array([0, 2, 4, 7, 9], np.int64),
        np.array([~0, ~1, ~1, 0, ~0, ~1, 1, ~0, ~2], np.int32),
    )
    found = most_selective_parts(nodes, np.array([0.5, 0.2, 0.9]))
    np.testing.assert_allclose(found, [0.2, 0.4, 0.55, 1.0])
