"""Arithmetic with the values that Spark gives (NULL for what it raises); batches equal single rows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import BIGINT, NUMBER, STRING, parse_type
from tests.functions.calls import results

NAN, INF = math.nan, math.inf
LEAST, GREATEST = -(2**63), 2**63 - 1


def one(name: str, type_name: str, *values: Any) -> Any:
    return results(name, [parse_type(type_name)] * len(values), [values])[0]


@pytest.mark.parametrize(
    ("name", "type_name", "left", "right", "expected"),
    [
        ("+", "tinyint", 127, 1, None),
        ("-", "tinyint", -128, 1, None),
        ("*", "smallint", 182, 181, None),
        ("*", "smallint", 181, 181, 32761),
        ("+", "int", 2**31 - 1, 1, None),
        ("*", "int", 46341, 46341, None),
        ("+", "bigint", GREATEST, 1, None),
        ("-", "bigint", LEAST, 1, None),
        ("-", "bigint", 0, LEAST, None),
        ("*", "bigint", LEAST, -1, None),
        ("*", "bigint", 3037000500, 3037000500, None),
        ("*", "bigint", 3037000499, 3037000499, 9223372030926249001),
        ("*", "bigint", 2**62, -2, LEAST),
        ("%", "int", -5, 3, -2),
        ("%", "int", 5, -3, 2),
        ("%", "bigint", LEAST, -1, 0),
        ("%", "int", 5, 0, None),
        ("div", "bigint", -5, 2, -2),
        ("div", "bigint", LEAST, -1, None),
        ("div", "bigint", 1, 0, None),
        ("pmod", "int", -5, 3, 1),
        ("pmod", "int", 5, -3, 2),
        ("pmod", "int", -5, -3, -2),
        ("pmod", "int", -5, -(2**31), 2147483643),
        ("pmod", "tinyint", -5, -128, -5),
        ("pmod", "int", -5, 0, None),
    ],
)
def test_integers_keep_their_width(name: str, type_name: str, left: int, right: int, expected: Any) -> None:
    assert one(name, type_name, left, right) == expected


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("/", 1.0, 0.0, None),
        ("/", 0.0, -0.0, None),
        ("%", 1.0, 0.0, None),
        ("%", 5.0, INF, 5.0),
        ("%", INF, 5.0, NAN),
        ("%", -5.5, 2.0, -1.5),
        ("+", INF, -INF, NAN),
        ("*", 1e308, 10.0, INF),
        ("pmod", -1.0, 0.3, 0.19999999999999996),
        ("pmod", -5.0, INF, NAN),
        ("pmod", 5.0, -3.0, 2.0),
    ],
)
def test_doubles(name: str, left: float, right: float, expected: Any) -> None:
    assert repr(one(name, "double", left, right)) == repr(expected)


def test_floats_are_rounded_to_32_bits() -> None:
    tenth = 0.10000000149011612
    assert one("+", "float", tenth, tenth) == 0.20000000298023224
    assert one("*", "float", 3.4028234663852886e38, 2.0) == INF


def decimals(name: str, left: str, right: str, *values: int) -> Any:
    return results(name, [parse_type(left), parse_type(right)], [values])[0]


@pytest.mark.parametrize(
    ("name", "left", "right", "values", "expected"),
    [
        ("+", "decimal(5,2)", "decimal(5,1)", (150, 15), 300),
        ("*", "decimal(5,2)", "decimal(5,2)", (-150, 333), -49950),
        ("/", "decimal(2,1)", "decimal(1,0)", (20, 3), 666667),
        ("/", "decimal(2,1)", "decimal(1,0)", (20, 0), None),
        ("%", "decimal(5,2)", "decimal(5,2)", (-550, 300), -250),
        ("pmod", "decimal(2,1)", "decimal(1,0)", (-55, 3), 5),
        ("div", "decimal(2,1)", "decimal(1,0)", (-55, 2), -2),
        ("div", "decimal(20,0)", "decimal(1,0)", (99999999999999999999, 1), 7766279631452241919),
        ("+", "decimal(38,0)", "decimal(38,0)", (10**38 - 1, 1), None),
        ("*", "decimal(38,18)", "decimal(38,18)", (15 * 10**17, 10**12), 2),
        ("*", "decimal(38,18)", "decimal(38,18)", (-5 * 10**11, 10**18), -1),
        ("%", "decimal(38,0)", "decimal(38,38)", (10, 7), 6),
        ("%", "decimal(38,0)", "decimal(38,38)", (100, 7), None),
        ("%", "decimal(38,0)", "decimal(38,38)", (10**37, 1), 0),
    ],
)
def test_decimals_are_exact_and_rounded_once(
    name: str, left: str, right: str, values: tuple[int, int], expected: Any
) -> None:
    assert decimals(name, left, right, *values) == expected


def test_dates_move_by_days_and_wrap_as_spark_lets_them() -> None:
    date, days = parse_type("date"), parse_type("int")
    assert results("+", [date, days], [(18262, 1), (1, 2**31 - 1)]) == [18263, -(2**31)]
    assert results("-", [date, days], [(18262, 1)]) == [18261]
    assert results("+", [days, date], [(1, 18262)]) == [18263]


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("+", 1, 2, 3),
        ("+", GREATEST, 1, None),
        ("+", 1, 0.5, 1.5),
        ("*", 2.0, 3, 6.0),
        ("%", -5, 3, -2),
        ("/", 1, 2, 0.5),
        ("/", 1, 0, None),
        ("div", 7, 2, 3),
        ("div", 7.0, 2, None),
        ("pmod", -7, 3, 2),
    ],
)
def test_schemaless_numbers(name: str, left: float, right: float, expected: Any) -> None:
    assert repr(results(name, [NUMBER, NUMBER], [(left, right)])[0]) == repr(expected)


def test_signs_overflow_at_the_least_integer() -> None:
    assert one("negative", "tinyint", -128) is None
    assert one("abs", "bigint", LEAST) is None
    assert one("abs", "int", -5) == 5
    assert repr(one("abs", "double", -0.0)) == "0.0"
    assert results("negative", [NUMBER], [(LEAST,), (1.5,), (2,)]) == [None, -1.5, -2]


def test_the_sign_of_a_decimal_changes_in_34_digits_as_in_spark() -> None:
    digits = 12345678901234567890123456789012345678
    assert one("negative", "decimal(38,0)", digits) == -12345678901234567890123456789012350000
    assert one("abs", "decimal(38,0)", -digits) == 12345678901234567890123456789012350000
    assert one("abs", "decimal(38,0)", digits) == digits
    assert one("negative", "decimal(38,0)", 10**38 - 1) is None


def test_bitwise_operators_take_integers() -> None:
    assert [one(name, "int", 6, 3) for name in "&|^"] == [2, 7, 5]
    assert one("~", "tinyint", 1) == -2
    with pytest.raises(ArgumentError, match="expected a whole number, found double"):
        FUNCTIONS["&"].resolve([Argument(parse_type("double")), Argument(parse_type("int"))], "UTC")


def test_try_functions_are_the_operators() -> None:
    names = {
        "try_add": "+",
        "try_subtract": "-",
        "try_multiply": "*",
        "try_divide": "/",
        "try_mod": "%",
        "mod": "%",
    }
    assert all(FUNCTIONS[other] is FUNCTIONS[name] for other, name in names.items())


def test_null_in_null_out() -> None:
    assert one("+", "int", 1, None) is None
    assert one("negative", "double", None) is None


EDGES = [0, 1, -1, 2, -2, 3, LEAST, LEAST + 1, GREATEST, GREATEST - 1, 2**31, -(2**31), 2**32, 3037000500, 2**62]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(LEAST, GREATEST), st.integers(LEAST, GREATEST)), min_size=1))
def test_batches_of_integers_overflow_where_single_values_do(rows: list[tuple[Any, ...]]) -> None:
    rows = rows + list(itertools.product(EDGES, EDGES))
    for name in ("+", "-", "*", "%", "div", "pmod"):
        results(name, [BIGINT, BIGINT], rows)
        results(name, [NUMBER, NUMBER], rows)


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1))
def test_batches_of_floats_round_as_single_values_do(rows: list[tuple[Any, ...]]) -> None:
    for name, type_name in itertools.product(("+", "-", "*", "%", "pmod"), ("float", "double")):
        results(name, [parse_type(type_name)] * 2, rows)
    results("/", [parse_type("double")] * 2, rows)
    results("+", [NUMBER, NUMBER], rows)


@given(st.lists(st.tuples(st.integers(-99999, 99999), st.integers(-9999999, 9999999)), min_size=1))
def test_batches_of_decimals_compute_as_single_values_do(rows: list[tuple[Any, ...]]) -> None:
    types = [parse_type("decimal(5,2)"), parse_type("decimal(7,4)")]
    for name in ("+", "-", "*", "/", "%", "div", "pmod"):
        results(name, types, rows)
    results("*", [parse_type("decimal(5,2)"), parse_type("decimal(20,4)")], rows)


def test_a_string_beside_a_number_is_a_bigint_or_a_double() -> None:
    text, whole, real = Argument(STRING), Argument(parse_type("int")), Argument(parse_type("float"))
    assert str(FUNCTIONS["+"].resolve([text, whole], "UTC").returns) == "bigint"
    assert str(FUNCTIONS["*"].resolve([real, text], "UTC").returns) == "double"
    assert str(FUNCTIONS["negative"].resolve([text], "UTC").returns) == "double"
    with pytest.raises(ArgumentError, match="string cannot be added"):
        FUNCTIONS["+"].resolve([Argument(STRING), Argument(STRING)], "UTC")
