"""A column of one row is what a column of many rows has in that row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tamis.events.arrow import any_column, python_column
from tamis.events.single import single_any, single_column, single_reading
from tamis.functions.schemaless import reader
from tamis.values.column import Column, column_of
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NUMBER,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    array,
    decimal,
)

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -129, 127, 128, 2**31, 2**63 - 1, 2**63, -(2**63), 10**400, 0.0, -0.0, 1.5, 1e300),
    *(float("nan"), "", "x", "é", "\ud800", "NaN", b"x", Decimal("1.5"), dt.date(2026, 1, 1), [1], {"a": 1}),
    *(np.int64(3), np.float32(0.5), np.bool_(True), np.str_("x")),
]
TYPES = (BOOLEAN, TINYINT, INT, BIGINT, FLOAT, DOUBLE, decimal(5, 2), STRING, DATE, TIMESTAMP, array(INT))


def form(column: Column) -> tuple[Any, ...]:
    values = column.values
    kind = getattr(values, "dtype", None) or getattr(values, "type", None)
    return column.type, column.valid.tolist(), type(values), kind, repr(column.to_list())


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_column_of_one_value(value: Any, type_: Type) -> None:
    single = single_column(value, type_)
    assert single is None or form(single) == form(python_column([value], type_, "UTC"))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_schemaless_column_of_one_value(value: Any) -> None:
    assert form(single_any(value)) == form(any_column([value]))


@pytest.mark.parametrize("type_", [NUMBER, STRING, BOOLEAN, DATE], ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_reading_of_one_value(value: Any, type_: Type) -> None:
    (simple,) = any_column([value]).to_list()
    single = single_reading(value, type_)
    assert single is None or form(single) == form(
        column_of(type_, [None if simple is None else reader(type_)(simple)])
    )


def test_the_usual_kinds_are_quick() -> None:
    for value, type_ in ((1, INT), (1.5, DOUBLE), ("x", STRING), (True, BOOLEAN), (None, INT)):
        assert single_column(value, type_) is not None
    for value, type_ in ((1, NUMBER), (1.5, NUMBER), (None, NUMBER), ("x", STRING)):
        assert single_reading(value, type_) is not None
