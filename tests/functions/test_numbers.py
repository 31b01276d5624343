"""Functions of numbers with the values that Spark gives; batches equal single rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import ANY, INT, NUMBER, STRING, parse_type
from tests.functions.calls import results

NAN, INF = math.nan, math.inf


def rounded(name: str, type_name: str, value: Any, digits: int) -> tuple[Any, str]:
    arguments = [Argument(parse_type(type_name)), Argument(INT, is_constant=True, value=digits)]
    signature = FUNCTIONS[name].resolve(arguments, "UTC")
    return FUNCTIONS[name].scalar(signature)(value, digits), str(signature.returns)


@pytest.mark.parametrize(
    ("name", "type_name", "value", "digits", "expected", "returns"),
    [
        ("round", "int", 125, -1, 130, "int"),
        ("bround", "int", 125, -1, 120, "int"),
        ("round", "tinyint", 127, -1, None, "tinyint"),
        ("round", "int", 2**31 - 1, -10, 0, "int"),
        ("round", "bigint", 5_000_000_000, -10, 10_000_000_000, "bigint"),
        ("round", "int", 125, 3, 125, "int"),
        ("round", "double", 2.675, 2, 2.68, "double"),
        ("round", "double", 1.005, 2, 1.01, "double"),
        ("bround", "double", 1.15, 1, 1.2, "double"),
        ("round", "double", -2.5, 0, -3.0, "double"),
        ("bround", "double", 2.5, 0, 2.0, "double"),
        ("round", "double", 1.7976931348623157e308, -308, INF, "double"),
        ("round", "double", 1e300, 400, 1e300, "double"),
        ("round", "double", INF, 2, INF, "double"),
        ("round", "float", 2.674999952316284, 2, 2.6700000762939453, "float"),
        ("round", "decimal(5,2)", 12345, 1, 1235, "decimal(5,1)"),
        ("bround", "decimal(5,2)", 12345, 1, 1234, "decimal(5,1)"),
        ("round", "decimal(5,2)", 12345, 5, 12345, "decimal(6,2)"),
        ("round", "decimal(5,2)", 12345, -1, 120, "decimal(4,0)"),
        ("round", "decimal(5,2)", 12345, -10, 0, "decimal(11,0)"),
        ("round", "decimal(38,0)", 10**38 - 1, -1, None, "decimal(38,0)"),
        ("floor", "decimal(5,3)", -12345, 1, -124, "decimal(4,1)"),
        ("ceil", "decimal(10,0)", 12345, -2, 12400, "decimal(11,0)"),
    ],
)
def test_rounding_to_digits(
    name: str, type_name: str, value: Any, digits: int, expected: Any, returns: str
) -> None:
    assert rounded(name, type_name, value, digits) == (expected, returns)


def test_the_number_of_digits_is_constant() -> None:
    with pytest.raises(ArgumentError, match="expected a constant whole number of digits"):
        FUNCTIONS["round"].resolve([Argument(INT), Argument(INT)], "UTC")


def test_floor_and_ceil_give_bigints() -> None:
    double = parse_type("double")
    rows: list[tuple[Any, ...]] = [(1.5,), (-1.5,), (NAN,), (INF,), (2.0**63,), (-(2.0**63),), (None,)]
    assert results("floor", [double], rows) == [1, -2, 0, None, None, -(2**63), None]
    assert results("ceil", [double], [(-0.5,), (1e19,)]) == [0, None]
    assert results("floor", [NUMBER], [(1.5,), (7,)]) == [1, 7]


def test_floor_of_a_decimal_is_a_decimal() -> None:
    assert results("floor", [parse_type("decimal(5,2)")], [(-150,), (199,)]) == [-2, 1]
    signature = FUNCTIONS["floor"].resolve([Argument(parse_type("decimal(5,2)"))], "UTC")
    assert str(signature.returns) == "decimal(4,0)"
    signature = FUNCTIONS["ceil"].resolve([Argument(parse_type("decimal(5,0)"))], "UTC")
    assert str(signature.returns) == "decimal(5,0)"


def test_sign_and_sqrt_are_doubles() -> None:
    double = parse_type("double")
    rows: list[tuple[Any, ...]] = [(-1.5,), (-0.0,), (NAN,), (4.0,)]
    assert list(map(repr, results("sign", [double], rows))) == ["-1.0", "-0.0", "nan", "1.0"]
    assert list(map(repr, results("sqrt", [double], rows))) == ["nan", "-0.0", "nan", "2.0"]
    assert results("sqrt", [NUMBER], [(4,), (2.25,)]) == [2.0, 1.5]


def test_isnan_is_never_null() -> None:
    for type_ in (parse_type("float"), parse_type("double"), NUMBER):
        assert results("isnan", [type_], [(NAN,), (1.0,), (None,)]) == [True, False, False]


@pytest.mark.parametrize(
    ("type_name", "rows", "greatest", "least"),
    [
        ("int", [(1, None), (None, None), (1, 2)], [1, None, 2], [1, None, 1]),
        ("double", [(NAN, 1.0), (INF, None)], [NAN, INF], [1.0, INF]),
        ("string", [("a", "ä"), (None, "b")], ["ä", "b"], ["a", "b"]),
        ("decimal(38,0)", [(10**37, -1), (None, 5)], [10**37, 5], [-1, 5]),
        ("array<int>", [([1], [2])], [[2]], [[1]]),
    ],
)
def test_greatest_and_least_skip_null(type_name: str, rows: Any, greatest: Any, least: Any) -> None:
    types = [parse_type(type_name)] * 2
    assert repr(results("greatest", types, rows)) == repr(greatest)
    assert repr(results("least", types, rows)) == repr(least)


def test_average_is_the_sum_divided_by_the_count() -> None:
    types = [parse_type("int")] * 3
    rows: list[tuple[Any, ...]] = [(1, 2, 6), (1, None, 3), (2**31 - 1, 1, 0)]
    assert results("average", types, rows) == [3.0, None, None]
    signature = FUNCTIONS["average"].resolve([Argument(parse_type("decimal(5,2)"))] * 2, "UTC")
    assert str(signature.returns) == "decimal(10,6)"
    assert FUNCTIONS["average"].scalar(signature)(100, 201) == 1505000
    mixed = [parse_type("int"), parse_type("decimal(5,2)"), parse_type("double")]
    assert results("average", mixed, [(1, 150, 0.5)]) == [1.0]
    assert results("average", [NUMBER, NUMBER], [(1, 2), (1, 0.5)]) == [1.5, 0.75]


def test_a_path_of_a_schemaless_event_is_read_as_a_number() -> None:
    assert FUNCTIONS["floor"].resolve([Argument(ANY)], "UTC").parameters == (NUMBER,)


def test_a_string_attribute_is_read_as_a_double() -> None:
    assert str(FUNCTIONS["round"].resolve([Argument(STRING)], "UTC").returns) == "double"
