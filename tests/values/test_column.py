"""Columns hold values of every type in their physical forms and give them back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis.values.column import ListValues, NumberValues, column_of, constant_column, physical_dtype
from tamis.values.types import ANY, DOUBLE, INT, NUMBER, STRING, array, decimal, parse_type, struct

VALUES: list[tuple[str, list[Any]]] = [
    ("boolean", [True, None, False]),
    ("int", [1, None, -3]),
    ("float", [0.5, None, -1.0]),
    ("decimal(8,2)", [1230, None, -1]),
    ("decimal(38,0)", [10**37, None, -1]),
    ("string", ["a", None, "é"]),
    ("binary", [b"a", None, b""]),
    ("date", [0, None, -5]),
    ("array<int>", [[1, None], None, []]),
    ("array<array<string>>", [[["a"], None], None, [[]]]),
    ("struct<a:int,b:string>", [(1, "x"), None, (None, None)]),
]
COLUMNS = [
    *((parse_type(name), values) for name, values in VALUES),
    (NUMBER, [1, None, 2.5]),
    (ANY, [{"a": 1}, None, "x"]),
]


@pytest.mark.parametrize(("type_", "values"), COLUMNS, ids=lambda each: str(each)[:30])
def test_values_come_back(type_: Any, values: list[Any]) -> None:
    column = column_of(type_, values)
    assert len(column) == 3
    assert column.to_list() == values
    assert column.take(np.array([2, 0, 0])).to_list() == [values[2], values[0], values[0]]
    assert column.where(np.array([False, True, True])).to_list() == [None, None, values[2]]
    assert constant_column(type_, values[0], 2).to_list() == [values[0]] * 2


@pytest.mark.parametrize(
    ("type_", "dtype"),
    [
        (INT, np.int64),
        (DOUBLE, np.float64),
        (decimal(18, 2), np.int64),
        (decimal(19, 2), np.object_),
        (STRING, None),
        (array(INT), None),
        (struct(("a", INT)), None),
        (NUMBER, None),
    ],
    ids=str,
)
def test_physical_types(type_: Any, dtype: Any) -> None:
    assert physical_dtype(type_) == dtype


def test_lists_share_one_column_of_items() -> None:
    lists = column_of(array(INT), [[1, 2], None, [3]]).values
    assert isinstance(lists, ListValues)
    assert (lists.offsets.tolist(), lists.items.to_list()) == ([0, 2, 2, 3], [1, 2, 3])


def test_schemaless_numbers_keep_integers_exact() -> None:
    numbers = column_of(NUMBER, [2**62 + 1, 0.5]).values
    assert isinstance(numbers, NumberValues)
    assert (numbers.integral.tolist(), numbers.ints.tolist(), numbers.doubles.tolist()) == (
        [True, False],
        [2**62 + 1, 0],
        [0.0, 0.5],
    )
