"""`hits` returns what the reference returns, with every option, after every change, for formulas of every size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from tamis import compile_conditions
from tamis.engines.base import DynamicIndex
from tamis.engines.forest import forest_of
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import Formula
from tamis.frames import BatchFrame
from tamis.lab.bittner.hits import Hits
from tamis.lab.workloads import generate
from tamis.statistics import Statistics
from tests.engines.changes import change_at_random
from tests.engines.naive import check as check_formulas
from tests.engines.naive import pairs_of, random_events, random_forest
from tests.engines.test_engines import expected
from tests.lab.formulas import formulas_of
from tests.worlds import WORLDS, world

OPTIONS = [
    Hits(encoding, circuit, semantic, ordered, weighted)  # type: ignore[arg-type]
    for encoding, circuit, semantic, ordered, weighted in product(("plain", "widths"), *[(False, True)] * 4)
]


def bits(name: str, values: Sequence[int]) -> dict[str, int]:
    """An event with name0, name1, ..."""
    return {f"{name}{number}": value for number, value in enumerate(values)}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_all_options(name: str) -> None:
    here, random_ = world(name), random.Random(51)
    conditions = here.accepted(random_, 40)
    formulas = forest_of([each.formula for each in conditions])
    batch = here.batch(random_, 15)
    frame = BatchFrame(batch)
    wanted = expected(dict(enumerate(conditions)), batch)
    assert len(wanted) > 40
    for engine in OPTIONS:
        found = engine.build(formulas).match(frame)
        assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("engine", OPTIONS[::15], ids=str)
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str, engine: Hits) -> None:
    index = engine.build([])
    change_at_random(index, name, seed=52)
    assert index.stats().counts == dict.fromkeys(("subscriptions", "predicates", "always", "verified"), 0)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("engine", [Hits(), Hits("widths", weighted=False)], ids=str)
def test_random_forests(depth: int, engine: Hits) -> None:
    random_ = random.Random(53)
    forest = random_forest(random_, 400, depth=depth)
    assert check_formulas(engine.build(forest), list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "ranges", "strings", "ads"])
def test_workloads(name: str) -> None:
    data = generate(name, subscriptions=200, events=40, seed=4)
    forest = forest_of(compile_conditions(data.conditions, data.event_type))
    batch = EventBatch.of(data.events, data.event_type)
    statistics = Statistics()
    statistics.observe(BatchFrame(batch), [axis.attribute for axis in forest.axes])
    check_formulas(Hits().build(forest), list(forest), batch)
    check_formulas(Hits("widths").build(forest, statistics), list(forest), batch)


@pytest.mark.parametrize(
    "text",
    [
        "s IN ('a', 'c', 'e') AND r IN ('b', 'd')",
        "s IN ('a', 'c') AND (r <> 'b' OR n = 2)",
        "s IN ('a', 'c', 'e') AND (r IN ('b', 'd') OR n IN (2, 4))",
    ],
)
def test_sets_of_a_column_of_conditions(text: str) -> None:
    """The pieces of leaves may stand in any order."""
    event_type = EventType.from_dict({"name": "t", "attributes": {"s": "string", "r": "string", "n": "int"}})
    forest = forest_of(compile_conditions([text], event_type))
    events = [{"s": s, "r": r, "n": n} for s in "abcdef" for r in "abcdef" for n in range(5)]
    assert check_formulas(Hits().build(forest), list(forest), EventBatch.of(events, event_type)) > 10


def _parity(count: int) -> str:
    return " XOR ".join(f"(x{number} = 1)" for number in range(count))


@pytest.mark.slow
def test_large_formulas() -> None:
    every = " AND ".join(f"x{number} = 1" for number in range(300))
    any_ = " OR ".join(f"x{number} = 1" for number in range(300))
    two = ", ".join(f"x{number} = 1" for number in range(280))
    texts = [
        every,
        any_,
        f"AT_LEAST(278, {two})",
        f"y = 1 AND ({any_})",
        f"y = 1 OR ({every})",
        f"AT_LEAST(2, y = 1, {every}, AT_LEAST(3, {two}))",
        " AND ".join(f"x{number} = 1" for number in range(255)),
        " AND ".join(f"x{number} = 1" for number in range(253)) + " AND (y = 1 OR z = 1)",
        " AND ".join(f"(x{number} = 1 OR x{number + 1} = 1)" for number in range(150)),
        " AND ".join(f"(x{number} = 1 OR y = 1)" for number in range(63)) + " AND z = 1",
    ]
    formulas = formulas_of(*texts)
    ones = [1] * 300
    events = [
        {},
        {"y": 1},
        bits("x", ones),
        bits("x", ones) | {"y": 1, "z": 1},
        *(bits("x", [int(number not in gone) for number in range(300)]) for gone in ((0,), (254, 255), (3, 4, 5))),
        bits("x", [0] * 299 + [1]) | {"y": 1},
        bits("x", [number % 2 for number in range(300)]) | {"z": 1},
        bits("x", [1, 1, 1]) | {"y": 1, "z": 1},
    ]
    assert check_formulas(Hits("widths").build(formulas), formulas, EventBatch.of(events)) > 20
    index = Hits().build(formulas)
    assert index.stats().counts["always"] == 7, "those with more than 255 leaves"
    check_formulas(index, formulas, EventBatch.of(events))
    for slot in (8, 3, 0):
        index.delete(slot)
        index.insert(slot, formulas[slot])
    check_formulas(index, formulas, EventBatch.of(events))


def test_what_is_too_long_for_a_tree_is_evaluated() -> None:
    """A parity shares its nodes; written out as a tree, it doubles with every attribute."""
    texts = [_parity(30), _parity(5), f"y = 1 AND ({_parity(30)})", "y = 1"]
    formulas = formulas_of(*texts)
    index = Hits().build(formulas)
    assert index.stats().counts["verified"] == 2
    random_ = random.Random(56)
    events: list[dict[str, int]] = [
        bits("x", [random_.randrange(2) for _ in range(30)]) | {"y": random_.randrange(2)} for _ in range(60)
    ]
    batch = EventBatch.of(events)
    assert check_formulas(index, formulas, batch) > 40
    found = index.match_owners(batch, np.array([0, 1, 0, 1], np.int32))
    wanted = sorted({(row, slot % 2) for row, slot in pairs_of(formulas, batch)})
    assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == wanted
    index.delete_many(np.array([2, 3], np.int32))
    check_formulas(index, formulas[:2], batch)
    index.delete_many(np.array([0, 1], np.int32))
    assert set(index.stats().counts.values()) == {0}


def _two_that_are_too_long(text: str) -> tuple[DynamicIndex, list[Formula]]:
    parity = " XOR ".join(f"(x{number} LIKE '%1%')" for number in range(30))
    formulas = formulas_of(parity, text, "z = 1")
    index = Hits().build([])
    for slot, formula in enumerate(formulas):
        index.insert_many(np.array([slot], np.int32), [formula])
    index.delete(2)
    return index, formulas[:2]


def test_tests_of_what_is_too_long_are_not_forgotten_when_others_use_them() -> None:
    index, formulas = _two_that_are_too_long("x0 LIKE '%1%'")
    check_formulas(index, formulas, EventBatch.of([{"x0": "010"}, {"x1": "1"}, {}]))


def test_tests_of_what_is_too_long_are_forgotten_once() -> None:
    parity = " XOR ".join(f"(x{number} LIKE '%1%')" for number in range(30))
    index, formulas = _two_that_are_too_long(parity)
    check_formulas(index, formulas, EventBatch.of([{"x0": "010"}, {"x1": "1"}, {}]))


def test_several_threads() -> None:
    random_ = random.Random(58)
    forest = random_forest(random_, 300)
    index = Hits().build(forest)
    batches = [random_events(random_, 4, 50, 20) for _ in range(8)]
    wanted = [pairs_of(list(forest), batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for found, pairs in zip(pool.map(index.match, batches), wanted, strict=True):
                assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == pairs
