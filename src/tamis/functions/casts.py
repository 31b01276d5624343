"""The function `cast`, which the analyser inserts wherever a value changes its type.

It is never called by name: CAST has a syntax of its own. The vector form gives exactly what the scalar form gives;
where numpy rounds or overflows differently, the values are cast one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tamis.arrays import F64, I64, AnyArray, Mask
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, register
from tamis.functions.rows import Scalar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.casts import caster
from tamis.values.column import SHORT_DECIMAL, Column, ListValues, NumberValues, column_of, physical_dtype
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
from tamis.values.zones import zone_of

_EXACT = 1 << 53
"""Integers up to this are exact as doubles."""
_EXACT_POWER = 22
"""Powers of ten up to this exponent are exact as doubles."""
_FAR = 1 << 62
"""Microseconds up to this stay within 64 bits after any offset is added."""


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
    if source.name == target.name and source.name in ("array", "map"):
        lists: ListValues = column.values
        return Column(target, ListValues(lists.offsets, cast_column(lists.items, target.item, zone)), valid)
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
    """Cast value by value; each distinct string or integer is cast once."""
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
    """Cast all rows as bigint and as double, and select by row."""
    if physical_dtype(target) is None:
        return _cast_each(column, target, zone)
    numbers: NumberValues = column.values
    whole = cast_column(Column(BIGINT, numbers.ints, column.valid & numbers.integral), target, zone)
    real = cast_column(Column(DOUBLE, numbers.doubles, column.valid & ~numbers.integral), target, zone)
    return Column(target, np.where(numbers.integral, whole.values, real.values), whole.valid | real.valid)


def _cast_array(column: Column, target: Type, zone: str) -> Column | None:
    """Cast with numpy, or None where that is not exact."""
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
    values: AnyArray = column.values
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
    values: AnyArray = column.values
    if target == BOOLEAN:
        return Column(target, values != 0, column.valid)
    if target in (FLOAT, DOUBLE):
        with np.errstate(over="ignore", invalid="ignore"):
            return Column(target, values.astype(physical_dtype(target)), column.valid)
    if is_integral(target):
        return Column(target, *_truncate_to_integers(values.astype(np.float64), column.valid, target))
    return None


def _truncate_to_integers(values: F64, valid: Mask, target: Type) -> tuple[I64, Mask]:
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
    values: I64 = column.values
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


def _scaled_up(values: I64, valid: Mask, places: int, target: Type) -> Column:
    """Multiply by a power of ten; rows whose product exceeds the precision, and so 64 bits, are NULL."""
    unit = 10**places
    limit = (10**target.precision - 1) // unit
    values, valid = _within(values, valid, -limit, limit)
    return Column(target, np.where(valid, values, 0) * unit, valid)


def _within(values: I64, valid: Mask, least: int, greatest: int) -> tuple[I64, Mask]:
    return values, valid & (values >= least) & (values <= greatest)


def _any_beyond(values: I64, valid: Mask, limit: int) -> bool:
    return bool(np.any(valid & ((values > limit) | (values < -limit))))


def _cast_datetimes(column: Column, target: Type, zone: str) -> Column | None:
    source, valid = column.type, column.valid
    if {source, target} <= {DATE, TIMESTAMP, TIMESTAMP_NTZ}:
        values: I64 = np.where(valid, column.values, 0)
        if _any_beyond(values, valid, _FAR // MICROS_PER_DAY if source == DATE else _FAR):
            return None  # near the ends of the range 64 bits may overflow
        rules = zone_of(zone)
        if target == DATE:
            if source == TIMESTAMP:
                values = values + rules.offsets_at(values // MICROS_PER_SECOND) * MICROS_PER_SECOND
            return Column(target, values // MICROS_PER_DAY, valid)
        if source == DATE:
            if target == TIMESTAMP and rules.instants:
                return None  # midnight may be in a gap, which has a rule of its own
            values = values * MICROS_PER_DAY
        if target == TIMESTAMP_NTZ and source == TIMESTAMP:
            values = values + rules.offsets_at(values // MICROS_PER_SECOND) * MICROS_PER_SECOND
        if target == TIMESTAMP:
            values = values - rules.offsets_of_walls(values // MICROS_PER_SECOND) * MICROS_PER_SECOND
        return Column(target, values, valid)
    if source == TIMESTAMP and is_integral(target):
        return Column(target, *_within(column.values // MICROS_PER_SECOND, valid, *integer_bounds(target)))
    if source == TIMESTAMP and is_fractional(target):
        return Column(target, (column.values / 1e6).astype(physical_dtype(target)), valid)
    if is_integral(source):
        if _any_beyond(column.values, valid, integer_bounds(BIGINT)[1] // MICROS_PER_SECOND):
            return None
        return Column(target, column.values * MICROS_PER_SECOND, valid)
    return None


CAST = Function("cast", _resolve, _bind, _vector)
register(CAST)
