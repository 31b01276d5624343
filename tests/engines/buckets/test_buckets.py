"""`buckets` finds the pairs whatever structures it has, and gives back what it no longer needs."""

from __future__ import annotations

import random
from typing import Any, get_args

import numba
import numpy as np
import pytest

from tamis.engines.buckets import Buckets, Order, Structure, StructureError
from tamis.engines.dynamic.bags import numbers_in
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS

STRUCTURES: tuple[Structure, ...] = get_args(Structure)


def pairs(index: TermIndex, batch: EventBatch) -> list[tuple[int, int]]:
    found = index.match(batch)
    return sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("capacity", [1, 4, 2_000])
def test_random_forests(structure: Structure, capacity: int) -> None:
    random_ = random.Random(capacity)
    forest = random_forest(random_, 120, depth=2)
    index = Buckets(capacity, structure).build(forest)
    assert check(index, list(forest), random_events(random_, 4, 50, 20)) > 200
    index.delete_many(np.arange(60, dtype=np.int32))
    index.insert_many(np.arange(60, dtype=np.int32), forest[:60])
    check(index, list(forest), random_events(random_, 4, 50, 20))
    index.delete_many(np.arange(120, dtype=np.int32))
    assert set(index.stats().counts.values()) - {index.stats().counts["room"]} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("capacity", [1, 3, 1_001])
def test_random_changes(name: str, structure: Structure, capacity: int) -> None:
    index = Buckets(capacity, structure).build([])
    change_at_random(index, name)
    counts = index.stats().counts
    assert (counts["structures"], counts["buckets"], counts["always"]) == (0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "ads", "sparse", "equality"])
def test_the_pairs_of_postings(name: str) -> None:
    for capacity in (7, 5_000):
        assert check_workload(Buckets(capacity).build, name)


CAMERA = "item = 'camera' AND price < 300 AND manufacturer IN ('Sony', 'Nikon', 'Panasonic') AND zoom > 4"


def test_an_attribute_that_is_missing_is_no_match() -> None:
    index = Buckets().build([compile_condition(CAMERA).formula])
    event = {"item": "camera", "colour": "red", "price": 199, "manufacturer": "Sony", "zoom": 5}
    without = {name: value for name, value in event.items() if name != "zoom"}
    assert pairs(index, EventBatch.of([event, event | {"price": 399}, without])) == [(0, 0)]


@numba.njit
def _places(own: Any, boxes: Any) -> list[int]:
    """Where the sides of terms begin, bucket by bucket, then those of terms without sides."""
    store = own.structures.store
    found = [
        store.entries[place].first
        for bucket in store.buckets[: store.made]
        for place in range(bucket.head, bucket.head + bucket.count)
    ]
    for term in numbers_in(own.always, 0):
        found.append(boxes.firsts[term])
    return found


@pytest.mark.parametrize("capacity", [1, 30, 2_000])
def test_boxes_stand_in_the_order_in_which_buckets_are_looked_through(capacity: int) -> None:
    random_ = random.Random(5)
    texts = [
        " AND ".join(
            f"x{random_.randrange(6)} BETWEEN {random_.randrange(9)} AND {random_.randrange(9, 20)}" for _ in "abc"
        )
        for _ in range(300)
    ]
    formulas = [compile_condition(text).formula for text in [*texts, "TRUE", "x1 IS NULL"]]
    file: Any = Buckets(capacity, "rbpst-hull").build(formulas)._file
    places = _places(file._own, file._boxes)
    assert len(places) == len(formulas)
    assert places == sorted(set(places))


def rare_and_frequent() -> tuple[list[str], EventBatch]:
    random_ = random.Random(3)
    texts = [
        " AND ".join(f"{name} = {random_.randrange(4)}" for name in ("often", f"rare{random_.randrange(30)}"))
        for _ in range(400)
    ]
    events = [{"often": value, f"rare{value}": value, f"rare{value + 9}": 1} for value in range(4)]
    return texts, EventBatch.of(events)


@pytest.mark.parametrize("order", get_args(Order))
def test_any_order_finds_the_same(order: Order) -> None:
    texts, batch = rare_and_frequent()
    formulas = [compile_condition(text).formula for text in texts]
    assert check(Buckets(10, order=order).build(formulas), formulas, batch) > 0


def test_rare_attributes_first_look_at_fewer_conjunctions() -> None:
    texts, batch = rare_and_frequent()
    looked = []
    for order in ("rare first", "frequent first"):
        index = Buckets(1_000, order=order).build([compile_condition(text).formula for text in texts])
        index.match(batch)
        looked.append(index.work()["entries"])
    assert 2 * looked[0] < looked[1]


def test_structures_by_attribute() -> None:
    event_type = EventType.from_dict({"name": "t", "attributes": {"a": "bigint", "b": "bigint", "s": "string"}})
    random_ = random.Random(4)
    texts = [f"a > {random_.randrange(100)}" for _ in range(50)]
    texts += [f"b BETWEEN {low} AND {low + 7}" for low in range(50)]
    texts += [f"s LIKE '%{random_.randrange(30)}%'" for _ in range(50)]
    formulas = [compile_condition(text, event_type).formula for text in texts]
    events = [{"a": value, "b": value // 2, "s": f"x{value}"} for value in range(0, 100, 7)]
    batch = EventBatch.of(events, event_type)
    steps = []
    for structures in ({"a": "it-node", "b": "rbpst-range"}, {"a": "rbpst-range", "b": "it-range"}, {}):
        index = Buckets(5, structures=structures).build(formulas)  # type: ignore[arg-type]
        assert check(index, formulas, batch) > 100
        steps.append(index.work()["steps"])
    assert len(set(steps)) == 3


def test_a_structure_that_is_not_there() -> None:
    with pytest.raises(StructureError, match="no structure 'btree'; known are auto, hash, it-node"):
        Buckets(structures={"a": "btree"})  # type: ignore[dict-item]


@pytest.mark.slow
def test_early_end_in_sorted_buckets() -> None:
    texts = [f"a = 1 AND b BETWEEN {low} AND {low + 1}" for low in range(3_000)]
    index = Buckets(5_000).build([compile_condition(text).formula for text in texts])
    batch = EventBatch.of([{"a": 1, "b": 10}])
    assert len(pairs(index, batch)) == 2
    assert index.work()["entries"] < 20


def test_full_buckets_of_equal_ranges_own_structures_of_the_next_attribute() -> None:
    texts = [f"a = 1 AND b = {value}" for value in range(200)]
    index = Buckets(10).build([compile_condition(text).formula for text in texts])
    assert index.stats().counts["structures"] > 1
    batch = EventBatch.of([{"a": 1, "b": 10}, {"b": 10}, {"a": 1}])
    assert pairs(index, batch) == [(0, 10)]
    assert index.work()["entries"] < 40


@pytest.mark.parametrize("structure", ["it-node", "it-range", "rbpst-range", "rbpst-hull"])
def test_the_order_of_insertion_does_not_spoil_a_tree(structure: Structure) -> None:
    numbers = EventType.from_dict({"name": "numbers", "attributes": {"x": "bigint"}})
    forest = [
        compile_condition(f"x BETWEEN {low} AND {low + 20}", numbers).formula for low in range(0, 20_000, 10)
    ]
    batch = EventBatch.of([{"x": value} for value in range(5, 20_000, 500)], numbers)
    shuffled = random.Random(1).sample(forest, len(forest))
    looks = []
    for formulas in (shuffled, forest, forest[::-1]):
        index = Buckets(4, structure).build(formulas)
        index.work()
        index.match(batch)
        looks.append(index.work()["entries"])
    assert max(looks[1:]) < 3 * looks[0]
