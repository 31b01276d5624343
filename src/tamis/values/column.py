"""A column: the values of one attribute, or of one expression, for all events of a batch.

Immutable by convention. `valid` marks the rows that hold a value; the content of `values` in the other rows is
unspecified and must never be read. The physical form of `values` follows from the type:

| type | values |
|---|---|
| boolean | `bool[n]` |
| tinyint ... bigint, date, timestamp, timestamp_ntz, interval | `int64[n]` |
| decimal(p,s) | `int64[n]` unscaled if p <= 18, else `object[n]` of Python int |
| float, double | `float32[n]`, `float64[n]` |
| string, binary | `pyarrow.StringArray`, `pyarrow.BinaryArray` of length n (null where not valid) |
| array, map | `ListValues`; the items of a map are structs of key and value |
| struct | `tuple` with one `Column` per field |
| number | `Numbers` |
| any, null | `object[n]` of Python values |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import F64, I64, Mask
from tamis.values.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)

Value: TypeAlias = Any
"""A value as `tamis.values.types` describes it."""

SHORT_DECIMAL = 18
"""Largest precision whose unscaled values fit 64 bits."""


@dataclass(frozen=True, slots=True)
class ListValues:
    """Values of an array column: row i owns `items[offsets[i]:offsets[i + 1]]`, no items if it is not valid."""

    offsets: I64  # [rows + 1]
    items: Column


@dataclass(frozen=True, slots=True)
class NumberValues:
    """Values of a schemaless number column: bigint where `integral`, double elsewhere."""

    integral: Mask
    ints: I64
    doubles: F64


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one type, one per row; the module describes the physical forms."""

    type: Type
    values: Any
    valid: Mask

    def __len__(self) -> int:
        return len(self.valid)

    def to_list(self) -> list[Value]:
        """All values as Python scalars, None for NULL."""
        return [value if ok else None for value, ok in zip(_objects(self), self.valid.tolist(), strict=True)]

    def take(self, rows: I64) -> Column:
        """The given rows, in that order."""
        return Column(self.type, _take(self, rows), self.valid[rows])

    def where(self, keep: Mask) -> Column:
        """The column with NULL in the rows where `keep` is false."""
        values = self.values
        if isinstance(values, pa.Array):
            values = pc.if_else(pa.array(keep), values, pa.scalar(None, values.type))
        elif isinstance(values, ListValues):
            values = _slice_lists(values, values.offsets[:-1], np.where(keep, np.diff(values.offsets), 0))
        return Column(self.type, values, self.valid & keep)


def column_of(type_: Type, values: Sequence[Value]) -> Column:
    """A column from Python scalars, None for NULL.

    >>> column_of(DATE, [1, None, 3]).to_list()
    [1, None, 3]
    """
    valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
    return Column(type_, _physical(type_, values, valid), valid)


def constant_column(type_: Type, value: Value, rows: int) -> Column:
    """The same value in every row."""
    # Events that come alone ask for the same few texts again and again.
    column = _single_text(value) if type_ == STRING else column_of(type_, [value])
    return column if rows == 1 else column.take(np.zeros(rows, np.int64))


@lru_cache(maxsize=4096)
def _single_text(value: str | None) -> Column:
    return column_of(STRING, [value])


def list_items(column: Column) -> tuple[Column, I64]:
    """All items of a column of arrays or maps, and the row of each."""
    lists: ListValues = column.values
    items = lists.items
    if lists.offsets[0] != 0 or lists.offsets[-1] != len(items):
        items = items.take(np.arange(lists.offsets[0], lists.offsets[-1]))
    return items, np.repeat(np.arange(len(column)), np.diff(lists.offsets))


def physical_dtype(type_: Type) -> npt.DTypeLike | None:
    """The numpy type of `values`, or None if they are not one numpy array of numbers."""
    if type_.name == "boolean":
        return np.bool_
    if type_ in INTEGER_BITS or type_ in (DATE, TIMESTAMP, TIMESTAMP_NTZ) or type_.name == "interval":
        return np.int64
    if type_.name == "decimal":
        return np.int64 if type_.precision <= SHORT_DECIMAL else np.object_
    return {FLOAT: np.float32, DOUBLE: np.float64}.get(type_)


def _physical(type_: Type, values: Sequence[Value], valid: Mask) -> Any:
    dtype = physical_dtype(type_)
    if dtype is not None:
        return np.array([0 if value is None else value for value in values], dtype)
    if type_.name in ("string", "binary"):
        return pa.array(values, pa.string() if type_ == STRING else pa.binary())
    if type_.name in ("array", "map"):
        lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        items = [item for value in values if value is not None for item in value]
        return ListValues(offsets, column_of(type_.item, items))
    if type_.name == "struct":
        return tuple(
            column_of(inner, [None if value is None else value[place] for value in values])
            for place, (_, inner) in enumerate(type_.fields)
        )
    if type_ == NUMBER:
        integral = np.fromiter((isinstance(value, int) for value in values), np.bool_, len(values))
        ints = np.array([value if isinstance(value, int) else 0 for value in values], np.int64)
        doubles = np.array([value if isinstance(value, float) else 0.0 for value in values], np.float64)
        return NumberValues(integral, ints, doubles)
    objects = np.empty(len(values), np.object_)
    for place, value in enumerate(values):
        objects[place] = value
    return objects


def _take(column: Column, rows: I64) -> Any:
    values = column.values
    if isinstance(values, ListValues):
        return _slice_lists(values, values.offsets[:-1][rows], np.diff(values.offsets)[rows])
    if isinstance(values, tuple):
        return tuple(field.take(rows) for field in values)
    if isinstance(values, NumberValues):
        return NumberValues(values.integral[rows], values.ints[rows], values.doubles[rows])
    if isinstance(values, pa.Array):
        return values.take(pa.array(rows))
    return values[rows]


def _slice_lists(lists: ListValues, starts: I64, lengths: I64) -> ListValues:
    """The lists of `lengths[i]` items from `starts[i]` on."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    inner = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    return ListValues(offsets, lists.items.take(inner))


def _objects(column: Column) -> Sequence[Value]:
    values = column.values
    if isinstance(values, ListValues):
        items = values.items.to_list()
        offsets = values.offsets.tolist()
        return [items[start:end] for start, end in pairwise(offsets)]
    if isinstance(values, tuple):
        fields = [field.to_list() for field in values]
        return list(zip(*fields, strict=True)) if fields else [()] * len(column)
    if isinstance(values, NumberValues):
        pairs = zip(values.integral.tolist(), values.ints.tolist(), values.doubles.tolist(), strict=True)
        return [whole if integral else double for integral, whole, double in pairs]
    objects: list[Value] = values.to_pylist() if isinstance(values, pa.Array) else values.tolist()
    return objects
