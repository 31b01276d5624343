"""Every engine returns what the reference returns, whatever happened to its index before."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from _pytest.mark import ParameterSet

from tamis import reference
from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.engines.base import DynamicIndex, Index
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import FALSE, TRUE
from tamis.language.condition import Condition, compile_condition
from tests.worlds import WORLDS, World, schemaless, world

Slots = dict[int, Condition]


QUICK = ("bitslice", "scan")
"""The engines of the quick loop: the default one, and one that changes in place; others compile for minutes."""


def marked(names: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(names)]


STATIC = {"auto", "bitslice", "bitset", "postings"}
DYNAMIC = marked(set(ENGINES) - STATIC)
"""The engines whose indexes change in place."""


def expected(slots: Slots, batch: EventBatch) -> list[tuple[int, int]]:
    """Pairs of a row and a slot."""
    found = [(row, slot) for slot, condition in slots.items() for row in reference.matches(condition, batch)]
    return sorted(found)


def check(index: Index, slots: Slots, batch: EventBatch) -> None:
    rows, found = index.match(batch)
    assert rows.dtype == found.dtype == np.int32
    pairs = sorted(zip(rows.tolist(), found.tolist(), strict=True))
    wanted = expected(slots, batch)
    wrong = sorted(set(pairs) ^ set(wanted))
    if wrong:
        row, slot = wrong[0]
        verb = "should not" if wrong[0] in pairs else "should"
        pytest.fail(f"row {row} {verb} match slot {slot}: {slots[slot].text if slot in slots else 'empty'}")
    assert pairs == wanted, "a pair is there twice"


def build(engine: str, conditions: Sequence[Condition]) -> tuple[Index, Slots]:
    index = ENGINES[engine].build([condition.formula for condition in conditions])
    return index, dict(enumerate(conditions))


def build_dynamic(engine: str, conditions: Sequence[Condition]) -> tuple[DynamicIndex, Slots]:
    index, slots = build(engine, conditions)
    assert hasattr(index, "insert")
    return cast(DynamicIndex, index), slots


@pytest.fixture(params=marked(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=WORLDS)
def here(request: pytest.FixtureRequest) -> World:
    return world(request.param)


def test_the_names() -> None:
    assert MAPPED_ENGINE in ENGINES
    assert all(engine.name == name for name, engine in ENGINES.items())


def test_whether_it_changes_in_place(engine: str) -> None:
    assert hasattr(ENGINES[engine].build([]), "insert") == (engine not in STATIC)


def test_random_conditions_on_random_batches(engine: str, here: World) -> None:
    random_ = random.Random(31)
    index, slots = build(engine, here.accepted(random_, 120))
    for rows in (1, 2, 17, 80):
        check(index, slots, here.batch(random_, rows))


@pytest.mark.parametrize("engine", DYNAMIC)
def test_after_random_inserts_and_deletes(engine: str, here: World) -> None:
    random_ = random.Random(32)
    stock = here.accepted(random_, 60)
    index, slots = build_dynamic(engine, stock[:20])
    batch = here.batch(random_, 20)
    for turn in range(120):
        if slots and random_.random() < 0.5:
            slot = random_.choice([*slots])
            index.delete(slot)
            del slots[slot]
        else:
            slot = next(place for place in range(len(slots) + 1) if place not in slots)
            slots[slot] = random_.choice(stock)
            index.insert(slot, slots[slot].formula)
        if turn % 30 == 0:
            check(index, slots, batch)
    check(index, slots, batch)
    for slot in [*slots]:
        index.delete(slot)
        del slots[slot]
    check(index, slots, batch)
    assert index.stats().counts["subscriptions"] == 0


@pytest.mark.parametrize("engine", DYNAMIC)
def test_built_and_grown_indexes_are_alike(engine: str, here: World) -> None:
    random_ = random.Random(33)
    conditions = here.accepted(random_, 40)
    batch = here.batch(random_, 15)
    built, slots = build(engine, conditions)
    grown, _ = build_dynamic(engine, [])
    for slot in random_.sample(range(40), 40):
        grown.insert(slot, conditions[slot].formula)
    check(built, slots, batch)
    check(grown, slots, batch)


def test_the_same_condition_in_many_slots(engine: str) -> None:
    condition = compile_condition("a = 1 OR b > 2")
    index, slots = build(engine, [condition] * 30)
    check(index, slots, EventBatch.of([{"a": 1}, {"b": 3}, {"a": 2}]))


def test_constant_formulas(engine: str) -> None:
    conditions = [compile_condition(text) for text in ("NULL IS NULL", "FALSE", "a = 1", "1 < NULL")]
    assert (conditions[0].formula, conditions[1].formula) == (TRUE, FALSE)
    index, slots = build(engine, conditions)
    check(index, slots, EventBatch.of([{"a": 1}, {}]))


@pytest.mark.parametrize("engine", DYNAMIC)
def test_slots_far_apart(engine: str) -> None:
    index, slots = build_dynamic(engine, [])
    for slot in (5, 1000, 3):
        slots[slot] = compile_condition("a = 1")
        index.insert(slot, slots[slot].formula)
    check(index, slots, EventBatch.of([{"a": 1}, {"a": 1}]))


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{}],
        [{"a": None, "b": None, "s": None, "tags": None}] * 3,
        [{"unknown": 1, "other": [1]}] * 2,
        [{"a": [], "s": 5, "tags": "x"}],
    ],
    ids=["no rows", "no attributes", "all null", "unknown attributes", "other kinds"],
)
def test_odd_batches_without_a_schema(engine: str, events: list[dict[str, object]]) -> None:
    random_ = random.Random(34)
    index, slots = build(engine, schemaless().accepted(random_, 80))
    check(index, slots, EventBatch.of(events))


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_odd_typed_batches(engine: str, rows: int) -> None:
    random_ = random.Random(35)
    typed = world("typed")
    index, slots = build(engine, typed.accepted(random_, 80))
    nulls = pa.table({"n": pa.nulls(rows, pa.int32()), "unknown": pa.array(range(rows))})
    check(index, slots, EventBatch.of(nulls, typed.event_type))
    check(index, slots, EventBatch.of([{}] * rows, typed.event_type))
    check(index, slots, typed.batch(random_, rows))


@pytest.mark.parametrize("engine", DYNAMIC)
def test_an_index_that_matched_before_still_takes_changes(engine: str) -> None:
    event_type = EventType.from_dict({"name": "t", "attributes": {"a": "int", "tags": "array<int>"}})
    conditions = [
        compile_condition(text, event_type) for text in ("a = 1", "exists(tags, x -> x > a)", "a IS NULL")
    ]
    index, slots = build_dynamic(engine, conditions[:1])
    batch = EventBatch.of([{"a": 1, "tags": [2]}, {"tags": [1, None]}, {"a": 2, "tags": []}], event_type)
    for slot, condition in enumerate(conditions[1:], 1):
        check(index, slots, batch)
        slots[slot] = condition
        index.insert(slot, condition.formula)
    check(index, slots, batch)
    index.delete(0)
    del slots[0]
    check(index, slots, batch)
