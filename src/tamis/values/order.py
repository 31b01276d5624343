"""The order and the equality of the values of each type, as Spark defines them.

Compares single values and columns; functions and conditions are not known here. NaN equals NaN and is greater
than every other number, -0.0 equals 0.0, strings and binaries compare by unsigned bytes (for strings that is the
order of code points), NULL inside an array or a struct comes first and equals NULL.

Most ordered types have integer keys: `order_key` maps values to integers in the same order, equal values to
the same integer, so that comparisons become intervals of integers. Between `key_bounds` every integer is the
key of some value, which makes "greater than x" the interval that starts at key(x) + 1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tamis.arrays import F64, I8, I64, AnyArray
from tamis.values.calendar import GREATEST_DAY, GREATEST_MICROS, LEAST_DAY, LEAST_MICROS
from tamis.values.column import Column, NumberValues, Value
from tamis.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NUMBER,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    integer_bounds,
    is_decimal,
    is_fractional,
    is_interval,
    is_year_month,
)

Compare: TypeAlias = Callable[[Value, Value], int | None]
"""Negative, zero or positive; None if the two are not comparable, which happens for `any` only."""

_FLOAT_INFINITY = 0x7F80_0000
_DOUBLE_INFINITY = 0x7FF0_0000_0000_0000
_TWO_63 = 2.0**63


def compare(type_: Type) -> Compare:
    """The function that compares two non-NULL values of a type."""
    if is_fractional(type_) or type_ == NUMBER:
        return _compare_numbers
    if type_ == ANY:
        return _compare_any
    if type_.name == "array":
        return _compare_arrays(compare(type_.item))
    if type_.name == "struct":
        return _compare_structs([compare(inner) for _, inner in type_.fields])
    return _compare_plain


def _compare_plain(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _compare_numbers(left: float, right: float) -> int:
    if _is_nan(left) or _is_nan(right):
        return int(_is_nan(left)) - int(_is_nan(right))
    return int(left > right) - int(left < right)  # Python compares an int with a float by exact value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _compare_any(left: Any, right: Any) -> int | None:
    kinds = _kind(left), _kind(right)
    if kinds == ("number", "number"):
        return _compare_numbers(left, right)
    return _compare_plain(left, right) if kinds[0] == kinds[1] != "other" else None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "other"


def _compare_arrays(inner: Compare) -> Compare:
    def compare_arrays(left: list[Value], right: list[Value]) -> int | None:
        for first, second in zip(left, right, strict=False):
            found = _nulls_first(inner, first, second)
            if found != 0:
                return found
        return _compare_plain(len(left), len(right))

    return compare_arrays


def _compare_structs(inners: list[Compare]) -> Compare:
    def compare_structs(left: tuple[Value, ...], right: tuple[Value, ...]) -> int | None:
        for inner, first, second in zip(inners, left, right, strict=True):
            found = _nulls_first(inner, first, second)
            if found != 0:
                return found
        return 0

    return compare_structs


def _nulls_first(inner: Compare, left: Value, right: Value) -> int | None:
    if left is None or right is None:
        return int(left is not None) - int(right is not None)
    return inner(left, right)


def order_key(type_: Type) -> Callable[[Value], Any]:
    """A function from non-NULL values of an ordered type to Python keys with the same order and equality."""
    if type_ == FLOAT:
        return _float_key
    if type_ == DOUBLE:
        return _double_key
    if type_ == BOOLEAN:
        return int
    if type_ == NUMBER:
        return _number_key
    return _identity


def _identity(value: Value) -> Value:
    return value


def _float_key(value: float) -> int:
    if math.isnan(value):
        return _FLOAT_INFINITY + 1
    bits: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF)


def _double_key(value: float) -> int:
    if math.isnan(value):
        return _DOUBLE_INFINITY + 1
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _number_key(value: float) -> tuple[int, float, int]:
    if _is_nan(value):
        return 1, 0, 0
    # Equal numbers have one key, and one text: 1.0 is 1 and -0.0 is 0.
    is_whole = -_TWO_63 <= value < _TWO_63 and value == int(value)
    return 0, int(value) if is_whole else value, 0


_KEY_BOUNDS = {
    **{type_: integer_bounds(type_) for type_ in INTEGER_BITS},
    BOOLEAN: (0, 1),
    DATE: (LEAST_DAY, GREATEST_DAY),
    TIMESTAMP: (LEAST_MICROS, GREATEST_MICROS),
    TIMESTAMP_NTZ: (LEAST_MICROS, GREATEST_MICROS),
    FLOAT: (-_FLOAT_INFINITY, _FLOAT_INFINITY + 1),
    DOUBLE: (-_DOUBLE_INFINITY, _DOUBLE_INFINITY + 1),
}


def key_bounds(type_: Type) -> tuple[int, int] | None:
    """Least and greatest key of a type with integer keys, None for the others."""
    if is_decimal(type_):
        return 1 - 10**type_.precision, 10**type_.precision - 1
    if is_interval(type_):
        return integer_bounds(INT if is_year_month(type_) else BIGINT)
    return _KEY_BOUNDS.get(type_)


def value_of_key(type_: Type) -> Callable[[Any], Value]:
    """The inverse of `order_key`: one of the equal values that have a key."""
    if type_ == FLOAT:
        return _float_of_key
    if type_ == DOUBLE:
        return _double_of_key
    if type_ == BOOLEAN:
        return bool
    if type_ == NUMBER:
        return _number_of_key
    return _identity


def _float_of_key(key: int) -> float:
    if key > _FLOAT_INFINITY:
        return math.nan
    value: float = struct.unpack("<f", struct.pack("<i", abs(key)))[0]
    return value if key >= 0 else -value


def _double_of_key(key: int) -> float:
    if key > _DOUBLE_INFINITY:
        return math.nan
    value: float = struct.unpack("<d", struct.pack("<q", abs(key)))[0]
    return value if key >= 0 else -value


def _number_of_key(key: tuple[int, float, int]) -> float:
    return math.nan if key[0] else key[1]


def vector_keys(column: Column) -> AnyArray:
    """The integer keys of a column: int64, or objects for decimals of more than 18 digits.

    The keys of rows that are not valid are unspecified.
    """
    values: AnyArray = column.values
    if column.type == FLOAT:
        bits = values.view(np.int32).astype(np.int64)
        keys = np.where(bits < 0, -(bits & 0x7FFF_FFFF), bits)
        return np.where(np.isnan(values), _FLOAT_INFINITY + 1, keys)
    if column.type == DOUBLE:
        bits = values.view(np.int64)
        keys = np.where(bits < 0, -(bits & 0x7FFF_FFFF_FFFF_FFFF), bits)
        return np.where(np.isnan(values), _DOUBLE_INFINITY + 1, keys)
    return values.astype(np.int64) if column.type == BOOLEAN else values


def compare_numbers(left: NumberValues, right: NumberValues) -> I8:
    """Compare two columns of schemaless numbers exactly: -1, 0 or 1 per row."""
    result = np.zeros(len(left.integral), np.int8)
    whole = left.integral & right.integral
    result[whole] = _signs(left.ints[whole], right.ints[whole])
    double = ~left.integral & ~right.integral
    result[double] = compare_doubles(left.doubles[double], right.doubles[double])
    mixed = left.integral & ~right.integral
    result[mixed] = _int_with_double(left.ints[mixed], right.doubles[mixed])
    mixed = ~left.integral & right.integral
    result[mixed] = -_int_with_double(right.ints[mixed], left.doubles[mixed])
    return result


def compare_doubles(left: AnyArray, right: AnyArray) -> I8:
    """Compare two arrays of floats or doubles: -1, 0 or 1 per row; NaN equals NaN and is the greatest."""
    odd = np.isnan(left).astype(np.int8) - np.isnan(right).astype(np.int8)
    return np.where(np.isnan(left) | np.isnan(right), odd, _signs(left, right))


def _signs(left: AnyArray, right: AnyArray) -> I8:
    return (left > right).astype(np.int8) - (left < right).astype(np.int8)


def _int_with_double(ints: I64, doubles: F64) -> I8:
    # Compare with the floor, which is an exact integer; NaN and doubles beyond 64 bits are handled separately.
    inside = (doubles >= -_TWO_63) & (doubles < _TWO_63)
    safe = np.where(inside, doubles, 0.0)
    floor = np.floor(safe)
    signs = _signs(ints, floor.astype(np.int64))
    signs = np.where((signs == 0) & (safe > floor), np.int8(-1), signs)
    beyond = np.where(doubles < 0, np.int8(1), np.int8(-1))
    return np.where(inside, signs, beyond)
