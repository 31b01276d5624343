"""What CloudEvents SQL means by its types; batches equal single rows."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import ANY, BIGINT, BOOLEAN, DOUBLE, INT, NUMBER, STRING, Type, array, parse_type
from tests.functions.calls import results

MIXED: list[tuple[Any, ...]] = [("12",), (12,), (True,), ("x",), (1.5,), ([1],), (None,), (2**31,), (1,)]


@pytest.mark.parametrize(
    ("name", "type_", "rows", "expected"),
    [
        (
            "cesql_int",
            STRING,
            ["12", "+12", "-0", "007", " 1", "1 ", "1.0", "", "x", None],
            [12, 12, 0, 7] + [None] * 6,
        ),
        (
            "cesql_int",
            STRING,
            ["2147483647", "2147483648", "-2147483648", "9" * 5000],
            [2**31 - 1, None, -(2**31), None],
        ),
        ("cesql_int", BOOLEAN, [True, False, None], [1, 0, None]),
        ("cesql_int", STRING, ["\u0661"], [None]),
        (
            "cesql_bool",
            STRING,
            ["true", "FALSE", "tRuE", "1", "yes", " true", None],
            [True, False, True] + [None] * 4,
        ),
        ("cesql_bool", INT, [0, 1, -7, None], [False, True, True, None]),
        ("cesql_is_int", STRING, ["1", "x", None], [True, False, None]),
        ("cesql_is_bool", STRING, ["False", "x", None], [True, False, None]),
        ("cesql_number", DOUBLE, [1.5, None], [1.5, None]),
        ("cesql_number", STRING, ["12", "1.5", None], [12, None, None]),
    ],
)
def test_one_argument(name: str, type_: Type, rows: list[Any], expected: list[Any]) -> None:
    assert results(name, [type_], [(row,) for row in rows]) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cesql_int", [12, 12, 1, None, None, None, None, None, 1]),
        ("cesql_bool", [None, True, True, None, None, None, None, True, True]),
        ("cesql_number", [12, 12, 1, None, 1.5, None, None, None, 1]),
    ],
)
def test_values_of_any_kind(name: str, expected: list[Any]) -> None:
    assert list(map(repr, results(name, [ANY], MIXED))) == list(map(repr, expected))


def test_equality_casts_to_the_kind_on_the_right() -> None:
    rows = [
        ("1", 1),
        (1, "1"),
        ("01", 1),
        ("01", "1"),
        (True, "true"),
        ("TRUE", True),
        (2, True),
        ("x", 1),
        (None, 1),
    ]
    assert results("cesql_equal", [ANY, ANY], rows) == [True, True, True, False, True, True, True, None, None]
    assert results("cesql_equal", [ANY, ANY], [("1.5", 1.5), (1.5, "1.5"), (1.5, 1)]) == [True, True, None]
    assert results("cesql_equal", [STRING, INT], [("1", 1), ("x", 1)]) == [True, None]


def test_items_are_compared_up_to_the_first_null() -> None:
    rows = [(1, 2, 1), (1, None, 1), (1, 1, None), (None, 1, 1), (1, 2, 3), (1, 2, None)]
    assert results("cesql_in", [INT, INT, INT], rows) == [True, None, True, None, False, None]


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        (
            "cesql_left",
            [("abc", 2), ("abc", 9), ("abc", 0), ("abc", -1), (None, 1)],
            ["ab", "abc", "", None, None],
        ),
        ("cesql_right", [("abc", 2), ("abc", 9), ("abc", 0), ("abc", -1)], ["bc", "abc", "", None]),
        (
            "cesql_substring",
            [("abc", 2), ("abc", -1), ("abc", 0), ("abc", 4), ("", 1)],
            ["bc", "c", "", None, None],
        ),
    ],
)
def test_parts_of_texts(name: str, rows: list[Any], expected: list[Any]) -> None:
    assert results(name, [STRING, INT], rows) == expected


def test_parts_of_a_length() -> None:
    rows = [("abc", 1, 2), ("abc", -2, 1), ("abc", 2, 2**31 - 1), ("abc", 1, -1), ("abc", 0, 1), ("abc", -4, 1)]
    assert results("cesql_substring", [STRING, INT, INT], rows) == ["ab", "b", "bc", None, "", None]


def test_joined_texts_keep_null() -> None:
    assert results("cesql_concat_ws", [STRING] * 3, [(",", "a", "b"), (",", None, "b")]) == ["a,b", None]
    assert results("cesql_concat_ws", [STRING] * 2, [("x" * 10, "y" * 1_000_000)]) == [None]


@pytest.mark.parametrize(
    ("name", "type_", "parameter", "returns"),
    [
        ("cesql_int", parse_type("decimal(8,2)"), STRING, INT),
        ("cesql_int", BIGINT, INT, INT),
        ("cesql_number", ANY, ANY, NUMBER),
        ("cesql_number", parse_type("decimal(8,2)"), parse_type("decimal(8,2)"), parse_type("decimal(8,2)")),
    ],
)
def test_types(name: str, type_: Type, parameter: Type, returns: Type) -> None:
    signature = FUNCTIONS[name].resolve([Argument(type_)], "UTC")
    assert (signature.parameters, signature.returns) == ((parameter,), returns)


def test_arrays_are_no_values_of_cesql() -> None:
    with pytest.raises(ArgumentError, match="expected a value, found array<int>"):
        FUNCTIONS["cesql_int"].resolve([Argument(array(INT))], "UTC")
