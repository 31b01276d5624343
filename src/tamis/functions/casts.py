"""The function `cast`, which the analyser puts wherever a value changes its type.

It is never called by name: CAST has a syntax of its own. The batch form gives exactly what the scalar form
gives; where numpy would round or overflow differently, the values are cast one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.functions.registry import Argument, ArgumentError, Function, Scalar, Signature, register
from tamis.values.casts import caster
from tamis.values.column import SHORT_DECIMAL, Column, Lists, Mask, Numbers, column_of, physical_dtype
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    NULL,
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
from tamis.values.zones import DAY_SECONDS, MICROS, zone_of

Ints = npt.NDArray[np.int64]

_EXACT = 1 << 53
"""Integers up to here are doubles."""
_EXACT_POWER = 22
"""Powers of ten up to here are doubles."""
_FAR = 1 << 62
"""Microseconds up to here stay within 64 bits whatever the offset."""


def _resolve(_arguments: Sequence[Argument], _zone: str) -> Signature:
    msg = "CAST is written CAST(value AS type)"
    raise ArgumentError(msg)


def _bind(signature: Signature) -> Scalar:
    return caster(signature.parameters[0], signature.returns, signature.zone)


def _vector(signature: Signature, columns: Sequence[Column]) -> Column:
    return cast_column(columns[0], signature.returns, signature.zone)


def cast_column(column: Column, target: Type, zone: str) -> Column:
    """`caster(column.type, target, zone)` of every row."""
    source, valid = column.type, column.valid
    if source == target:
        return column
    if source == NULL:
        return column_of(target, [None] * len(column))
    if source.name == "array" and target.name == "array":
        lists: Lists = column.values
        return Column(target, Lists(lists.offsets, cast_column(lists.items, target.item, zone)), valid)
    if source.name == "struct" and target.name == "struct":
        fields = tuple(
            cast_column(field, type_, zone) for field, (_, type_) in zip(column.values, target.fields, strict=True)
        )
        return Column(target, fields, valid)
    if source == NUMBER:
        return _cast_numbers(column, target, zone)
    result = _cast_array(column, target, zone)
    return _cast_each(column, target, zone) if result is None else result


def _cast_each(column: Column, target: Type, zone: str) -> Column:
    """One by one; each string and each integer once, however often it occurs."""
    cast = caster(column.type, target, zone)
    if column.type == STRING:
        encoded = column.values.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        places = encoded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False).astype(np.int64)
    elif physical_dtype(column.type) is np.int64:
        found, inverse = np.unique(column.values, return_inverse=True)
        distinct = found.tolist()
        places = np.where(column.valid, inverse, len(distinct))
    else:
        return column_of(target, [None if value is None else cast(value) for value in column.to_list()])
    return column_of(target, [*(None if value is None else cast(value) for value in distinct), None]).take(places)


def _cast_numbers(column: Column, target: Type, zone: str) -> Column:
    """Both ways where the results are plain numbers, and each row its own."""
    if physical_dtype(target) is None:
        return _cast_each(column, target, zone)
    numbers: Numbers = column.values
    whole = cast_column(Column(BIGINT, numbers.ints, column.valid & numbers.integral), target, zone)
    real = cast_column(Column(DOUBLE, numbers.doubles, column.valid & ~numbers.integral), target, zone)
    return Column(target, np.where(numbers.integral, whole.values, real.values), whole.valid | real.valid)


def _cast_array(column: Column, target: Type, zone: str) -> Column | None:
    """By numpy, or None where that is not exact."""
    source = column.type
    if source in (DATE, TIMESTAMP, TIMESTAMP_NTZ) or target in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return _cast_datetimes(column, target, zone)
    if source == BOOLEAN or is_integral(source):
        return _cast_integers(column, target)
    if is_fractional(source):
        return _cast_fractions(column, target)
    if is_decimal(source) and source.precision <= SHORT_DECIMAL:
        return _cast_decimals(column, target)
    return None


def _cast_integers(column: Column, target: Type) -> Column | None:
    values: npt.NDArray[Any] = column.values
    if target == BOOLEAN:
        return Column(target, values != 0, column.valid)
    if is_integral(target):
        return Column(target, *_within(values.astype(np.int64), column.valid, *integer_bounds(target)))
    if is_fractional(target):
        return Column(target, values.astype(physical_dtype(target)), column.valid)
    if is_decimal(target) and target.precision <= SHORT_DECIMAL:
        return _scaled_up(values.astype(np.int64), column.valid, target.scale, target)
    return _texts_of_booleans(column) if (column.type, target) == (BOOLEAN, STRING) else None


def _texts_of_booleans(column: Column) -> Column:
    texts = pa.array(["false", "true"]).take(pa.array(column.values.astype(np.int64), mask=~column.valid))
    return Column(STRING, texts, column.valid)


def _cast_fractions(column: Column, target: Type) -> Column | None:
    values: npt.NDArray[Any] = column.values
    if target == BOOLEAN:
        return Column(target, values != 0, column.valid)
    if target in (FLOAT, DOUBLE):
        with np.errstate(over="ignore", invalid="ignore"):
            return Column(target, values.astype(physical_dtype(target)), column.valid)
    if is_integral(target):
        return Column(target, *_truncated(values.astype(np.float64), column.valid, target))
    return None


def _truncated(values: npt.NDArray[np.float64], valid: Mask, target: Type) -> tuple[Ints, Mask]:
    """Doubles as integers; 2^63 passes Spark's check, and becomes the greatest bigint."""
    least, greatest = integer_bounds(target)
    if target == BIGINT:
        valid = valid & (values >= float(least)) & (values <= float(greatest))
        top = values == float(greatest)
    else:
        valid = valid & (values > least - 1) & (values < greatest + 1)
        top = np.zeros(len(values), np.bool_)
    whole = np.where(valid & ~top, values, 0.0).astype(np.int64)
    return np.where(top, greatest, whole), valid


def _cast_decimals(column: Column, target: Type) -> Column | None:
    values: Ints = column.values
    scale = column.type.scale
    if target == BOOLEAN:
        return Column(target, values != 0, column.valid)
    if is_integral(target):
        unit = 10**scale
        whole = np.abs(values) // unit * np.sign(values)
        return Column(target, *_within(whole, column.valid, *integer_bounds(target)))
    if target == DOUBLE and scale <= _EXACT_POWER:
        if _any_beyond(values, column.valid, _EXACT):
            return None
        return Column(target, values / 10.0**scale, column.valid)
    if is_decimal(target) and target.precision <= SHORT_DECIMAL:
        if target.scale >= scale:
            return _scaled_up(values, column.valid, target.scale - scale, target)
        unit = 10 ** (scale - target.scale)
        size = np.abs(values)
        rounded = (size // unit + (size % unit >= unit // 2)) * np.sign(values)
        limit = 10**target.precision - 1
        return Column(target, *_within(rounded, column.valid, -limit, limit))
    return None


def _scaled_up(values: Ints, valid: Mask, places: int, target: Type) -> Column:
    """Times a power of ten, where the product fits; it then fits 64 bits too."""
    unit = 10**places
    limit = (10**target.precision - 1) // unit
    values, valid = _within(values, valid, -limit, limit)
    return Column(target, np.where(valid, values, 0) * unit, valid)


def _within(values: Ints, valid: Mask, least: int, greatest: int) -> tuple[Ints, Mask]:
    return values, valid & (values >= least) & (values <= greatest)


def _any_beyond(values: Ints, valid: Mask, limit: int) -> bool:
    return bool(np.any(valid & ((values > limit) | (values < -limit))))


def _cast_datetimes(column: Column, target: Type, zone: str) -> Column | None:
    source, valid = column.type, column.valid
    if {source, target} <= {DATE, TIMESTAMP, TIMESTAMP_NTZ}:
        values: Ints = np.where(valid, column.values, 0)
        day = MICROS * DAY_SECONDS
        if _any_beyond(values, valid, _FAR // day if source == DATE else _FAR):
            return None  # near the ends of the range, where 64 bits may not do
        rules = zone_of(zone)
        if target == DATE:
            if source == TIMESTAMP:
                values = values + rules.offsets_at(values // MICROS) * MICROS
            return Column(target, values // day, valid)
        if source == DATE:
            if target == TIMESTAMP and rules.instants:
                return None  # a midnight may be in a gap, which has a rule of its own
            values = values * day
        if target == TIMESTAMP_NTZ and source == TIMESTAMP:
            values = values + rules.offsets_at(values // MICROS) * MICROS
        if target == TIMESTAMP:
            values = values - rules.offsets_of_walls(values // MICROS) * MICROS
        return Column(target, values, valid)
    if source == TIMESTAMP and is_integral(target):
        return Column(target, *_within(column.values // MICROS, valid, *integer_bounds(target)))
    if source == TIMESTAMP and is_fractional(target):
        return Column(target, (column.values / 1e6).astype(physical_dtype(target)), valid)
    if is_integral(source):
        if _any_beyond(column.values, valid, integer_bounds(BIGINT)[1] // MICROS):
            return None
        return Column(target, column.values * MICROS, valid)
    return None


CAST = Function("cast", _resolve, _bind, _vector)
register(CAST)
