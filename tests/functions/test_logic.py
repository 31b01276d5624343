"""Logic of three values, against its truth tables; batches equal single rows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.column import column_of
from tamis.values.types import ANY, BOOLEAN, INT, NULL, STRING, Type

T, F, N = True, False, None
TRUTHS = (T, F, N)


def applied(name: str, rows: list[tuple[Any, ...]]) -> list[Any]:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(BOOLEAN)] * len(rows[0]), "UTC")
    results = [function.scalar(signature)(*row) for row in rows]
    columns = [column_of(BOOLEAN, list(values)) for values in zip(*rows, strict=True)]
    assert function.apply(signature, columns, len(rows)).to_list() == results
    return results


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("and", [T, F, N, F, F, F, N, F, N]),
        ("or", [T, T, T, T, F, N, T, N, N]),
        ("xor", [F, T, N, T, F, N, N, N, N]),
        ("and_then", [T, F, N, F, F, F, N, N, N]),
        ("or_else", [T, T, T, T, F, N, N, N, N]),
    ],
)
def test_truth_table_of_two(name: str, table: list[Any]) -> None:
    assert applied(name, list(itertools.product(TRUTHS, repeat=2))) == table


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("not", [F, T, N]),
        ("is_true", [T, F, F]),
        ("is_not_true", [F, T, T]),
        ("is_false", [F, T, F]),
        ("is_not_false", [T, F, T]),
    ],
)
def test_truth_table_of_one(name: str, table: list[Any]) -> None:
    assert applied(name, [(truth,) for truth in TRUTHS]) == table


@pytest.mark.parametrize("name", ["and", "or", "xor", "and_then", "or_else"])
def test_three_conditions_are_two_and_one(name: str) -> None:
    rows = list(itertools.product(TRUTHS, repeat=3))
    inner = applied(name, [row[:2] for row in rows])
    assert applied(name, rows) == applied(name, [(first, row[2]) for first, row in zip(inner, rows, strict=True)])


def at_least(least: int, rows: list[tuple[Any, ...]]) -> list[Any]:
    function = FUNCTIONS["at_least"]
    count = Argument(INT, is_constant=True, value=least)
    signature = function.resolve([count, *[Argument(BOOLEAN)] * len(rows[0])], "UTC")
    results = [function.scalar(signature)(least, *row) for row in rows]
    columns = [column_of(BOOLEAN, list(values)) for values in zip(*rows, strict=True)]
    batch = function.apply(signature, [column_of(INT, [least] * len(rows)), *columns], len(rows))
    assert batch.to_list() == results
    return results


def test_at_least_counts_what_is_true_and_what_still_may_be() -> None:
    rows = [(T, T, F), (T, N, F), (T, F, F), (N, N, F), (N, N, N)]
    assert at_least(2, rows) == [T, N, F, N, N]


def test_at_least_one_is_or_and_all_is_and() -> None:
    rows = list(itertools.product(TRUTHS, repeat=3))
    assert at_least(1, rows) == applied("or", rows)
    assert at_least(3, rows) == applied("and", rows)


@pytest.mark.parametrize("least", [0, 3, -1])
def test_at_least_takes_a_number_of_its_conditions(least: int) -> None:
    with pytest.raises(ArgumentError, match="expected a number from 1 to 2"):
        at_least(least, [(T, T)])


def test_at_least_takes_a_constant() -> None:
    with pytest.raises(ArgumentError, match="expected a constant whole number"):
        FUNCTIONS["at_least"].resolve([Argument(INT), Argument(BOOLEAN)], "UTC")


@pytest.mark.parametrize("type_", [BOOLEAN, STRING, NULL, ANY], ids=str)
def test_a_condition_may_stand_beside(type_: Type) -> None:
    signature = FUNCTIONS["and"].resolve([Argument(BOOLEAN), Argument(type_)], "UTC")
    assert signature.parameters == (BOOLEAN, BOOLEAN)


def test_a_number_is_no_condition() -> None:
    with pytest.raises(ArgumentError) as found:
        FUNCTIONS["or"].resolve([Argument(BOOLEAN), Argument(INT)], "UTC")
    assert found.value.message == "expected a condition (boolean), found int"
    assert found.value.argument == 1


def test_two_strings_are_no_conditions() -> None:
    with pytest.raises(ArgumentError, match="found strings"):
        FUNCTIONS["and"].resolve([Argument(STRING), Argument(STRING)], "UTC")
