"""An event follows the edges of its values and the don't-care edges."""

from __future__ import annotations

import pytest

from tamis.events import EventBatch
from tamis.lab.baselines.gryphon import Gryphon
from tamis.lab.workloads import generate
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check
from tests.lab.baselines.gryphon.conditions import built, inserted


def test_an_attribute_with_two_values_never_holds() -> None:
    """Conjunctions may contradict themselves: the second value is checked at the end of the path."""
    texts = ["AT_LEAST(2, a = 1, a = 2, b = 1)", "(a = 1 OR b = 2) AND (a = 2 OR b = 1)"]
    conditions = [compile_condition(text) for text in texts]
    events = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 2}, {"a": 1}, {"b": 1}]
    check(built(texts), dict(enumerate(conditions)), EventBatch.of(events))


@pytest.mark.slow
def test_events_visit_few_nodes() -> None:
    data = generate("equality", subscriptions=1_000, events=20, seed=3, attributes=6, equalities=3, values=8)
    conditions = [compile_condition(text, data.event_type) for text in data.conditions.to_pylist()]
    index = Gryphon().build([condition.formula for condition in conditions])
    batch = EventBatch.of(data.events, data.event_type)
    check(index, dict(enumerate(conditions)), batch)
    work = index.work()
    assert work["candidates"] == work["conjunctions"] > 0, "there is nothing to check at the end of a path"
    assert work["held"] == 20 * 6
    assert work["nodes"] + work["tests"] < 20 * 1_000 / 5
    assert set(index.work().values()) == {0}


def test_the_work_of_one_event() -> None:
    index = inserted(["a = 1 AND b = 1", "a = 1 AND c > 3", "b = 1 AND c > 5", "d = 1"])
    assert index.match(EventBatch.of([{"a": 1, "b": 1, "c": 4}])).slots.tolist() == [1, 0]
    # The root, a=1, a=1 b=1 and b=1; tests of a, b and d at the root and of b below a=1.
    assert index.work() == {"held": 3, "nodes": 4, "tests": 4, "candidates": 3, "conjunctions": 2}
