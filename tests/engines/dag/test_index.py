"""The index returns what the reference returns, by every filter that can serve, and its graph stays sound."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
import pytest

from tamis.engines.base import DynamicIndex
from tamis.engines.dag import Dag, DagIndex, FilterError, SlotError
from tamis.engines.dag.index import Filter
from tamis.events import EventBatch
from tamis.language.bulk import compile_conditions
from tamis.language.condition import Condition, compile_condition
from tamis.language.formula import Formula
from tests.engines.test_engines import Slots, check, expected
from tests.worlds import WORLDS, world

BOOLEAN: list[Filter] = ["true-value-path", "zero-suppression", "general"]


def is_and_or(formula: Formula) -> bool:
    return all(node.predicate is not None or node.is_and or node.is_or for node in formula.nodes())


def conditions_of(texts: Sequence[str]) -> list[Condition]:
    return [compile_condition(text) for text in texts]


def pairs(index: DagIndex, batch: EventBatch, filter_: Filter) -> list[tuple[int, int]]:
    rows, slots = index.match(batch, filter=filter_)
    return sorted(zip(rows.tolist(), slots.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("find", ["hash", "parents"])
def test_all_filters_on_and_or(name: str, find: str) -> None:
    here, random_ = world(name), random.Random(41)
    conditions = [each for each in here.accepted(random_, 150) if is_and_or(each.formula)]
    index = Dag(find=find).build([each.formula for each in conditions])  # type: ignore[arg-type]
    slots = dict(enumerate(conditions))
    index.check()
    for rows in (0, 1, 30):
        batch = here.batch(random_, rows)
        wanted = expected(slots, batch)
        assert all(pairs(index, batch, filter_) == wanted for filter_ in BOOLEAN)
        assert index.stats().counts["true-value-path"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_graph_is_sound_after_random_changes(name: str) -> None:
    here, random_ = world(name), random.Random(42)
    stock = here.accepted(random_, 60)
    batch = here.batch(random_, 15)
    index = DagIndex(find=random_.choice(("hash", "parents")))
    slots: Slots = {}
    for turn in range(100):
        if slots and random_.random() < 0.45:
            gone = random_.sample([*slots], min(len(slots), random_.randint(1, 6)))
            index.delete_many(gone)
            for slot in gone:
                del slots[slot]
        else:
            empty = random_.sample([slot for slot in range(200) if slot not in slots], random_.randint(1, 6))
            some = {slot: random_.choice(stock) for slot in empty}
            priorities = [random_.choice((0, 0, 1, 7)) for _ in some]
            index.insert_many(empty, [each.formula for each in some.values()], priorities=priorities)
            slots |= some
        if turn % 5 == 0:
            index.check()
            check(index, slots, batch)
    index.delete_many([*slots])
    index.check()
    assert index.stats().counts == {
        **dict.fromkeys(("subscriptions", "predicates", "nodes", "levels", "edges"), 0),
        **{"true-value-path": 1, "zero-suppression": 0, "general": 0},
    }
    assert len(index.match(batch).rows) == 0


def test_it_is_a_dynamic_index() -> None:
    index: DynamicIndex = Dag().build([])
    condition = compile_condition("a = 1 AND b = 2")
    for slot in (5, 1000, 3):
        index.insert(slot, condition.formula)
    index.delete(5)
    index.insert(5, condition.formula)
    check(index, dict.fromkeys((5, 1000, 3), condition), EventBatch.of([{"a": 1, "b": 2}, {"a": 1}]))


def test_equal_formulas_share_everything() -> None:
    condition = compile_condition("(a = 1 OR b > 2) AND c = 3")
    index = Dag().build([condition.formula] * 500)
    assert index.stats().counts["nodes"] == 5
    check(index, dict.fromkeys(range(500), condition), EventBatch.of([{"a": 1, "c": 3}, {"a": 1}]))
    index.delete_many(range(499))
    index.check()
    assert index.stats().counts["nodes"] == 5


def test_constant_formulas() -> None:
    conditions = conditions_of(["NULL IS NULL", "FALSE", "a = 1", "1 < NULL", "TRUE"])
    index = Dag().build([each.formula for each in conditions])
    index.check()
    batch = EventBatch.of([{"a": 1}, {}])
    for filter_ in BOOLEAN:
        assert pairs(index, batch, filter_) == [(0, 0), (0, 2), (0, 4), (1, 0), (1, 4)]
    index.delete_many([0, 4])
    index.check()
    assert pairs(index, batch, "auto") == [(0, 2)]


def test_a_column_of_conditions() -> None:
    texts = [f"a = {number % 7} AND (b > {number % 5} OR c LIKE '{number % 3}%')" for number in range(200)]
    index = DagIndex()
    index.insert_many(range(200), compile_conditions(texts))
    index.check()
    batch = EventBatch.of([{"a": value, "b": 2, "c": str(value)} for value in range(7)])
    check(index, dict(enumerate(conditions_of(texts))), batch)


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


def test_a_filter_refuses_what_it_cannot_serve() -> None:
    sums = compile_condition("AT_LEAST(2, a = 1, b = 1, c = 1)").formula
    index = Dag(filter="true-value-path").build([compile_condition("a = 1 AND b = 1").formula])
    with pytest.raises(FilterError, match="true-value-path serves AND and OR only, found: at least 2 of"):
        index.insert(1, sums)
    with pytest.raises(FilterError, match="zero-suppression serves AND, OR and XOR only"):
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


@numba.njit(nogil=True)
def set_serial(graph: Any, serial: int) -> None:
    graph.serial = serial


def test_stamps_start_anew_before_numbers_run_out() -> None:
    conditions = conditions_of(["a = 1 AND b = 2", "a = 1 OR c = 3"])
    index = Dag().build([each.formula for each in conditions])
    batch = EventBatch.of([{"a": 1, "b": 2}, {"c": 3}, {"b": 2}] * 4)
    check(index, dict(enumerate(conditions)), batch)
    set_serial(index._graph, 2**31 - 12)
    check(index, dict(enumerate(conditions)), batch)


# --- priorities ----------------------------------------------------------------------------------------------


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


def test_rows_come_in_order() -> None:
    index = Dag().build([compile_condition(f"a >= {number}").formula for number in range(10)])
    rows = index.match(EventBatch.of([{"a": value} for value in range(10)])).rows
    assert np.all(np.diff(rows) >= 0)
