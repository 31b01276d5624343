"""`betree` finds the pairs, and its tree stays in order, whatever comes and goes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tamis.engines.betree import BETree, TreeFile
from tamis.engines.dynamic.normal_form import TermIndex
from tamis.engines.forest import Forest
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition
from tamis.language.formula import Formula
from tests.engines.betree.checking import Node, check_tree
from tests.engines.changes import change_at_random
from tests.engines.naive import check, check_workload, random_events, random_forest
from tests.worlds import WORLDS

NUMBERS = EventType.from_dict({"name": "t", "attributes": dict.fromkeys("abcdef", "bigint") | {"s": "string"}})


def formulas_of(texts: Sequence[str]) -> list[Formula]:
    return [compile_condition(text, NUMBERS).formula for text in texts]


def built(texts: Sequence[str], max_cap: int, *, loss: bool = True) -> TermIndex:
    return BETree(max_cap, loss=loss).build(formulas_of(texts))


def nodes_of(index: TermIndex) -> list[Node]:
    file = index._file
    assert isinstance(file, TreeFile)
    return check_tree(file)


def delete(index: TermIndex, *slots: int) -> None:
    index.delete_many(np.array(slots, np.int32))


@pytest.mark.slow
@pytest.mark.parametrize("max_cap", [1, 4])
@pytest.mark.parametrize("depth", [1, 3])
def test_random_forests(depth: int, max_cap: int) -> None:
    random_ = random.Random(71)
    forest = random_forest(random_, 300, depth=depth)
    index = BETree(max_cap, loss=depth == 1).build(forest)
    assert len(nodes_of(index)) > 50
    assert check(index, list(forest), random_events(random_, 4, 50, 40)) > 1_000


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_changes(name: str) -> None:
    index = BETree(2).build([])
    change_at_random(index, name)
    assert len(nodes_of(index)) == 2


@pytest.mark.parametrize("max_cap", [1, 5])
def test_the_tree_while_conjunctions_come_and_go(max_cap: int) -> None:
    random_ = random.Random(72)
    forest = random_forest(random_, 200, axes=6, depth=1, width=0.4)
    formulas, batch = list(forest), random_events(random_, 6, 50, 30)
    index = BETree(max_cap).build([])
    slots: list[int] = []
    for turn in range(30):
        if turn % 10 < 6:
            new = random_.sample([slot for slot in range(200) if slot not in slots], 20)
            index.insert_many(np.array(new, np.int32), [formulas[slot] for slot in new])
            slots += new
        else:
            gone = random_.sample(slots, min(len(slots), 25))
            delete(index, *gone)
            slots = [slot for slot in slots if slot not in gone]
        nodes_of(index)
    absent = compile_condition("FALSE").formula
    check(index, [formulas[slot] if slot in slots else absent for slot in range(200)], batch)
    delete(index, *slots)
    assert len(nodes_of(index)) == 2
    assert index.stats().counts["subscriptions"] == index.stats().counts["parts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"), [("auction", {}), ("ranges", {"width": 0.8}), ("strings", {}), ("equality", {})]
)
def test_the_pairs_of_postings(name: str, parameters: dict[str, Any]) -> None:
    def sound(forest: Forest) -> TermIndex:
        index = BETree(8).build(forest)
        nodes_of(index)
        return index

    found = check_workload(sound, name, **parameters)
    assert found or name == "strings", "so few strings have no pairs"


def test_a_bucket_is_cut_by_attribute_then_by_value() -> None:
    index = built([f"a = {number} AND b = 1" for number in range(9)], 8)
    counts = index.stats().counts
    assert (counts["nodes"], counts["parts"]) == (3 + 2, 1), "the root, the always one, a part and its halves"
    assert {node.path for node in nodes_of(index)} == {(), (1,)}


def test_what_cannot_be_cut_makes_the_bucket_larger() -> None:
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


def test_few_terms_are_gathered_into_one_bucket() -> None:
    index = built([f"a = {number} AND b = {number % 3}" for number in range(40)], 8)
    assert len(nodes_of(index)) > 8
    delete(index, *range(36))
    assert len(nodes_of(index)) == 2
    delete(index, *range(36, 40))
    assert len(nodes_of(index)) == 2


def test_terms_without_sides_are_always_looked_at() -> None:
    texts = ["a IS NULL", "a IS NULL OR b = 2", "TRUE", "FALSE", "a = 1"]
    index = built(texts, 1)
    assert index.stats().counts["always"] == 3
    nodes_of(index)
    events: list[dict[str, Any]] = [{}, {"a": 1}, {"a": 1, "b": 2}]
    assert check(index, formulas_of(texts), EventBatch.of(events, NUMBERS)) == 3 + 2 + 3


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


def test_an_event_looks_at_what_lies_around_its_values() -> None:
    texts = [f"a = {number}" for number in range(512)]
    index = built(texts, 8)
    batch = EventBatch.of([{"a": 77}, {"b": 77}, {"a": -5, "b": 1}], NUMBERS)
    assert check(index, formulas_of(texts), batch) == 1
    done = index.work()
    assert done["conjunctions"] == 1
    assert done["looked at"] <= 3 * 16
    assert done["nodes"] < 3 * 12
    assert set(index.work().values()) == {0}


@pytest.mark.parametrize(("loss", "rare_parts"), [(True, 4), (False, 0)])
def test_what_an_attribute_loses(loss: bool, rare_parts: int) -> None:
    """`a` is asked for by everything, each of the others by a quarter."""
    texts = [f"a = {number} AND {'bcde'[number % 4]} = {number}" for number in range(64)]
    first = {node.path[0] for node in nodes_of(built(texts, 8, loss=loss)) if node.path}
    assert len(first - {1}) == rare_parts


def test_stats_and_names() -> None:
    stats = built(["a = 1 AND b = 2", "a = 1 OR b = 2", "a = 1", "TRUE"], 8).stats()
    assert BETree.name == "betree"
    assert stats.counts == {
        "subscriptions": 4,
        "predicates": 0,
        "conjunctions": 5,
        "sides": 5,
        "nodes": 2,
        "parts": 0,
        "always": 1,
        "unsure": 0,
    }
    assert all(size >= 0 for size in stats.bytes.values())
