"""The guess of an event's work: the predicates that it satisfies, exactly if they are few."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines import work_estimate
from tamis.engines.forest import forest_of
from tamis.engines.work_estimate import WorkEstimator
from tamis.events import EventBatch, EventType
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world

pytestmark = pytest.mark.usefixtures("form")

TYPE = EventType.from_dict({"attributes": {"a": "int", "b": "double", "s": "string", "t": "array<int>"}})


def estimates(conditions: list[str], events: list[dict[str, object]]) -> list[int]:
    forest = forest_of([compile_condition(each, TYPE).formula for each in conditions])
    found = WorkEstimator(forest).estimate(BatchFrame(EventBatch.of(events, TYPE)))
    assert found.dtype == np.int64
    return list(found.tolist())


def test_it_counts_the_predicates_that_hold() -> None:
    conditions = ["a > 3 AND b < 1.5", "a BETWEEN 1 AND 4", "s = 'x' OR a = 4", "a IN (4, 7, 9)", "s < 'y'"]
    events: list[dict[str, object]] = [{"a": 4, "b": 1.0, "s": "x"}, {"a": 7, "s": "z"}, {"b": 2.0}, {}]
    assert estimates(conditions, events) == [7, 2, 0, 0]


def test_other_predicates_and_computed_attributes_are_left_out() -> None:
    assert estimates(["s LIKE '%x%'", "a + b > 1", "exists(t, i -> i > 1)"], [{"s": "x", "a": 1, "t": [2]}]) == [0]


def test_of_no_formulas_and_no_events() -> None:
    assert estimates([], [{"a": 1}, {}]) == [0, 0]
    assert estimates(["a > 1"], []) == []


def test_of_many_predicates_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_estimate, "SAMPLE", 100)
    random_ = random.Random(4)
    conditions = [f"a < {random_.randrange(1000)}" for _ in range(2000)]
    low, middle, high = estimates(conditions, [{"a": 10}, {"a": 500}, {"a": 990}])
    assert 1800 <= low <= 2000
    assert 700 <= middle <= 1300
    assert high <= 100


@pytest.mark.parametrize("name", WORLDS)
def test_events_alone_and_in_company_have_the_same_estimate(name: str) -> None:
    random_ = random.Random(9)
    here = world(name)
    forest = forest_of([each.formula for each in here.accepted(random_, 60)])
    frame = BatchFrame(here.batch(random_, 40))
    found = WorkEstimator(forest)
    whole = found.estimate(frame)
    assert whole.any()
    assert [int(found.estimate(frame.slice(row, row + 1))[0]) for row in range(40)] == whole.tolist()
