"""The function `read`: a value of a schemaless event if it is of the required kind, else NULL.

Unlike a cast, reading never converts between kinds: the string "1" is not a number. Only dates and timestamps,
which JSON lacks, are read from strings. The analyser inserts `read` where a path of a schemaless event is used as
a type; it is never called by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tamis.functions.registry import Argument, ArgumentError, Function, Signature, register
from tamis.functions.rows import Scalar
from tamis.values.casts import Caster, caster, double_of
from tamis.values.column import Column, Value, column_of
from tamis.values.text import as_float, decimal_of_double, nearest_float
from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    integer_bounds,
    is_decimal,
    is_fractional,
    is_integral,
)

_LEAST, _GREATEST = integer_bounds(BIGINT)


@lru_cache(maxsize=1024)
def reader(target: Type, zone: str = "UTC") -> Caster:
    """The function that reads one schemaless value as `target`, and gives None for a value of another kind."""
    if target == ANY:
        return lambda value: value
    if target in _KINDS:
        kind = _KINDS[target]
        return lambda value: value if type(value) is kind else None
    if target in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        cast = caster(STRING, target, zone)
        return lambda value: cast(value) if type(value) is str else None
    if target == NUMBER:
        return _number
    if is_integral(target):
        return _integer_reader(target)
    if is_fractional(target):
        return _double if target == DOUBLE else _float
    if is_decimal(target):
        return _decimal_reader(target)
    if target.name == "array":
        return _list_reader(target, zone)
    if target.name == "map":
        return lambda value: list(value.items()) if type(value) is dict else None
    if target.name == "struct":
        return _struct_reader(target, zone)
    return lambda _: None


_KINDS: dict[Type, type] = {BOOLEAN: bool, STRING: str, BINARY: bytes}


def _number(value: Value) -> int | float | None:
    if type(value) is int:
        return value if _LEAST <= value <= _GREATEST else double_of(value)
    return value if type(value) is float else None


def _double(value: Value) -> float | None:
    if type(value) is float:
        return value
    return double_of(value) if type(value) is int else None


def _float(value: Value) -> float | None:
    if type(value) is float:
        return as_float(value)
    return nearest_float(double_of(value), value) if type(value) is int else None


def _integer_reader(target: Type) -> Caster:
    least, greatest = integer_bounds(target)

    def read(value: Value) -> int | None:
        return value if type(value) is int and least <= value <= greatest else None

    return read


def _decimal_reader(target: Type) -> Caster:
    precision, scale = target.precision, target.scale
    limit = 10 ** (precision - scale)
    unit = 10**scale

    def read(value: Value) -> int | None:
        if type(value) is int:
            return value * unit if -limit < value < limit else None
        return decimal_of_double(value, precision, scale) if type(value) is float else None

    return read


def _list_reader(target: Type, zone: str) -> Caster:
    if target.item == ANY:
        return lambda value: value if type(value) is list else None
    item = reader(target.item, zone)

    def read(value: Value) -> list[Value] | None:
        if type(value) is not list:
            return None
        return [None if inner is None else item(inner) for inner in value]

    return read


def _struct_reader(target: Type, zone: str) -> Caster:
    fields = [(name, reader(type_, zone)) for name, type_ in target.fields]

    def read(value: Value) -> tuple[Value, ...] | None:
        if type(value) is not dict:
            return None
        return tuple(None if (inner := value.get(name)) is None else field(inner) for name, field in fields)

    return read


def _resolve(_arguments: Sequence[Argument], _zone: str) -> Signature:
    msg = "read is not called by name: write CAST(path AS type)"
    raise ArgumentError(msg)


def _bind(signature: Signature) -> Scalar:
    return reader(signature.returns, signature.zone)


def _vector(signature: Signature, columns: Sequence[Column]) -> Column:
    column = columns[0]
    if signature.returns == ANY:
        return column
    read = reader(signature.returns, signature.zone)
    at = np.flatnonzero(column.valid)
    results: list[Value] = [None] * len(column)
    for row, value in zip(at.tolist(), column.values[at].tolist(), strict=True):
        results[row] = read(value)
    return column_of(signature.returns, results)


READ = Function("read", _resolve, _bind, _vector)
register(READ)
