"""Leaves and objects at a path, through objects and arrays of any nesting."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import column_of, constant_column
from tamis.values.types import ANY, INT, STRING, Type, array, parse_type

ORDER = parse_type("struct<id:int,lines:array<struct<sku:string,tags:array<string>>>>")


def found(name: str, type_: Type, values: list[Any], path: str | None) -> list[Any]:
    """The results for values, after checking that the batch form agrees."""
    function = FUNCTIONS[name]
    more = [] if path is None else [path]
    signature = function.resolve([Argument(type_), *(Argument(STRING, True, each) for each in more)], "UTC")
    results = [function.scalar(signature)(value, *more) for value in values]
    columns = [column_of(type_, values), *(constant_column(STRING, each, len(values)) for each in more)]
    assert function.apply(signature, columns, len(values)).to_list() == results
    return results


@pytest.mark.parametrize(
    ("value", "path", "leaves", "objects"),
    [
        ("x", None, ["x"], []),
        (None, None, [], []),
        (None, "a", [], []),
        ([1, [2, None]], None, [1, 2, None], []),
        ({"a": 1}, "a", [1], []),
        ({"a": None}, "a", [None], []),
        ({"a": []}, "a", [], []),
        ({"a": {"b": 1}}, "a", [], [{"b": 1}]),
        ({"a": [{"b": 1}, {"b": [2, {"c": 3}]}, 4]}, "a.b", [1, 2], [{"c": 3}]),
        ({"a": [{"b": 1}, 4, [{}]]}, "a", [4], [{"b": 1}, {}]),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", [2, 1], []),
        (7, "a", [], []),
    ],
    ids=repr,
)
def test_values_of_json(value: Any, path: str | None, leaves: list[Any], objects: list[Any]) -> None:
    assert found("leaf_values", ANY, [value, value], path) == [leaves, leaves]
    assert found("inner_objects", ANY, [value, value], path) == [objects, objects]


def test_values_of_declared_structs() -> None:
    orders = [(1, [("a", ["x", None]), None, ("b", None)]), (None, None), None]
    assert found("leaf_values", ORDER, orders, "id") == [[1], [], []]
    assert found("leaf_values", ORDER, orders, "lines.sku") == [["a", "b"], [], []]
    assert found("leaf_values", ORDER, orders, "lines.tags") == [["x", None], [], []]
    assert found("leaf_values", array(INT), [[1, None], None], None) == [[1, None], []]


@pytest.mark.parametrize(
    ("name", "type_", "path", "expected"),
    [
        ("leaf_values", ORDER, "colour", "there is no field 'colour'"),
        ("leaf_values", ORDER, "lines", "expected a value, found struct"),
        ("inner_objects", ORDER, "id", "expected an object, found int"),
        ("inner_objects", INT, "a", "there is no field 'a'"),
    ],
)
def test_a_path_that_a_declared_type_does_not_have_is_refused(
    name: str, type_: Type, path: str, expected: str
) -> None:
    with pytest.raises(ArgumentError, match=expected):
        FUNCTIONS[name].resolve([Argument(type_), Argument(STRING, True, path)], "UTC")


def test_a_path_is_a_constant() -> None:
    with pytest.raises(ArgumentError, match="expected a path as a text"):
        FUNCTIONS["leaf_values"].resolve([Argument(ANY), Argument(STRING)], "UTC")
