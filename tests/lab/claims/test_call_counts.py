"""Calls are counted on the same events, and strategies that find something else are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.lab.claims.call_counts import STRATEGIES, CallPoint, calls_by_event, count_calls, count_orders
from tamis.lab.liu.strategies import CallCount


def test_shares_are_those_of_means() -> None:
    calls = {"naive": np.array([10.0, 30.0]), "ours": np.array([4.0, 6.0])}
    point = CallPoint(calls, np.array([2.0]))
    assert point.share("ours", "naive") == 0.25
    assert point.over_bound("ours") == 2.0
    assert point.bound == 2.5


def test_every_strategy_is_counted_and_naive_calls_most() -> None:
    point = count_calls(80, 40, 5, 2, seed=3)
    assert set(point.calls) == set(STRATEGIES)
    assert all((calls <= point.calls["naive"]).all() for calls in point.calls.values())
    assert point.bound <= min(point.mean(each) for each in STRATEGIES)
    assert count_calls(80, 40, 5, 2, seed=3).calls["ours"].tolist() == point.calls["ours"].tolist()


def test_orders_are_counted_beside_sequential() -> None:
    assert set(count_orders(30, 44, 5, 3, 1)) == {
        *("sequential", "insertion", "score", "directed pairs", "as drawn")
    }


def test_a_strategy_that_finds_something_else_is_noticed() -> None:
    event = np.zeros(2, np.bool_)

    def strategy(matched: int) -> CallCount:
        return CallCount(calls=1, cost=1.0, matched=np.arange(2) < matched)

    with pytest.raises(SystemExit, match="event 0: 1 conditions hold, other finds 2"):
        calls_by_event({"first": lambda _: strategy(1), "other": lambda _: strategy(2)}, [event])
