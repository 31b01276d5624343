"""Entries of buckets exclude terms, and boxes stand in the order of scans."""

from __future__ import annotations

import random
from typing import Any

import numba
import pytest

from tamis.events import EventBatch
from tamis.lab.dynamic.kernels.posting_lists import postings_in
from tamis.lab.mishra_sahni.buckets import Buckets
from tamis.language.condition import compile_condition
from tests.lab.mishra_sahni.buckets.conditions import pairs


@numba.njit
def _places(own: Any, boxes: Any) -> list[int]:
    """Where the sides of terms begin, bucket by bucket, then those of terms without sides."""
    store = own.structures.store
    found = [
        store.entries[place].first
        for bucket in store.buckets[: store.made]
        for place in range(bucket.head, bucket.head + bucket.count)
    ]
    for term in postings_in(own.always, 0):
        found.append(boxes.firsts[term])
    return found


@pytest.mark.parametrize("capacity", [1, 30, 2_000])
def test_boxes_stand_in_the_order_in_which_buckets_are_scanned(capacity: int) -> None:
    random_ = random.Random(5)
    texts = [
        " AND ".join(
            f"x{random_.randrange(6)} BETWEEN {random_.randrange(9)} AND {random_.randrange(9, 20)}" for _ in "abc"
        )
        for _ in range(300)
    ]
    formulas = [compile_condition(text).formula for text in [*texts, "TRUE", "x1 IS NULL"]]
    store: Any = Buckets(capacity, "rbpst-hull").build(formulas)._store
    places = _places(store._own, store._boxes)
    assert len(places) == len(formulas)
    assert places == sorted(set(places))


@pytest.mark.slow
def test_early_end_in_sorted_buckets() -> None:
    texts = [f"a = 1 AND b BETWEEN {low} AND {low + 1}" for low in range(3_000)]
    index = Buckets(5_000).build([compile_condition(text).formula for text in texts])
    batch = EventBatch.of([{"a": 1, "b": 10}])
    assert len(pairs(index, batch)) == 2
    assert index.work()["entries"] < 20
