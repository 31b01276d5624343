from __future__ import annotations

import re

import numpy as np
import pytest

from tamis import Matcher
from tamis.lab.workloads import WorkloadError, generate

CONDITION = re.compile(r"a(\d+) = (\d+)(?: AND a(\d+) = (\d+))(?: AND a(\d+) = (\d+))")


def test_three_equalities_over_different_attributes() -> None:
    data = generate("equality", subscriptions=4_000, events=1, seed=1)
    found = [CONDITION.fullmatch(condition) for condition in data.conditions.to_pylist()]
    numbers = np.array([[int(number) for number in each.groups()] for each in found if each is not None])
    assert len(numbers) == 4_000
    names, values = numbers[:, ::2], numbers[:, 1::2]
    assert all(len(set(row)) == 3 for row in names.tolist())
    for column in (names, values):
        assert np.all(np.abs(np.bincount(column.ravel(), minlength=20) - 600) < 120)


def test_matches_are_as_many_as_values_say() -> None:
    data = generate("equality", subscriptions=3_000, events=300, seed=1, equalities=2, values=10, attributes=5)
    matcher = Matcher(data.event_type, engine="scan")
    assert matcher.add_many(zip(data.ids.to_pylist(), data.conditions.to_pylist(), strict=True)) == []
    assert matcher.match_batch(data.events).num_rows / 300 == pytest.approx(3_000 / 10**2, rel=0.05)


def test_values_of_events_are_uniform() -> None:
    events = generate("equality", subscriptions=1, events=4_000, values=8).events
    assert np.all(np.abs(np.bincount(np.asarray(events["a7"]), minlength=8) - 500) < 100)


def test_more_equalities_than_attributes_are_refused() -> None:
    with pytest.raises(WorkloadError, match="workload equality: equalities: 3 need as many attributes"):
        generate("equality", attributes=2)
