"""Terms go down by attributes in their order, through buckets that cannot be split."""

from __future__ import annotations

import random
from typing import get_args

import pytest

from tamis.events import EventBatch
from tamis.lab.mishra_sahni.buckets import Buckets, Order
from tamis.language.condition import compile_condition
from tests.engines.naive import check
from tests.lab.mishra_sahni.buckets.conditions import pairs

CAMERA = "item = 'camera' AND price < 300 AND manufacturer IN ('Sony', 'Nikon', 'Panasonic') AND zoom > 4"


def test_an_attribute_that_is_missing_is_no_match() -> None:
    index = Buckets().build([compile_condition(CAMERA).formula])
    event = {"item": "camera", "colour": "red", "price": 199, "manufacturer": "Sony", "zoom": 5}
    without = {name: value for name, value in event.items() if name != "zoom"}
    assert pairs(index, EventBatch.of([event, event | {"price": 399}, without])) == [(0, 0)]


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


def test_rare_attributes_first_scan_fewer_entries() -> None:
    texts, batch = rare_and_frequent()
    looked = []
    for order in ("rare first", "frequent first"):
        index = Buckets(1_000, order=order).build([compile_condition(text).formula for text in texts])
        index.match(batch)
        looked.append(index.work()["entries"])
    assert 2 * looked[0] < looked[1]


def test_full_buckets_of_equal_ranges_own_structures_of_the_next_attribute() -> None:
    texts = [f"a = 1 AND b = {value}" for value in range(200)]
    index = Buckets(10).build([compile_condition(text).formula for text in texts])
    assert index.stats().counts["structures"] > 1
    batch = EventBatch.of([{"a": 1, "b": 10}, {"b": 10}, {"a": 1}])
    assert pairs(index, batch) == [(0, 10)]
    assert index.work()["entries"] < 40
