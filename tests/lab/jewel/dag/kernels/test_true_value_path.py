"""Only true nodes and their parents are visited."""

from __future__ import annotations

import random

import pytest

from tamis.events import EventBatch
from tamis.formulas.formula import Formula
from tamis.lab.jewel.dag import Dag
from tests.engines.test_engines import expected
from tests.lab.jewel.dag.formulas import BOOLEAN, conditions_of, pairs
from tests.worlds import WORLDS, world


def is_and_or(formula: Formula) -> bool:
    return all(node.predicate is not None or node.is_and or node.is_or for node in formula.nodes())


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("find", ["hash", "parents"])
def test_all_filters_on_and_or(name: str, find: str) -> None:
    here, random_ = world(name), random.Random(41)
    conditions = [each for each in here.accepted(random_, 150) if is_and_or(each.formula)]
    index = Dag(find=find, xor="expanded").build([each.formula for each in conditions])  # type: ignore[arg-type]
    slots = dict(enumerate(conditions))
    index.check()
    for rows in (0, 1, 30):
        batch = here.batch(random_, rows)
        wanted = expected(slots, batch)
        assert all(pairs(index, batch, filter_) == wanted for filter_ in BOOLEAN)
        assert index.stats().counts["true-value-path"] == 1


def test_visits_of_the_last_match() -> None:
    index = Dag().build([each.formula for each in conditions_of(["a = 1 AND b = 2 AND c = 3", "a = 1 AND b = 3"])])
    batch = EventBatch.of([{"a": 1}, {"a": 1, "b": 2}, {"c": 3}, {}])
    visited = {}
    for filter_ in BOOLEAN:
        index.match(batch, filter=filter_)
        visited[filter_] = index.visited.tolist()
    # Of `a = 1` alone: the leaf and both ANDs with `b`; only `general` passes on that they are false.
    assert visited == {
        "true-value-path": [3, 5, 2, 0],
        "zero-suppression": [3, 5, 2, 0],
        "general": [4, 5, 2, 0],
    }
