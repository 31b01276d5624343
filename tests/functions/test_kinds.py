"""Values of one kind, without any conversion."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.formulas.expression import Path
from tamis.language.condition import compile_condition
from tamis.reference import evaluate
from tamis.values.types import ANY, BOOLEAN, DATE, DOUBLE, INT, NUMBER, STRING, Type, decimal, parse_type
from tests.functions.calls import results


@pytest.mark.parametrize(
    ("name", "type_", "value", "expected"),
    [
        ("text_of", STRING, "1", "1"),
        ("text_of", INT, 1, None),
        ("text_of", STRING, None, None),
        ("number_of", INT, 1, 1),
        ("number_of", NUMBER, 1.5, 1.5),
        ("number_of", decimal(4, 2), 150, 150),
        ("number_of", STRING, "1", None),
        ("number_of", BOOLEAN, True, None),
        ("boolean_of", BOOLEAN, False, False),
        ("boolean_of", DOUBLE, 1.0, None),
        ("boolean_of", DATE, 1, None),
    ],
)
def test_a_value_of_a_declared_type(name: str, type_: Type, value: Any, expected: Any) -> None:
    assert results(name, [type_], [(value,), (value,)]) == [expected, expected]


EVENTS = [{"a": "1"}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"a": [1]}, {}]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("text_of(a) = '1'", [True, None, None, None, None, None, None]),
        ("number_of(a) = 1", [None, True, True, None, None, None, None]),
        ("boolean_of(a)", [None, None, None, True, None, None, None]),
    ],
)
def test_a_value_of_a_schemaless_event(condition: str, expected: list[bool | None]) -> None:
    assert list(evaluate(compile_condition(condition), EventBatch.of(EVENTS))) == expected


def test_nothing_is_computed_where_the_declared_type_is_of_the_kind() -> None:
    event_type = EventType.of({"attributes": {"a": "boolean"}})
    assert isinstance(compile_condition("boolean_of(a)", event_type).expression, Path)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (7, 2, 3),
        (-7, 2, -3),
        (7, 0, None),
        (-(2**63), -1, None),
        (7.0, 2, 3.5),
        (1, 0.0, math.inf),
        (-1.0, 0, -math.inf),
        (1.0, -0.0, -math.inf),
        (0.0, 0, None),
    ],
)
def test_quotients_by_kind(left: float, right: float, expected: float | None) -> None:
    assert results("quotient", [NUMBER, NUMBER], [(left, right)]) == [expected]


def test_sizes_of_every_kind() -> None:
    assert results("size_of", [ANY], [("ab",), ([1],), ({"a": 1, "b": 2},), (5,), (None,)]) == [
        2,
        1,
        2,
        None,
        None,
    ]
    assert results("size_of", [STRING], [("äb",)]) == [2]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        ("1", 1, False),
        ([1, "x"], [1.0, "x"], True),
        ([1], [True], False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
        (None, 1, None),
    ],
)
def test_values_that_are_the_same(left: Any, right: Any, expected: bool | None) -> None:
    assert results("same_value", [ANY, ANY], [(left, right)]) == [expected]


def test_values_of_different_declared_types_are_not_the_same() -> None:
    assert results("same_value", [DATE, INT], [(5, 5)]) == [False]
    assert results("same_value", [INT, DOUBLE], [(5, 5.0)]) == [True]


def test_keys_of_objects_and_maps() -> None:
    assert results("has_key", [ANY, STRING], [({"a": None}, "a"), ({}, "a"), (["a"], "a")]) == [True, False, None]
    entries = parse_type("map<int,string>")
    assert results("has_key", [entries, INT], [([(5, "x")], 5), ([], 5)]) == [True, False]
    assert results("has_key", [entries, STRING], [([(5, "x")], "5")]) == [False]
