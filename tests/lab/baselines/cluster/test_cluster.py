"""`cluster` finds the pairs of the reference, and frees what it no longer needs."""

from __future__ import annotations

import random

import pytest

from tamis.lab.baselines.cluster import Cluster
from tests.engines.changes import change_at_random
from tests.engines.naive import check, random_events, random_forest
from tests.worlds import WORLDS


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = Cluster().build([])
    change_at_random(index, name)
    assert set(index.stats().counts.values()) == {0}


@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int) -> None:
    random_ = random.Random(63)
    forest = random_forest(random_, 400, depth=depth)
    assert check(Cluster().build(forest), list(forest), random_events(random_, 4, 50, 40)) > 1_000
