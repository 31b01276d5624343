"""The estimate of `bitslice`: how many entries an event may have to be compared with."""

from __future__ import annotations

import numpy as np
import pytest

from tamis import compile_conditions
from tamis.engines.base import Estimating
from tamis.engines.bitslice import Bitslice
from tamis.engines.forest import forest_of
from tamis.events import EventBatch
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition


def test_an_event_that_leads_nowhere_is_no_work() -> None:
    index = Bitslice().build([compile_condition(f"a = {value} AND b > {value}").formula for value in range(50)])
    assert isinstance(index, Estimating)
    estimates = index.estimate(EventBatch.of([{"a": 3, "b": 9}, {"c": 1}, {"a": 99, "b": 9}]))
    assert estimates[0] >= 1
    assert estimates[1:].tolist() == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "ads", "strings"])
def test_there_are_no_fewer_candidates_than_matches(name: str) -> None:
    data = generate(name, subscriptions=2_000, events=100, seed=4)
    index = Bitslice().build(forest_of(compile_conditions(data.conditions, data.event_type)))
    batch = EventBatch.of(data.events, data.event_type)
    matches = np.bincount(index.match(batch).rows, minlength=100)
    estimates = index.estimate(batch)
    assert np.all(estimates >= matches)
    assert len(set(estimates.tolist())) > 1
    assert np.array_equal(np.bincount(index.match(batch).rows, minlength=100), matches), (
        "estimating leaves no trace"
    )
