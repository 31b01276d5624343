"""Comparisons: three-valued truth, NaN and zeros, IN, NULL tests; batches equal single rows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import column_of
from tamis.values.types import ANY, BOOLEAN, NULL, NUMBER, STRING, Type, parse_type

NAN = math.nan
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def applied(name: str, type_: Type, rows: list[tuple[Any, ...]]) -> list[Any]:
    """A function over rows of arguments of one type: the scalar form, after checking the batch form."""
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_)] * len(rows[0]), "UTC")
    scalar = function.scalar(signature)
    results = [scalar(*row) for row in rows]
    columns = [column_of(type_, list(values)) for values in zip(*rows, strict=True)]
    assert function.apply(signature, columns, len(rows)).to_list() == results
    return results


def test_comparisons_with_null_are_null_but_for_the_null_safe_one() -> None:
    rows = [(1, None), (None, 1), (None, None)]
    for name in OPERATORS[:-1]:
        assert applied(name, parse_type("int"), rows) == [None, None, None]
    assert applied("<=>", parse_type("int"), rows) == [False, False, True]


def test_nan_equals_nan_and_is_greatest() -> None:
    rows = [(NAN, NAN), (NAN, math.inf), (1.0, NAN)]
    for name in ("float", "double"):
        assert applied("=", parse_type(name), rows) == [True, False, False]
        assert applied(">", parse_type(name), rows) == [False, True, False]
        assert applied("<=>", parse_type(name), rows) == [True, False, False]


def test_zeros_are_equal() -> None:
    assert applied("=", parse_type("double"), [(0.0, -0.0)]) == [True]
    assert applied("<", parse_type("double"), [(-0.0, 0.0)]) == [False]


VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "bigint": [-(2**63), 2**63 - 1, 0, None],
    "float": [NAN, 0.0, -0.0, math.inf, None],
    "double": [NAN, 0.0, -0.0, -math.inf, None],
    "decimal(10,2)": [0, 1, -1, None],
    "decimal(38,0)": [0, 10**37, -1, None],
    "string": ["", "a", "ä", "😀", None],
    "binary": [b"", b"\x80", b"a", None],
    "date": [0, -1, None],
    "timestamp": [0, -1, None],
    "array<int>": [[], [1], [None], [1, None], None],
    "struct<a:int>": [(1,), (None,), None],
}


@pytest.mark.parametrize("type_name", VALUES)
def test_batches_compare_as_single_values(type_name: str) -> None:
    rows = list(itertools.product(VALUES[type_name], repeat=2))
    for name in OPERATORS:
        applied(name, parse_type(type_name), rows)
    applied("in", parse_type(type_name), list(itertools.product(VALUES[type_name], repeat=3)))
    applied("is_null", parse_type(type_name), [(value,) for value in VALUES[type_name]])
    applied("is_not_null", parse_type(type_name), [(value,) for value in VALUES[type_name]])


@pytest.mark.parametrize("type_", [NUMBER, ANY], ids=str)
def test_schemaless_batches_compare_as_single_values(type_: Type) -> None:
    values: list[Any] = [1, 1.0, 2**53 + 1, 2.0**53, NAN, None, *(["a", True, [1]] if type_ == ANY else [])]
    for name in OPERATORS:
        applied(name, type_, list(itertools.product(values, repeat=2)))
    applied("in", type_, list(itertools.product(values, repeat=3)))


def test_schemaless_values_of_different_kinds_are_neither_equal_nor_different() -> None:
    rows: list[tuple[Any, ...]] = [("1", 1), (True, 1), (1, 1.0)]
    assert applied("=", ANY, rows) == [None, None, True]
    assert applied("<>", ANY, rows) == [None, None, False]
    assert applied("<=>", ANY, rows) == [False, False, True]


def test_in_is_three_valued() -> None:
    rows = [(1, 1, None), (2, 1, None), (2, 1, 3), (None, 1, 2)]
    assert applied("in", parse_type("int"), rows) == [True, None, False, None]


def test_nulls_inside_arrays_are_equal() -> None:
    assert applied("=", parse_type("array<int>"), [([1, None], [1, None])]) == [True]


def test_null_tests_are_never_null() -> None:
    assert applied("is_null", STRING, [("a",), (None,)]) == [False, True]
    assert applied("is_not_null", NULL, [(None,)]) == [False]


def test_sides_are_cast_to_the_common_type() -> None:
    signature = FUNCTIONS["="].resolve([Argument(parse_type("float")), Argument(parse_type("int"))], "UTC")
    assert [str(type_) for type_ in signature.parameters] == ["double", "double"]
    assert signature.returns == BOOLEAN


def test_a_string_attribute_beside_a_number_is_compared_as_one() -> None:
    signature = FUNCTIONS["<"].resolve([Argument(parse_type("int")), Argument(STRING)], "UTC")
    assert [str(type_) for type_ in signature.parameters] == ["bigint", "bigint"]


def test_types_that_do_not_compare_are_named() -> None:
    with pytest.raises(ArgumentError, match="boolean and int cannot be compared"):
        FUNCTIONS["="].resolve([Argument(BOOLEAN), Argument(parse_type("int"))], "UTC")
