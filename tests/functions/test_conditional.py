"""Choosing among values; batches equal single rows."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import BOOLEAN, INT, NULL, NUMBER, STRING, parse_type
from tests.functions.calls import results

VALUES: list[tuple[str, Any, Any]] = [
    ("int", 1, 2),
    ("double", 1.5, -0.5),
    ("decimal(38,0)", 10**37, 0),
    ("string", "a", ""),
    ("array<int>", [1, None], []),
    ("struct<a:int>", (1,), (None,)),
    ("boolean", True, False),
]


@pytest.mark.parametrize(("type_name", "one", "other"), VALUES)
def test_choices_of_every_type(type_name: str, one: Any, other: Any) -> None:
    type_ = parse_type(type_name)
    rows: list[tuple[Any, ...]] = [(one, other), (None, other), (one, None), (None, None)]
    assert results("coalesce", [type_, type_], rows) == [one, other, one, None]
    assert results("nvl", [type_, type_], rows) == [one, other, one, None]
    chosen: list[tuple[Any, ...]] = [(True, one, other), (False, one, other), (None, one, other)]
    assert results("if", [BOOLEAN, type_, type_], chosen) == [one, other, other]
    assert results("nvl2", [BOOLEAN, type_, type_], chosen) == [one, one, other]


def test_choices_of_schemaless_numbers() -> None:
    assert results("coalesce", [NUMBER, NUMBER], [(None, 1), (1.5, 2)]) == [1, 1.5]


def test_case_takes_the_first_condition_that_holds() -> None:
    types = [BOOLEAN, STRING, BOOLEAN, STRING]
    rows: list[tuple[Any, ...]] = [(True, "a", True, "b"), (None, "a", True, "b"), (False, "a", None, "b")]
    assert results("case", types, rows) == ["a", "b", None]
    assert results("case", [*types, STRING], [(*row, "c") for row in rows]) == ["a", "b", "c"]


def test_case_wants_conditions() -> None:
    for found in (INT, NULL):
        with pytest.raises(ArgumentError, match=r"expected a condition \(boolean\)"):
            FUNCTIONS["case"].resolve([Argument(found), Argument(INT)], "UTC")


def test_branches_have_one_type() -> None:
    signature = FUNCTIONS["if"].resolve([Argument(NULL), Argument(INT), Argument(parse_type("float"))], "UTC")
    assert str(signature.returns) == "double"


def test_nullif_keeps_the_type_of_the_first() -> None:
    function = FUNCTIONS["nullif"]
    signature = function.resolve([Argument(INT), Argument(parse_type("decimal(2,1)"))], "UTC")
    assert [str(type_) for type_ in signature.parameters] == ["int", "decimal(11,1)"]
    assert signature.returns == INT
    scalar = function.scalar(signature)
    assert [scalar(1, 10), scalar(1, 15), scalar(1, None), scalar(None, 10)] == [None, 1, 1, None]


def test_nullif_compares_in_the_common_type_and_keeps_its_own() -> None:
    function = FUNCTIONS["nullif"]
    signature = function.resolve([Argument(parse_type("date")), Argument(parse_type("timestamp"))], "UTC")
    assert signature.returns == parse_type("date")
    scalar = function.scalar(signature)
    a_day = 86_400_000_000
    assert [scalar(1, a_day), scalar(1, a_day + 1), scalar(1, None)] == [None, 1, 1]


def test_zeros_and_nulls() -> None:
    assert results("nullifzero", [INT], [(0,), (1,), (None,)]) == [None, 1, None]
    assert results("zeroifnull", [INT], [(None,), (1,)]) == [0, 1]
    assert results("zeroifnull", [parse_type("double")], [(None,), (1.5,)]) == [0.0, 1.5]
