"""The index returns what the reference returns, by every filter that supports it, and its graph stays sound."""

from __future__ import annotations

import pytest

from tamis import Matcher
from tamis.engines.base import DynamicIndex, RankedIndex
from tamis.events import EventBatch
from tamis.lab.jewel.dag import Dag, FilterError, SlotError
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check


def test_it_is_a_dynamic_index() -> None:
    index: DynamicIndex = Dag().build([])
    condition = compile_condition("a = 1 AND b = 2")
    for slot in (5, 1000, 3):
        index.insert(slot, condition.formula)
    assert isinstance(index, RankedIndex)
    index.delete(5)
    index.insert(5, condition.formula)
    check(index, dict.fromkeys((5, 1000, 3), condition), EventBatch.of([{"a": 1, "b": 2}, {"a": 1}]))


def test_a_filter_refuses_what_it_does_not_support() -> None:
    sums = compile_condition("AT_LEAST(2, a = 1, b = 1, c = 1)").formula
    index = Dag(filter="true-value-path").build([compile_condition("a = 1 AND b = 1").formula])
    with pytest.raises(FilterError, match="true-value-path supports AND and OR only, found: at least 2 of"):
        index.insert(1, sums)
    with pytest.raises(FilterError, match="zero-suppression supports AND, OR and XOR only"):
        Dag(filter="zero-suppression").build([sums])
    index.check()
    assert index.stats().counts["subscriptions"] == 1
    general = Dag().build([sums])
    assert general.stats().counts["general"] == 1
    with pytest.raises(FilterError, match="nodes that need general"):
        general.match(EventBatch.of([{}]), filter="true-value-path")
    general.delete(0)
    assert general.stats().counts["true-value-path"] == 1


def test_slots_that_are_taken_or_empty() -> None:
    formula = compile_condition("a = 1").formula
    index = Dag().build([formula])
    with pytest.raises(SlotError, match="slot 0: expected one that is empty"):
        index.insert(0, formula)
    with pytest.raises(SlotError, match="slot 7: expected each slot once"):
        index.insert_many([7, 8, 7], [formula] * 3)
    with pytest.raises(SlotError, match="slot 5: expected one that holds a formula, found one that is empty"):
        index.delete_many([0, 5])
    with pytest.raises(SlotError, match="slot -1: expected one that is not negative"):
        index.insert(-1, formula)
    with pytest.raises(SlotError, match="expected a slot for each of 2 formulas, found 1 slots"):
        index.insert_many([4], [formula] * 2)
    with pytest.raises(SlotError, match="slot 2: expected a priority from 0 to 7, found 8"):
        index.insert(2, formula, priority=8)
    index.check()
    assert index.stats().counts["subscriptions"] == 1


def test_a_matcher_hands_priorities_on() -> None:
    """The pairs of an event come by priority; there are eight, and what is beyond counts as the last one."""
    matcher = Matcher(engine="dag")
    given = {"low": -5, "none": 0, "two": 2, "six": 6, "nine": 9, "twelve": 12}
    matcher.add_many([{"id": id_, "condition": f"{id_} = 1", "priority": given[id_]} for id_ in ("two", "nine")])
    for id_ in ("none", "low", "six", "twelve"):
        matcher.add(id_, f"{id_} = 1", priority=given[id_])
    event = dict.fromkeys(given, 1)
    found = matcher.match_batch([event, event], sort=None)
    assert found["event_id"].to_pylist() == [0] * 6 + [1] * 6
    order = found["subscription_id"].to_pylist()[:6]
    assert {*order[:2]} == {"nine", "twelve"}
    assert order[2:4] == ["six", "two"]
    assert matcher.match(event)[:3] == ["twelve", "nine", "six"], "exactly, in the answer to one event"
    matcher.replace("two", "two = 1", priority=7)
    matcher.remove("nine")
    order = matcher.match_batch([event], sort="event")["subscription_id"].to_pylist()
    assert {*order[:2]} == {"two", "twelve"}
    assert order[2] == "six"
