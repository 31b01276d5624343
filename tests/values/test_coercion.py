"""Common types and types of arithmetic, with the results that Spark 4.3 gives (`typeof`)."""

from __future__ import annotations

import pytest

from tamis.functions.registry import Argument
from tamis.values.coercion import (
    arithmetic_type,
    common_type,
    comparison_type,
    contained_type,
    decimal_result,
    tightest_type,
    unpromoted_type,
)
from tamis.values.types import ANY, BIGINT, DOUBLE, INT, NULL, NUMBER, STRING, Type, decimal, parse_type


def column(text: str) -> Argument:
    return Argument(NULL if text == "null" else ANY if text == "any" else parse_type(text))


def text(value: str) -> Argument:
    return Argument(STRING, is_constant=True, value=value)


def integer(value: int, type_: Type = INT, *, folded: bool = False) -> Argument:
    return Argument(type_, is_constant=True, value=value, folded=folded)


def shown(type_: Type | None) -> str | None:
    return None if type_ is None else str(type_)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ("tinyint bigint", "bigint"),
        ("int float", "double"),
        ("float float", "float"),
        ("float decimal(5,2)", "double"),
        ("int decimal(5,2)", "decimal(12,2)"),
        ("bigint decimal(20,15)", "decimal(35,15)"),
        ("decimal(38,10) decimal(20,15)", "decimal(38,10)"),
        ("decimal(38,0) decimal(38,38)", "decimal(38,0)"),
        ("int decimal(38,38)", "decimal(38,28)"),
        ("date timestamp", "timestamp"),
        ("timestamp timestamp_ntz", "timestamp"),
        ("date timestamp_ntz", "timestamp_ntz"),
        ("string date", "date"),
        ("string boolean", "boolean"),
        ("string binary", "binary"),
        ("null int", "int"),
        ("null null", "null"),
        ("boolean int", None),
        ("date int", None),
        ("binary int", None),
        ("array<int> array<bigint>", "array<bigint>"),
        ("array<int> array<decimal(5,2)>", "array<decimal(12,2)>"),
        ("array<int> int", None),
    ],
)
def test_common_type_of_attributes(operands: str, expected: str | None) -> None:
    assert shown(common_type([column(each) for each in operands.split()])) == expected


def test_a_string_literal_beside_an_integer_is_a_bigint() -> None:
    assert common_type([column("int"), text("1")]) == BIGINT


def test_a_string_literal_beside_a_decimal_is_a_double() -> None:
    assert common_type([column("decimal(5,2)"), text("1.5")]) == DOUBLE


@pytest.mark.parametrize(
    ("number", "common"), [("int", "bigint"), ("double", "double"), ("decimal(5,2)", "double")]
)
def test_a_string_attribute_beside_a_number(number: str, common: str) -> None:
    assert str(common_type([column("string"), column(number)])) == common
    assert str(comparison_type(column(number), column("string"))) == common


def test_common_type_is_found_from_left_to_right() -> None:
    assert shown(common_type([column("int"), text("1"), column("decimal(5,2)")])) == "decimal(22,2)"
    assert shown(common_type([column("decimal(5,2)"), text("1"), column("int")])) == "double"


def test_least_and_greatest_do_not_promote_strings() -> None:
    assert unpromoted_type([column("date"), text("2020-01-01")]) is None
    assert shown(unpromoted_type([column("int"), column("decimal(5,2)")])) == "decimal(12,2)"


def test_a_literal_integer_is_tight_in_comparisons_only() -> None:
    price = column("decimal(5,2)")
    assert shown(comparison_type(price, integer(1))) == "decimal(5,2)"
    assert shown(common_type([price, integer(1)])) == "decimal(12,2)"


def test_an_integer_is_ordered_against_a_decimal_literal_exactly() -> None:
    tiny = Argument(decimal(38, 38), is_constant=True, value=1)
    assert shown(comparison_type(column("bigint"), tiny, ordering=True)) == "decimal(58,38)"
    assert shown(comparison_type(column("bigint"), tiny)) == "decimal(38,18)"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("array<int>", "array<float>", "array<double>"),
        ("array<int>", "array<decimal(5,2)>", None),
        ("array<int>", "array<string>", None),
        ("struct<a:int>", "struct<a:bigint>", "struct<a:bigint>"),
        ("struct<a:int>", "struct<b:int>", "struct<a:int>"),
        ("struct<a:int>", "struct<b:bigint>", None),
    ],
)
def test_arrays_and_structs_are_compared_in_the_tightest_type(left: str, right: str, expected: str | None) -> None:
    assert shown(comparison_type(column(left), column(right))) == expected


def test_array_functions_make_integers_floats_beside_floats() -> None:
    assert shown(tightest_type(parse_type("int"), parse_type("float"))) == "float"
    assert shown(contained_type(parse_type("int"), parse_type("float"))) == "float"
    assert shown(contained_type(parse_type("int"), parse_type("decimal(2,1)"))) == "decimal(11,1)"
    assert tightest_type(parse_type("int"), parse_type("decimal(2,1)")) is None


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", "tinyint", "tinyint", "tinyint"),
        ("+", "int", "float", "double"),
        ("*", "float", "float", "float"),
        ("/", "float", "float", "double"),
        ("/", "int", "int", "double"),
        ("div", "tinyint", "tinyint", "bigint"),
        ("div", "double", "int", None),
        ("div", "decimal(5,2)", "int", "bigint"),
        ("+", "decimal(10,2)", "int", "decimal(13,2)"),
        ("*", "decimal(10,2)", "decimal(10,2)", "decimal(21,4)"),
        ("/", "decimal(10,2)", "decimal(10,2)", "decimal(23,13)"),
        ("%", "decimal(10,2)", "bigint", "decimal(10,2)"),
        ("+", "decimal(38,10)", "decimal(38,10)", "decimal(38,9)"),
        ("/", "decimal(38,10)", "decimal(38,10)", "decimal(38,6)"),
        ("+", "date", "int", "date"),
        ("+", "smallint", "date", "date"),
        ("-", "date", "int", "date"),
        ("-", "int", "date", None),
        ("+", "date", "bigint", None),
        ("-", "date", "date", "interval day"),
        ("+", "null", "null", "double"),
        ("+", "decimal(10,2)", "null", "decimal(11,2)"),
        ("/", "null", "decimal(10,2)", "double"),
        ("+", "boolean", "int", None),
        ("+", "string", "string", None),
    ],
)
def test_result_of_arithmetic(operator: str, left: str, right: str, expected: str | None) -> None:
    found = arithmetic_type(operator, column(left), column(right))
    assert (None if found is None else str(found[2])) == expected


@pytest.mark.parametrize(
    ("operator", "literal", "expected"),
    [
        ("+", integer(1), "decimal(11,2)"),
        ("*", integer(2), "decimal(12,2)"),
        ("/", integer(3), "decimal(14,6)"),
        ("%", integer(-7), "decimal(3,2)"),
        ("+", integer(1, BIGINT), "decimal(11,2)"),
        ("+", integer(2, folded=True), "decimal(13,2)"),
        ("+", integer(1, parse_type("tinyint")), "decimal(11,2)"),
    ],
)
def test_a_literal_integer_is_tight_beside_a_decimal(operator: str, literal: Argument, expected: str) -> None:
    found = arithmetic_type(operator, column("decimal(10,2)"), literal)
    assert found is not None
    assert str(found[2]) == expected


def test_a_string_literal_in_arithmetic_is_read_as_its_neighbour_wants() -> None:
    assert arithmetic_type("+", column("int"), text("1")) == (BIGINT, BIGINT, BIGINT)
    assert arithmetic_type("/", column("int"), text("2")) == (BIGINT, BIGINT, DOUBLE)
    assert arithmetic_type("*", column("decimal(5,2)"), text("2")) == (DOUBLE, DOUBLE, DOUBLE)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("any", "any"),
        ("int", "number"),
        ("decimal(5,2)", "number"),
        ("double", "number"),
        ("string", "string"),
        ("boolean", "boolean"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("null", "any"),
        ("binary", None),
    ],
)
def test_a_schemaless_path_becomes_what_stands_beside_it(other: str, expected: str | None) -> None:
    assert shown(comparison_type(column("any"), column(other))) == expected
    assert shown(common_type([column(other), column("any")])) == expected


def test_schemaless_arithmetic_is_of_numbers() -> None:
    assert arithmetic_type("+", column("any"), integer(1)) == (NUMBER, NUMBER, NUMBER)
    assert arithmetic_type("/", column("any"), column("any")) == (NUMBER, NUMBER, DOUBLE)
    assert arithmetic_type("+", column("any"), text("1")) is None


def test_scale_is_lost_down_to_six_digits() -> None:
    assert decimal_result("*", decimal(38, 10), decimal(38, 10)) == decimal(38, 6)
    assert decimal_result("*", decimal(20, 0), decimal(18, 6)) == decimal(38, 6)
    assert decimal_result("/", decimal(38, 38), decimal(38, 0)) == decimal(38, 38)
