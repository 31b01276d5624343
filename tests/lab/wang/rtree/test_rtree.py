"""`rtree` finds the pairs of the whole language, at any level, and keeps its level by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tamis.engines.base import Estimating
from tamis.events import EventBatch
from tamis.lab.wang.rtree import Rtree
from tamis.language.condition import compile_condition
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("level", [None, 1, 2, 9])
def test_random_forests_at_any_level(level: int | None) -> None:
    random_ = random.Random(5)
    forest = random_forest(random_, 200, depth=2)
    index = Rtree(3, 4, level=level).build(forest)
    assert check(index, list(forest), random_events(random_, 4, 50, 20)) > 200
    assert check(index, list(forest), random_events(random_, 4, 50, 1)) > 5
    index.delete_many(np.arange(200, dtype=np.int32))
    assert index.stats().counts["boxes"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("dimensions", [1, 16])
def test_random_changes(name: str, dimensions: int) -> None:
    index = Rtree(3, 4, dimensions).build([])
    change_at_random(index, name)
    assert index.stats().counts["boxes"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "ads", "sparse"])
def test_the_pairs_of_postings(name: str) -> None:
    assert check_workload(Rtree().build, name)


def test_conditions_without_intervals() -> None:
    formulas = [compile_condition(text).formula for text in ("TRUE", "a IS NULL", "s LIKE '%x%'")]
    assert check(Rtree().build(formulas), formulas, EventBatch.of([{}, {"a": 1}, {"s": "axb"}])) == 6


def boxes(count: int) -> list[str]:
    random_ = random.Random(9)
    texts = []
    for _ in range(count):
        sides = [(name, random_.randrange(90), random_.randrange(1, 40)) for name in "abc"]
        texts.append(" AND ".join(f"{name} BETWEEN {low} AND {low + width}" for name, low, width in sides))
    return texts


def test_the_least_work_comes_first_and_is_estimated() -> None:
    index = Rtree(3, 4, level=3).build([compile_condition(text).formula for text in boxes(300)])
    events = [{name: value for name in "abc"} for value in (50, 500, 30, 45)]
    batch = EventBatch.of(events)
    assert isinstance(index, Estimating)
    estimates = index.estimate(batch)
    assert estimates[1] == 0
    rows = list(dict.fromkeys(index.match(batch).rows.tolist()))
    assert rows == [row for row in np.argsort(estimates, kind="stable").tolist() if row in rows]
    work = index.work()
    assert work["estimate tests"] > 0
    assert work["conjunctions"] <= work["candidates"]
    assert set(index.work().values()) == {0}


def test_the_level_stabilises_and_is_tried_again_after_updates() -> None:
    formulas = [compile_condition(text).formula for text in boxes(200)]
    index = Rtree(3, 4, rounds=1, threshold=50).build(formulas)
    batch = EventBatch.of([{name: value for name in "abc"} for value in range(0, 96, 6)])
    tests = []
    for _ in range(40):
        index.match(batch)
        tests.append(index.work()["estimate tests"])
    assert len(set(tests[:20])) > 1, "levels are tried"
    assert len(set(tests[-5:])) == 1, "one is taken"
    index.delete_many(np.arange(50, dtype=np.int32))
    again = []
    for _ in range(6):
        index.match(batch)
        again.append(index.work()["estimate tests"])
    assert len(set(again)) > 1
