"""Casts of single values: what `try_cast` gives in Spark, for every pair of types that Spark allows.

A cast never raises: it gives None where Spark's ANSI cast raises. `can_cast` alone decides which pairs exist.
Schemaless values are cast by their own kind: a bool as boolean, an int as bigint, a float as double, a str as
string; an int beyond 64 bits is cast as the nearest double.

Spark rounds a decimal of more than 18 digits to a double on its way to int, smallint and tinyint, so that
2147483646.9999999999999 becomes 2147483647; the casts here do the same. Spark also does it to narrower decimals
that it holds in wide form (literals, and columns of some sources); those are truncate here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from tamis.values.calendar import GREATEST_MICROS, LEAST_MICROS, MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.calendar_intervals import read_calendar_interval, write_calendar_interval
from tamis.values.column import SHORT_DECIMAL, Value
from tamis.values.datetimes import (
    in_timestamp_range,
    read_date,
    read_timestamp,
    read_timestamp_ntz,
    write_date,
    write_wall,
)
from tamis.values.intervals import interval_unit, read_interval, truncate, write_interval
from tamis.values.text import (
    as_float,
    decimal_of_double,
    nearest_float,
    read_boolean,
    read_decimal,
    read_double,
    read_float,
    read_integer,
    write_decimal,
    write_double,
    write_float,
)
from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
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
    is_interval,
    is_year_month,
    wrap_integer,
)
from tamis.values.zones import zone_of

Caster: TypeAlias = Callable[[Value], Value]

_LEAST, _GREATEST = integer_bounds(BIGINT)
_MICRO_PLACES = 6
"""Scale of a timestamp, as a decimal number of seconds."""


def can_cast(source: Type, target: Type) -> bool:
    """Does Spark accept `CAST(source AS target)` in ANSI mode?"""
    if source in (target, NULL):
        return True
    if target == NULL:
        return False
    if source == ANY:
        return target.name != "struct"
    if source == NUMBER:
        return target == ANY or can_cast(BIGINT, target) or can_cast(DOUBLE, target)
    if target == ANY:
        return _is_json_kind(source)
    if target == NUMBER:
        return source in (BOOLEAN, STRING) or _is_number(source)
    if source.name == "array" and target.name == "array":
        return can_cast(source.item, target.item)
    if source.name == "map" and target.name == "map":
        (_, key), (_, value) = source.item.fields
        (_, other_key), (_, other) = target.item.fields
        # A key may not become NULL.
        return can_cast(value, other) and (other_key in (key, STRING) or is_order_preserving(key, other_key))
    if source.name == "struct" and target.name == "struct":
        return len(source.fields) == len(target.fields) and all(
            can_cast(one, other) for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)
        )
    return _can_cast_atom(source, target)


def _can_cast_atom(source: Type, target: Type) -> bool:
    if CALENDAR_INTERVAL in (source, target):
        return STRING in (source, target)
    if is_interval(source) or is_interval(target):
        return _can_cast_interval(source, target)
    if target == STRING:
        return True
    if _is_number(target):
        return source in (BOOLEAN, STRING, TIMESTAMP) or _is_number(source)
    if target == BOOLEAN:
        return source == STRING or _is_number(source)
    if target == TIMESTAMP:
        return source in (STRING, DATE, TIMESTAMP_NTZ) or _is_number(source)
    if target == TIMESTAMP_NTZ:
        return source in (STRING, DATE, TIMESTAMP)
    if target == DATE:
        return source in (STRING, TIMESTAMP, TIMESTAMP_NTZ)
    return (source, target) == (STRING, BINARY)


def _can_cast_interval(source: Type, target: Type) -> bool:
    """Intervals of one kind, text, and numbers of the last field of an interval: seconds of day to second."""
    if is_interval(source) and is_interval(target):
        return is_year_month(source) == is_year_month(target)
    other = target if is_interval(source) else source
    return other == STRING or is_integral(other) or is_decimal(other)


def _is_number(type_: Type) -> bool:
    return is_integral(type_) or is_fractional(type_) or is_decimal(type_)


def _is_json_kind(type_: Type) -> bool:
    """Are its values also values of `any`?"""
    if type_.name == "array":
        return type_.item == ANY or _is_json_kind(type_.item)
    return type_ in (BOOLEAN, STRING, NUMBER) or is_integral(type_) or is_fractional(type_)


def is_order_preserving(source: Type, target: Type) -> bool:
    """Is the cast total and monotone, in every time zone?

    From date to timestamp it is monotone but not total: dates beyond the years -290308 and 294247 have none.
    """
    if source == target:
        return source.name not in ("any", "null")
    if source == BOOLEAN or is_integral(source):
        digits = 1 if source == BOOLEAN else len(str(integer_bounds(source)[1]))
        if is_integral(target):
            return source == BOOLEAN or integer_bounds(source)[1] <= integer_bounds(target)[1]
        if is_decimal(target):
            return target.precision - target.scale >= digits
        return is_fractional(target) or (target == TIMESTAMP and source != BOOLEAN)
    if is_decimal(source):
        room = (target.precision - target.scale) - (source.precision - source.scale)
        return is_fractional(target) or (
            # Rounding may carry into one more digit.
            is_decimal(target) and room >= (1 if target.scale < source.scale else 0)
        )
    return (source, target) in _MONOTONE


_MONOTONE = frozenset(
    {
        (FLOAT, DOUBLE),
        (DOUBLE, FLOAT),
        (STRING, BINARY),
        (TIMESTAMP_NTZ, DATE),
        (TIMESTAMP, BIGINT),
        (TIMESTAMP, DOUBLE),
        (TIMESTAMP, FLOAT),
    }
)


@lru_cache(maxsize=4096)
def caster(source: Type, target: Type, zone: str) -> Caster:
    """The function that casts one non-NULL value from `source` to `target`; `can_cast` must allow the pair."""
    if source == target:
        return _same
    if source == NULL:
        return _nothing
    if source in (ANY, NUMBER):
        return _from_schemaless(target, zone)
    if target in (ANY, NUMBER):
        return _to_schemaless(source, target, zone)
    if source.name == target.name and source.name in ("array", "map"):
        item = caster(source.item, target.item, zone)
        return lambda values: [None if value is None else item(value) for value in values]
    if source.name == "struct" and target.name == "struct":
        fields = [
            caster(one, other, zone) for (_, one), (_, other) in zip(source.fields, target.fields, strict=True)
        ]
        return lambda values: tuple(
            None if value is None else field(value) for field, value in zip(fields, values, strict=True)
        )
    if CALENDAR_INTERVAL in (source, target):
        return read_calendar_interval if target == CALENDAR_INTERVAL else write_calendar_interval
    if is_interval(target):
        return _to_interval(source, target)
    if is_interval(source) and is_integral(target):
        unit, (least, greatest) = interval_unit(source.scale), integer_bounds(target)
        return lambda value: _within(truncate(value, unit) // unit, least, greatest)
    if is_interval(source) and is_decimal(target):
        unit, scaling, most = interval_unit(source.scale), 10**target.scale, 10**target.precision - 1
        return lambda value: _within(round_half_up(value * scaling, unit), -most, most)
    if target == STRING:
        return _to_string(source, zone)
    if is_integral(target):
        return _to_integral(source, target)
    if is_fractional(target):
        return _to_fractional(source, target)
    if is_decimal(target):
        return _to_decimal(source, target)
    if target == BOOLEAN:
        return read_boolean if source == STRING else lambda value: value != 0
    if target == BINARY:
        return lambda value: value.encode("utf-8", "surrogatepass")
    return _to_datetime(source, target, zone)


def to_text(value: Value, type_: Type, zone: str) -> str:
    """`CAST(value AS STRING)` of a value that is not NULL."""
    text: str = caster(type_, STRING, zone)(value)
    return text


def _same(value: Value) -> Value:
    return value


def _nothing(_: Value) -> None:
    return None


# To numbers


def _to_integral(source: Type, target: Type) -> Caster:
    least, greatest = integer_bounds(target)

    def within_bounds(value: int) -> int | None:
        return value if least <= value <= greatest else None

    if source == STRING:
        return lambda text: read_integer(text, least, greatest)
    if source == BOOLEAN:
        return int
    if is_integral(source):
        return within_bounds
    if is_fractional(source):
        return _truncate_to_bigint if target == BIGINT else lambda value: _truncate_within(value, least, greatest)
    if source == TIMESTAMP:
        return lambda micros: within_bounds(micros // MICROS_PER_SECOND)
    unit = 10**source.scale
    if source.precision > SHORT_DECIMAL and target != BIGINT:
        return lambda unscaled: _truncate_within(unscaled / unit, least, greatest)
    return lambda unscaled: within_bounds(unscaled // unit if unscaled >= 0 else -(-unscaled // unit))


def _truncate_to_bigint(value: float) -> int | None:
    """A double as bigint: 2^63 itself passes Spark's check, and becomes the greatest bigint."""
    return min(int(value), _GREATEST) if _LEAST <= value <= _GREATEST + 1 else None


def _truncate_within(value: float, least: int, greatest: int) -> int | None:
    return int(value) if least - 1 < value < greatest + 1 else None


def _to_fractional(source: Type, target: Type) -> Caster:
    if source == STRING:
        return read_double if target == DOUBLE else read_float
    if source == TIMESTAMP:
        return _seconds if target == DOUBLE else lambda micros: as_float(_seconds(micros))
    if is_fractional(source):
        return _same if target == DOUBLE else as_float
    if is_decimal(source):
        unit = 10**source.scale  # a quotient of two ints is rounded once
        if target == DOUBLE:
            return lambda unscaled: unscaled / unit
        return lambda unscaled: nearest_float(unscaled / unit, unscaled, unit)
    return float if target == DOUBLE else lambda value: nearest_float(float(value), value)


def _seconds(micros: int) -> float:
    return float(micros) / 1e6


def _to_decimal(source: Type, target: Type) -> Caster:
    precision, scale = target.precision, target.scale
    if source == STRING:
        return lambda text: read_decimal(text, precision, scale)
    if is_fractional(source):
        return lambda value: decimal_of_double(value, precision, scale)
    from_scale = source.scale if is_decimal(source) else _MICRO_PLACES if source == TIMESTAMP else 0
    limit = 10**precision
    up, down = 10 ** max(0, scale - from_scale), 10 ** max(0, from_scale - scale)

    def rescale(unscaled: int) -> int | None:
        value = round_half_up(unscaled * up, down)
        return value if -limit < value < limit else None

    return rescale


def round_half_up(dividend: int, divisor: int) -> int:
    """`dividend / divisor` rounded to the nearest integer, ties away from zero."""
    whole = (2 * abs(dividend) + abs(divisor)) // (2 * abs(divisor))
    return whole if (dividend < 0) == (divisor < 0) else -whole


# To intervals


def _to_interval(source: Type, target: Type) -> Caster:
    unit = interval_unit(target.scale)
    if source == STRING:
        return lambda text: read_interval(text, target)
    if is_interval(source):
        return lambda value: truncate(value, unit)
    least, greatest = integer_bounds(INT if is_year_month(target) else BIGINT)
    scaling = 10**source.scale  # 1 for whole numbers
    return lambda value: _within(round_half_up(value * unit, scaling), least, greatest)


def _within(value: int, least: int, greatest: int) -> int | None:
    return value if least <= value <= greatest else None


# To dates and timestamps


def _to_datetime(source: Type, target: Type, zone: str) -> Caster:
    if source == STRING:
        if target == DATE:
            return read_date
        return (lambda text: read_timestamp(text, zone)) if target == TIMESTAMP else read_timestamp_ntz
    rules = zone_of(zone)
    if target == DATE:
        if source == TIMESTAMP_NTZ:
            return lambda wall: wall // MICROS_PER_DAY
        return lambda micros: rules.to_wall(micros) // MICROS_PER_DAY
    if target == TIMESTAMP_NTZ:
        if source == DATE:
            return lambda day: in_timestamp_range(day * MICROS_PER_DAY)
        return lambda micros: in_timestamp_range(rules.to_wall(micros))
    if source == DATE:
        return lambda day: in_timestamp_range(rules.start_of_day(day))
    if source == TIMESTAMP_NTZ:
        return lambda wall: in_timestamp_range(rules.to_instant(wall))
    if is_fractional(source):
        return lambda value: _truncate_to_bigint(value * 1e6)
    if is_decimal(source):
        unit = 10**source.scale
        return lambda unscaled: _decimal_seconds(unscaled, unit)
    return lambda seconds: max(LEAST_MICROS, min(GREATEST_MICROS, seconds * MICROS_PER_SECOND))


def _decimal_seconds(unscaled: int, unit: int) -> int:
    """A decimal as timestamp: microseconds truncate, and wrapped into 64 bits."""
    micros = unscaled * MICROS_PER_SECOND
    whole = micros // unit if micros >= 0 else -(-micros // unit)
    return wrap_integer(whole, 64)


# To strings


def _to_string(source: Type, zone: str) -> Caster:
    if source == BOOLEAN:
        return lambda value: "true" if value else "false"
    if is_integral(source):
        return str
    if is_fractional(source):
        return write_double if source == DOUBLE else write_float
    if is_decimal(source):
        return lambda unscaled: write_decimal(unscaled, source.scale)
    if source == BINARY:
        return lambda value: value.decode("utf-8", "replace")
    if is_interval(source):
        return lambda value: write_interval(value, source)
    if source == DATE:
        return write_date
    if source == TIMESTAMP:
        rules = zone_of(zone)
        return lambda micros: write_wall(rules.to_wall(micros))
    if source == TIMESTAMP_NTZ:
        return write_wall
    if source.name == "map":
        ends = [caster(inner, STRING, zone) for _, inner in source.item.fields]
        return lambda pairs: "{" + ", ".join(" -> ".join(map(_element_text, ends, pair)) for pair in pairs) + "}"
    if source.name == "array":
        item = caster(source.item, STRING, zone)
        return lambda values: "[" + ", ".join(_element_text(item, value) for value in values) + "]"
    fields = [caster(field, STRING, zone) for _, field in source.fields]
    return lambda values: "{" + ", ".join(map(_element_text, fields, values)) + "}"


def _element_text(write: Caster, value: Value) -> str:
    text: str | None = None if value is None else write(value)
    return "null" if text is None else text


# Schemaless values


def double_of(value: int) -> float:
    """The double nearest to an integer of any size, infinite if it is beyond all doubles."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _from_schemaless(target: Type, zone: str) -> Caster:
    if target == ANY:
        return _same
    kinds: dict[type, Caster] = {
        kind: caster(type_, target, zone) if can_cast(type_, target) else _nothing
        for kind, type_ in ((bool, BOOLEAN), (int, BIGINT), (float, DOUBLE), (str, STRING))
    }
    if target.name == "array":
        kinds[list] = caster(Type("array", element=ANY), target, zone)
    whole, real = kinds[int], kinds[float]

    def cast(value: Value) -> Value:
        kind = type(value)
        if kind is int:
            return whole(value) if _LEAST <= value <= _GREATEST else real(double_of(value))
        return kinds.get(kind, _nothing)(value)

    return cast


def _to_schemaless(source: Type, target: Type, zone: str) -> Caster:
    if target == ANY or is_integral(source) or is_fractional(source):
        return _same
    return int if source == BOOLEAN else caster(source, DOUBLE, zone)
