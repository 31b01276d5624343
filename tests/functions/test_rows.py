"""Columns row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis.functions.rows import all_valid, apply_null_aware, apply_strict, select_rows, strict
from tamis.values.column import column_of
from tamis.values.types import ANY, INT, NUMBER, STRING, array, parse_type


def test_strict_functions_never_see_null() -> None:
    seen: list[Any] = []

    @strict
    def add(left: int, right: int) -> int:
        seen.append((left, right))
        return left + right

    assert [add(1, 2), add(None, 2), add(1, None)] == [3, None, None]
    assert seen == [(1, 2)]


def test_application_to_rows() -> None:
    columns = [column_of(INT, [1, None, 3]), column_of(INT, [10, 20, None])]
    assert all_valid(columns).tolist() == [True, False, False]
    assert apply_strict(lambda left, right: left + right, INT, columns).to_list() == [11, None, None]
    assert apply_null_aware(lambda left, right: left or right, INT, columns).to_list() == [1, 20, 3]


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    [
        (INT, [1, None, 3], [4, 5, None]),
        (STRING, ["a", None, "c"], ["d", "e", None]),
        (NUMBER, [1, None, 2.5], [4.5, 5, None]),
        (array(INT), [[1], None, []], [[2], [3], None]),
        (parse_type("struct<a:int,b:string>"), [(1, "x"), None, (2, None)], [(3, "y"), (4, "z"), None]),
        (ANY, [{"a": 1}, None, "x"], [1, [2], None]),
    ],
    ids=str,
)
def test_rows_are_selected_from_two_columns_of_any_type(type_: Any, first: list[Any], second: list[Any]) -> None:
    chosen = select_rows(np.array([True, False, True]), column_of(type_, first), column_of(type_, second))
    assert chosen.to_list() == [first[0], second[1], first[2]]
