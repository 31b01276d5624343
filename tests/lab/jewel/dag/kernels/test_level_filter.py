"""Queues are emptied by priority, then by level."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from tamis.events import EventBatch
from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.index import Filter
from tamis.language.condition import compile_condition
from tests.lab.jewel.dag.formulas import BOOLEAN


def order(index: DagIndex, event: Mapping[str, int], filter_: Filter) -> list[int]:
    found: list[int] = index.match(EventBatch.of([event]), filter=filter_).slots.tolist()
    return found


@pytest.mark.parametrize("filter_", BOOLEAN)
def test_a_greater_priority_is_reported_first(filter_: Filter) -> None:
    index = DagIndex()
    for slot, priority in enumerate((0, 3, 1, 7, 0, 2)):
        condition = f"x{slot} = 1 AND y{slot} = 1 AND (z{slot} = 1 OR w{slot} = 1)" if slot % 2 else f"x{slot} = 1"
        index.insert(slot, compile_condition(condition).formula, priority=priority)
    index.check()
    event = {f"{letter}{slot}": 1 for letter in "xyz" for slot in range(6)}
    assert order(index, event, filter_)[:4] == [3, 1, 5, 2]
    index.delete(3)
    index.check()
    assert order(index, event, filter_)[:3] == [1, 5, 2]


@pytest.mark.parametrize("filter_", BOOLEAN)
def test_a_part_of_a_greater_priority_may_come_first(filter_: Filter) -> None:
    index = DagIndex()
    index.insert(0, compile_condition("a = 1 AND b = 1").formula)
    index.insert(1, compile_condition("c = 1").formula, priority=1)
    event = {"a": 1, "b": 1, "c": 1}
    assert order(index, event, filter_) == [1, 0]
    index.insert(2, compile_condition("a = 1 AND b = 1 AND c = 1").formula, priority=7)
    index.check()
    # Slot 0 is part of slot 2, and so is slot 1: both are known when slot 2 is.
    assert order(index, event, filter_)[-1] == 2
    assert order(index, {"a": 1, "b": 1}, filter_) == [0]
    index.delete(2)
    index.check()
    assert order(index, event, filter_) == [1, 0]


@pytest.mark.parametrize("filter_", BOOLEAN)
def test_order_of_random_priorities(filter_: Filter) -> None:
    """Slots that share nothing come by priority; all pairs are there whatever they share."""
    random_ = random.Random(5)
    index = DagIndex()
    priorities = {slot: random_.randrange(8) for slot in range(60)}
    for slot, priority in priorities.items():
        formula = compile_condition(f"x{slot} = 1 AND (y{slot} = 1 OR common = {slot % 3})").formula
        index.insert(slot, formula, priority=priority)
    index.check()
    event = {f"{letter}{slot}": 1 for letter in "xy" for slot in range(60)}
    found = order(index, {**event, "common": 1}, filter_)
    assert sorted(found) == list(range(60))
    assert [priorities[slot] for slot in found] == sorted(priorities.values(), reverse=True)
