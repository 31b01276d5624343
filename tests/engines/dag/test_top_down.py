"""Matching from the roots downwards finds the same pairs, and works out more nodes."""

from __future__ import annotations

import random

import pytest

from tamis.engines.dag import Dag, FilterError
from tamis.engines.dag.expressions import Call, Leaf
from tamis.events import EventBatch
from tamis.language.condition import compile_condition
from tests.worlds import WORLDS, world


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_pairs(name: str) -> None:
    here, random_ = world(name), random.Random(51)
    formulas = [each.formula for each in here.accepted(random_, 120) if "AT_LEAST" not in each.text]
    index = Dag().build(formulas)
    batch = here.batch(random_, 30)
    upwards = index.match(batch)
    downwards = index.match_top_down(batch)
    assert sorted(zip(*upwards, strict=True)) == sorted(zip(*downwards, strict=True))


def test_functions_that_are_true_of_nothing() -> None:
    a, b = (Leaf(compile_condition(f"{name} = 1").formula) for name in "ab")
    index = Dag().build([])
    for slot, function in enumerate(("nand", "nor", "xnor", "xor")):
        index.insert_expression(slot, Call(function, (a, b)))
    batch = EventBatch.of([{}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}])
    found = index.match_top_down(batch)
    assert sorted(zip(*found, strict=True)) == sorted(zip(*index.match(batch), strict=True))


def test_upwards_fewer_nodes_are_visited() -> None:
    formulas = [compile_condition(f"a = {n} AND (b = {n} OR c = {n})").formula for n in range(100)]
    index = Dag().build(formulas)
    batch = EventBatch.of([{"a": 5, "b": 5, "c": 6}])
    index.match(batch)
    upwards = int(index.visited.sum())
    index.match_top_down(batch)
    # Of every formula the root and its first operand, at least.
    assert index.visited.sum() >= 200
    assert upwards < 20


def test_values_are_refused() -> None:
    index = Dag().build([compile_condition("AT_LEAST(2, a = 1, b = 1, c = 1)").formula])
    with pytest.raises(FilterError, match="functions of truth only"):
        index.match_top_down(EventBatch.of([{}]))
