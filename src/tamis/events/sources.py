"""Sources of batches: Python dicts, or columns of Arrow and Python values.

A source gives the values of an attribute, as they came or in a type. The value of a row depends on that row alone.
Paths are exact names from the outermost inwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import Mask
from tamis.events.arrow import (
    any_column,
    arrow_column,
    python_column,
    python_values,
    read_array,
    simple_array,
    struct_child,
)
from tamis.events.single import single_any, single_column, single_reading
from tamis.events.wide_tables import WideTable
from tamis.values.column import Column
from tamis.values.types import Type

Path: TypeAlias = tuple[str, ...]
Values: TypeAlias = "pa.Array | Sequence[Any]"
"""One attribute of all rows as it came: an Arrow array or Python values; see `simple_array`."""


class BatchSource(Protocol):
    """The values of a batch."""

    def raw(self, path: Path) -> Values:
        """The values at a path as they came, None where there is none."""

    def names(self) -> Iterable[tuple[int | None, str]]:
        """The name of every attribute with its row; the row is None where all rows have the attribute."""

    def present(self, path: Path) -> Mask:
        """In which rows there is a value at a path that is not null."""

    def column(self, path: Path, type_: Type, zone: str) -> Column:
        """The values at a path in a declared type."""

    def schemaless(self, path: Path) -> Column:
        """The values at a path, each of its own kind."""

    def reading(self, path: Path, type_: Type, zone: str) -> Column | None:
        """The result of the function `read` on the values at a path; None if it must look at each value."""


@dataclass(frozen=True, slots=True)
class DictSource:
    """Events as dicts."""

    events: Sequence[Mapping[str, Any]]

    def raw(self, path: Path) -> Sequence[Any]:
        name = path[0]
        values = [event.get(name) for event in self.events]
        return values if len(path) == 1 else _steps(values, path[1:])

    def names(self) -> Iterable[tuple[int | None, str]]:
        return ((row, name) for row, event in enumerate(self.events) for name in event)

    def present(self, path: Path) -> Mask:
        return _present(self.raw(path))

    def column(self, path: Path, type_: Type, zone: str) -> Column:
        values = self.raw(path)
        single = single_column(values[0], type_) if len(values) == 1 else None
        return python_column(values, type_, zone) if single is None else single

    def schemaless(self, path: Path) -> Column:
        values = self.raw(path)
        return single_any(values[0]) if len(values) == 1 else any_column(values)

    def reading(self, path: Path, type_: Type, zone: str) -> Column | None:
        return single_reading(self.raw(path)[0], type_) if len(self.events) == 1 else None


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """Events as columns."""

    rows: int
    columns: Mapping[str, Values]

    def raw(self, path: Path) -> Values:
        values = self.columns.get(path[0])
        if values is None:
            return [None] * self.rows
        for place, step in enumerate(path[1:], 1):
            if not isinstance(values, pa.Array):
                return _steps(values, path[place:])
            if not pa.types.is_struct(values.type):
                return [None] * self.rows
            child = struct_child(values, step)
            if child is None:
                return [None] * self.rows
            values = simple_array(child)
        return values

    def names(self) -> Iterable[tuple[int | None, str]]:
        return ((None, name) for name in self.columns)

    def filled_names(self) -> Iterator[str]:
        """The names of the columns that are not NULL in all rows; of wide tables, not known to be."""
        if isinstance(self.columns, WideTable):
            yield from self.columns.filled_names()
            return
        for name, values in self.columns.items():
            if not isinstance(values, pa.Array) or values.null_count < self.rows:
                yield name

    def present(self, path: Path) -> Mask:
        return _present(self.raw(path))

    def column(self, path: Path, type_: Type, zone: str) -> Column:
        values = self.raw(path)
        if isinstance(values, pa.Array):
            return arrow_column(values, type_, zone)
        return python_column(values, type_, zone)

    def schemaless(self, path: Path) -> Column:
        values = self.raw(path)
        return any_column(python_values(values) if isinstance(values, pa.Array) else values)

    def reading(self, path: Path, type_: Type, zone: str) -> Column | None:
        values = self.raw(path)
        return read_array(values, type_) if isinstance(values, pa.Array) else None


def _present(values: Values) -> Mask:
    if isinstance(values, pa.Array):
        valid: Mask = values.is_valid().to_numpy(zero_copy_only=False)
        return valid
    return np.fromiter((value is not None for value in values), np.bool_, len(values))


def _steps(values: Sequence[Any], path: Path) -> Sequence[Any]:
    for step in path:
        values = [
            value.get(step) if type(value) is dict or isinstance(value, Mapping) else None for value in values
        ]
    return values
