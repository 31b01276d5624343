"""Columns row by row: scalar functions applied to columns, and rows of several columns combined.

The vector forms of functions use this for types that numpy and pyarrow do not cover; it defines no function
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import Mask
from tamis.values.column import Column, NumberValues, Value, column_of
from tamis.values.types import Type

Scalar: TypeAlias = Callable[..., Value]
"""The scalar form of a function: the values of one row to a value."""


def strict(scalar: Scalar) -> Scalar:
    """The scalar form that returns NULL if any argument is NULL, and calls `scalar` otherwise."""

    def call(*values: Value) -> Value:
        return None if any(value is None for value in values) else scalar(*values)

    return call


def all_valid(columns: Sequence[Column]) -> Mask:
    """The rows in which no column is NULL."""
    valid = columns[0].valid.copy()
    for column in columns[1:]:
        valid &= column.valid
    return valid


def apply_strict(scalar: Scalar, returns: Type, columns: Sequence[Column], rows: int | None = None) -> Column:
    """A scalar form applied to every row without NULL; the other rows are NULL.

    Args:
        scalar: Never gets a NULL.
        returns: Type of its results.
        columns: Its arguments.
        rows: Number of rows, which must be given if there are no columns.
    """
    if not columns:
        return column_of(returns, [scalar() for _ in range(rows or 0)])
    at = np.flatnonzero(all_valid(columns))
    lists = [column.take(at).to_list() for column in columns]
    results: list[Value] = [None] * len(columns[0])
    for row, values in zip(at.tolist(), zip(*lists, strict=True), strict=True):
        results[row] = scalar(*values)
    return column_of(returns, results)


def apply_null_aware(scalar: Scalar, returns: Type, columns: Sequence[Column], rows: int | None = None) -> Column:
    """A scalar form applied to every row, NULLs included; the arguments are those of `apply_strict`."""
    if not columns:
        return column_of(returns, [scalar() for _ in range(rows or 0)])
    lists = [column.to_list() for column in columns]
    return column_of(returns, [scalar(*values) for values in zip(*lists, strict=True)])


def select_rows(choice: Mask, chosen: Column, other: Column) -> Column:
    """The rows of `chosen` where `choice` holds, those of `other` elsewhere; both have the same type."""
    valid = np.where(choice, chosen.valid, other.valid)
    first, second = chosen.values, other.values
    if isinstance(first, np.ndarray):
        return Column(chosen.type, np.where(choice, first, second), valid)
    if isinstance(first, pa.Array):
        return Column(chosen.type, pc.if_else(pa.array(choice), first, second), valid)
    if isinstance(first, NumberValues):
        integral = np.where(choice, first.integral, second.integral)
        ints = np.where(choice, first.ints, second.ints)
        doubles = np.where(choice, first.doubles, second.doubles)
        return Column(chosen.type, NumberValues(integral, ints, doubles), valid)
    if isinstance(first, tuple):
        pairs = zip(first, second, strict=True)
        return Column(chosen.type, tuple(select_rows(choice, one, two) for one, two in pairs), valid)
    rows = zip(choice.tolist(), chosen.to_list(), other.to_list(), strict=True)
    return column_of(chosen.type, [one if is_chosen else two for is_chosen, one, two in rows])
