"""Overfull buckets are partitioned by attribute and clustered by value."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.events import EventBatch
from tests.engines.naive import check
from tests.lab.baselines.betree.trees import NUMBERS, built, delete, formulas_of, nodes_of


def test_a_bucket_is_partitioned_by_attribute_then_clustered_by_value() -> None:
    index = built([f"a = {number} AND b = 1" for number in range(9)], 8)
    counts = index.stats().counts
    assert (counts["nodes"], counts["parts"]) == (3 + 2, 1), "the root, the always one, a part and its halves"
    assert {node.path for node in nodes_of(index)} == {(), (1,)}


def test_a_bucket_that_cannot_be_split_grows() -> None:
    index = built(["a = 1 AND b BETWEEN 1 AND 9"] * 50, 4)
    few = len(nodes_of(index))
    assert few < 8
    formulas = formulas_of(["a = 1 AND b = 2"] * 60)
    index.insert_many(np.arange(50, 110, dtype=np.int32), formulas)
    nodes_of(index)
    delete(index, *range(105))
    nodes_of(index)
    index.insert_many(np.arange(50, dtype=np.int32), formulas_of([f"a = {n} AND b = {n}" for n in range(50)]))
    assert len(nodes_of(index)) > few + 10, "a bucket that has shrunk is cut again"


def test_each_test_is_an_attribute() -> None:
    texts = [f"s LIKE '%{number}%' AND a < {number}" for number in range(4) for _ in range(5)]
    index = built(texts, 3)
    assert {-1, -2, -3, -4} <= {node.path[0] for node in nodes_of(index) if node.path}
    batch = EventBatch.of([{"s": "1x3", "a": 2}, {"s": "x", "a": 0}, {"a": 0}, {"s": "0123", "a": -1}], NUMBERS)
    assert check(index, formulas_of(texts), batch) == 5 + 20
    assert index.work()["candidates"] < 40


def test_ends_of_the_whole_range_of_numbers() -> None:
    least, most = -(1 << 63), (1 << 63) - 1
    numbers = (least, least + 1, -1, 0, 1, most - 1, most)
    texts = [f"a BETWEEN {low} AND {high}" for low in numbers for high in numbers if low <= high]
    texts += [f"a <= {number}" for number in numbers] + [f"a >= {number}" for number in numbers]
    index = built(texts, 2)
    assert len(nodes_of(index)) > 8
    assert check(index, formulas_of(texts), EventBatch.of([{"a": each} for each in (*numbers, 5)], NUMBERS)) > 100


@pytest.mark.parametrize(("loss", "rare_parts"), [(True, 4), (False, 0)])
def test_what_an_attribute_loses(loss: bool, rare_parts: int) -> None:
    """`a` is asked for by everything, each of the others by a quarter."""
    texts = [f"a = {number} AND {'bcde'[number % 4]} = {number}" for number in range(64)]
    first = {node.path[0] for node in nodes_of(built(texts, 8, loss=loss)) if node.path}
    assert len(first - {1}) == rare_parts


def test_terms_that_come_sorted_by_value_are_told_apart() -> None:
    """The first bucket has one value; what follows must not end in partitions below it, whatever its value."""
    texts = [f"s = 'v{number // 40}' AND a = 1" for number in range(320)]
    index = built(texts, 8)
    batch = EventBatch.of([{"s": "v3", "a": 1}], NUMBERS)
    index.match(batch)
    index.work()
    assert check(index, formulas_of(texts), batch) == 40
    assert index.work()["candidates"] <= 2 * 40


def test_no_text_is_cut_in_two() -> None:
    texts = [f"s = 'v{number % 50:02}' AND a > {number % 3}" for number in range(1_000)]
    index = built(texts, 8)
    batch = EventBatch.of([{"s": f"v{number:02}", "a": 9} for number in range(50)], NUMBERS)
    index.match(batch)
    index.work()
    assert check(index, formulas_of(texts), batch) == 1_000
    assert index.work()["candidates"] <= 1_100, "a text that a middle fell into was looked at by most events"
