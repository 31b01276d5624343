"""Conditions on two events: equal ones are one, and each pair gets the verdict of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamis.composite.joint_conditions import JointConditions
from tamis.composite.key_steps import AskedPairs
from tamis.composite.parts import compile_composite

WITHIN = "WITHIN INTERVAL '10' SECOND"


def conditions(*texts: str) -> JointConditions:
    composites = {slot: compile_composite(f"{text} {WITHIN}") for slot, text in enumerate(texts)}
    return JointConditions.of(composites, len(texts))


def test_equal_conditions_are_one_and_refer_to_the_part_of_each() -> None:
    found = conditions(
        "a AS x THEN price > x.price", "b THEN a AS x THEN price > x.price", "a AS y THEN price > y.price"
    )
    assert found.first_part.tolist() == [0, 2, 5]
    assert found.ids.tolist() == [-1, 0, -1, -1, 0, -1, 1]
    assert (found.refers[1], found.refers[4]) == (0, 1)
    assert found.attributes == {"price"}
    assert not found.is_slow.any()


def test_what_refers_to_several_parts_is_slow() -> None:
    found = conditions("a AS x THEN b AS y THEN price = x.price + y.price", "a THEN b")
    assert found.is_slow.tolist() == [True, False]
    assert found.conditions == []


def test_each_pair_has_the_verdict_of_its_condition() -> None:
    found = conditions("a AS x THEN price > x.price", "a AS x THEN price < x.price")
    prices = [1, 2, None, 3]

    def get_many(numbers: Any, names: Any) -> dict[int, Any]:
        assert [*names] == ["price"]
        return {number: {"price": prices[number]} for number in numbers}

    slot, earlier, later = (
        np.array(column) for column in zip((0, 0, 1), (1, 1, 0), (0, 3, 0), (0, 0, 2), strict=True)
    )
    pairs = AskedPairs(np.arange(4), slot, np.ones(4, np.int64), earlier, later, np.zeros(1, np.int64))
    assert sorted(found.hold(pairs, np.arange(4), get_many).tolist()) == [0, 1]
    nothing = AskedPairs(*[np.empty(0, np.int64)] * 6)
    assert found.hold(nothing, np.arange(4), get_many).tolist() == []
