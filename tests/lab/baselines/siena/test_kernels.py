"""Terms that need a missing attribute, or whose slot has matched, are skipped."""

from __future__ import annotations

import numpy as np

from tamis.events import EventBatch
from tamis.lab.baselines.siena import Siena
from tests.engines.naive import check
from tests.lab.formulas import formulas_of


def test_what_needs_an_attribute_that_an_event_lacks_is_skipped() -> None:
    formulas = formulas_of("a = 1 AND b = 1", "a = 1 AND b = 2", "a = 1 AND (c = 1 OR c IS NULL)", "a = 1")
    events = [{"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 2}, {"b": 1, "c": 1}, {}]
    for attributes, passed in ((0, 0), (1, 3), (2, 5), (3, 7)):
        index = Siena(attributes).build(formulas)
        assert check(index, formulas, EventBatch.of(events)) == 2 + 3
        done = index.work()
        assert done == {"held": 10, "hits": 18, "passed over": passed, "conjunctions": 5}
        assert set(index.work().values()) == {0}


def test_the_other_conjunctions_of_a_slot_that_has_matched_are_skipped() -> None:
    formulas = formulas_of("a = 1 OR (b = 1 AND c = 1)", "c = 1")
    index = Siena().build(formulas)
    batch = EventBatch.of([{"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 1}])
    for _ in range(2):
        assert check(index, formulas, batch) == 4
        assert index.work()["passed over"] == 2, "both hits of the second conjunction"


def test_the_attributes_are_those_that_most_terms_need() -> None:
    """They are chosen again when there are twice as many terms."""
    index = Siena(1).build(formulas_of("a = 1 AND x = 1", "a = 2"))
    formulas = formulas_of("a = 1 AND x = 1", "a = 2", *(f"x = {number} AND b = 1" for number in range(9)))
    batch = EventBatch.of([{"x": 1}])
    index.match(batch)
    assert index.work()["passed over"] == 1
    index.insert_many(np.arange(2, 11, dtype=np.int32), formulas[2:])
    batch = EventBatch.of([{"b": 1}, {"x": 1}])
    assert check(index, formulas, batch) == 0
    assert index.work() == {"held": 2, "hits": 11, "passed over": 9, "conjunctions": 0}
