"""Columns of one row, for one event at a time: the results of `arrow` with less overhead.

Other cases are left to the code for columns of any length, so that no rule of conversion is written twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tamis.events.conversion import INT64_MAX, INT64_MIN, plain
from tamis.values.column import Column, NumberValues
from tamis.values.types import ANY, INTEGER_BITS, NUMBER, STRING, Type, integer_bounds

# By name, which is quicker to look up than a type.
_BOUNDS = {type_.name: integer_bounds(type_) for type_ in INTEGER_BITS}
_TRUE, _FALSE = (True,), (False,)
_TEXT = pa.string()


def single_column(value: Any, type_: Type) -> Column | None:
    """The column of one value, if that needs no conversion; else None."""
    kind, name = type(value), type_.name
    if kind is int:
        bounds = _BOUNDS.get(name)
        if bounds is None:
            return None
        if bounds[0] <= value <= bounds[1]:
            return Column(type_, np.array((value,), np.int64), np.array(_TRUE))
        return Column(type_, np.zeros(1, np.int64), np.array(_FALSE))
    if kind is float and name == "double":
        return Column(type_, np.array((value,)), np.array(_TRUE))
    if kind is str and name == "string" and value.isascii():
        return Column(type_, pa.array((value,), _TEXT), np.array(_TRUE))
    if kind is bool and name == "boolean":
        return Column(type_, np.array((value,)), np.array(_TRUE))
    if value is None and name in _BOUNDS:
        return Column(type_, np.zeros(1, np.int64), np.array(_FALSE))
    return None


def single_any(value: Any) -> Column:
    """The schemaless column of one value."""
    values = np.empty(1, np.object_)
    values[0] = simple = plain(value)
    return Column(ANY, values, np.array(_FALSE if simple is None else _TRUE))


def single_reading(value: Any, type_: Type) -> Column | None:
    """The result of the function `read` on one value, if that is a number or a string; else None."""
    kind = type(value)
    if type_ == NUMBER:
        if kind is int and INT64_MIN <= value <= INT64_MAX:
            numbers = NumberValues(np.array(_TRUE), np.array((value,), np.int64), np.zeros(1))
        elif kind is float:
            numbers = NumberValues(np.array(_FALSE), np.zeros(1, np.int64), np.array((value,)))
        elif value is None:
            numbers = NumberValues(np.array(_FALSE), np.zeros(1, np.int64), np.zeros(1))
        else:
            return None
        return Column(type_, numbers, np.array(_FALSE if value is None else _TRUE))
    if type_ == STRING and kind is str and value.isascii():
        return Column(type_, pa.array((value,), _TEXT), np.array(_TRUE))
    return None
