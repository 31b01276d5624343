"""A term index verifies the pairs of which its store is not sure, and reports all."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tamis.events import EventBatch
from tamis.lab.baselines.counting import CountingStore
from tamis.lab.dynamic.term_index import TermIndex
from tamis.language.condition import compile_condition
from tests.engines.naive import pairs_of, random_events, random_forest
from tests.engines.test_engines import check

ORS = " AND ".join(f"(a{number} = 1 OR b{number} = 1)" for number in range(9))


def test_sure_and_unsure_pairs_together() -> None:
    texts = ["a0 = 1", ORS, f"c = 1 AND {ORS}", "FALSE", "TRUE"]
    slots = {7 * place: compile_condition(text) for place, text in enumerate(texts)}
    index = TermIndex(CountingStore())
    index.insert_many(np.array([*slots], np.int32), [condition.formula for condition in slots.values()])
    counts = index.stats().counts
    assert (counts["subscriptions"], counts["unsure"]) == (5, 2)
    whole = {f"a{number}": 1 for number in range(9)}
    batch = EventBatch.of([{}, whole, whole | {"c": 1}, whole | {"a8": 2}, {"a0": 1, "c": 1}])
    check(index, slots, batch)
    for slot in (7, 0, 21, 28, 14):
        index.delete(slot)
        del slots[slot]
        check(index, slots, batch)
        assert index.stats().counts["subscriptions"] == len(slots)
    assert set(index.stats().counts.values()) == {0}


def test_pairs_stand_in_the_order_of_rows_if_all_are_sure() -> None:
    random_ = random.Random(97)
    forest = random_forest(random_, 100, depth=1)
    index = TermIndex(CountingStore())
    index.insert_many(np.arange(100, dtype=np.int32), forest)
    rows = index.match(random_events(random_, 4, 50, 30)).rows
    assert len(rows) > 100
    assert np.all(np.diff(rows) >= 0)


def test_matching_while_others_match_and_change() -> None:
    random_ = random.Random(98)
    forest = random_forest(random_, 200)
    index = TermIndex(CountingStore())
    index.insert_many(np.arange(200, dtype=np.int32), forest)
    batches = [random_events(random_, 4, 50, 20) for _ in range(6)]
    wanted = [pairs_of(list(forest), batch) for batch in batches]
    other = compile_condition("zzz = 1").formula

    def change(slot: int) -> None:
        index.insert(slot, other)
        index.delete(slot)

    with ThreadPoolExecutor(4) as pool:
        changes = [pool.submit(change, slot) for slot in range(200, 260)]
        for found, pairs in zip(pool.map(index.match, batches), wanted, strict=True):
            assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == pairs
        for change_ in changes:
            change_.result()
    assert index.stats().counts["subscriptions"] == 200


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_index(rows: int) -> None:
    index = TermIndex(CountingStore())
    assert len(index.match(EventBatch.of([{"a": 1}] * rows)).rows) == 0
    assert set(index.work().values()) == {0}


def test_the_estimate_is_the_number_of_hits() -> None:
    random_ = random.Random(99)
    forest = random_forest(random_, 100, depth=1)
    index = TermIndex(CountingStore())
    index.insert_many(np.arange(100, dtype=np.int32), forest)
    batch = random_events(random_, 4, 50, 30)
    estimates = index.estimate(batch)
    assert index.work()["hits"] == 0, "estimating is not matching"
    index.match(batch)
    assert estimates.sum() == index.work()["hits"] > 0
