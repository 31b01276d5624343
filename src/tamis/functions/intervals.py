"""Arithmetic of intervals, and of moments with them; timestampadd, timestampdiff, functions that make intervals.

Days and months move the wall clock of the zone, what is less than a day the instant; a difference of timestamps is
that of their wall clocks. What leaves the range of its type is NULL. `tamis.values.coercion` decides which types
go together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tamis.functions import calendar_intervals
from tamis.functions.clock_moves import add_days, add_months
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, always, check_count, register
from tamis.functions.rows import Scalar, all_valid, apply_strict
from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.casts import round_half_up, to_text
from tamis.values.column import Column
from tamis.values.datetimes import in_timestamp_range
from tamis.values.intervals import in_range, truncate
from tamis.values.types import (
    ANY,
    BIGINT,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_MONTH,
    Type,
    decimal,
    is_decimal,
    is_interval,
    is_numeric,
    is_year_month,
    wrap_integer,
)
from tamis.values.zones import Zone, zone_of

_FAR = 1 << 61
"""Microseconds whose sums and differences, offsets included, stay within 64 bits."""


def concerns_intervals(signature: Signature) -> bool:
    """Is it arithmetic of intervals, those of the calendar included?"""
    types = (signature.returns, *signature.parameters)
    return any(is_interval(type_) or type_ == CALENDAR_INTERVAL for type_ in types)


def bind_arithmetic(name: str, signature: Signature) -> Scalar:
    """The scalar form of + - * / over intervals and moments."""
    left, right = signature.parameters
    returns = signature.returns
    if returns == STRING:
        return _text_mover(name, signature)
    if CALENDAR_INTERVAL in signature.parameters:
        return calendar_intervals.bind_arithmetic(name, signature)
    if name == "div":
        bits = 32 if is_year_month(left) else 64
        return lambda one, other: _whole_quotient(one, other, bits)
    if name in ("*", "/"):
        return _scaling(name, left, right, returns)
    if is_interval(left) and is_interval(right):
        sign = 1 if name == "+" else -1
        return lambda one, other: in_range(one + sign * other, returns)
    if not is_interval(left) and not is_interval(right):
        if left == DATE:
            return lambda end, start: (end - start) * MICROS_PER_DAY
        zone = _zone(left, signature.zone)
        return lambda end, start: in_range(zone.to_wall(end) - zone.to_wall(start), returns)
    if is_interval(left):
        move = _mover(right, left, signature.zone)
        return lambda length, moment: move(moment, length)
    move = _mover(left, right, signature.zone)
    return move if name == "+" else lambda moment, length: move(moment, -length)


def _whole_quotient(dividend: int, divisor: int, bits: int) -> int | None:
    """How often an interval fits into another one; of months, -2^31 / -1 wraps, as in Spark."""
    if divisor == 0:
        return None
    quotient = truncate(dividend, abs(divisor)) // divisor
    return wrap_integer(quotient, bits) if bits == 32 else in_range(quotient, DAY_TIME)


def _text_mover(name: str, signature: Signature) -> Scalar:
    """A text that is a timestamp plus an interval is a text again."""
    move = bind_arithmetic(name, replace(signature, returns=TIMESTAMP))

    def scalar(left: int, right: int) -> Any:
        moved = move(left, right)
        return None if moved is None else to_text(moved, TIMESTAMP, signature.zone)

    return scalar


def vector_arithmetic(name: str, signature: Signature, columns: Sequence[Column]) -> Column:
    """Differences of moments and sums with intervals of less than a day's arithmetic by numpy, else row by row."""
    left, right = columns
    if signature.returns == STRING or CALENDAR_INTERVAL in signature.parameters or name == "div":
        return apply_strict(bind_arithmetic(name, signature), signature.returns, columns)
    near = all(len(each) == 0 or bool((np.abs(each.values[each.valid]) < _FAR).all()) for each in columns)
    valid = all_valid(columns)
    if near and name == "-" and left.type == right.type and left.type in (TIMESTAMP, TIMESTAMP_NTZ):
        walls = [_walls(each, signature.zone) for each in columns]
        return Column(signature.returns, walls[0] - walls[1], valid)
    if near and name in ("+", "-") and is_interval(left.type) and is_interval(right.type):
        if not is_year_month(left.type):
            sign = 1 if name == "+" else -1
            return Column(signature.returns, left.values + sign * right.values, valid)
    if near and right.type.name == "interval" and not is_year_month(right.type) and left.type != DATE:
        # Without changes of the clock a day is 24 hours.
        if name in ("+", "-") and not _zone(left.type, signature.zone).instants:
            return Column(signature.returns, left.values + (1 if name == "+" else -1) * right.values, valid)
    return apply_strict(bind_arithmetic(name, signature), signature.returns, columns)


def _walls(column: Column, zone: str) -> Any:
    values = np.where(column.valid, column.values, 0)
    return values + _zone(column.type, zone).offsets_at(values // MICROS_PER_SECOND) * MICROS_PER_SECOND


def _zone(type_: Type, zone: str) -> Zone:
    return zone_of(zone if type_ == TIMESTAMP else "UTC")


def _mover(moment: Type, length: Type, zone: str) -> Callable[[int, int], int | None]:
    """A moment plus an interval."""
    if moment == DATE:
        if is_year_month(length):
            return lambda days, months: _date(calendar.plus_months(days, months))
        return lambda days, micros: _date(days + truncate(micros, MICROS_PER_DAY) // MICROS_PER_DAY)
    rules = _zone(moment, zone)
    if is_year_month(length):
        return lambda micros, months: add_months(rules, micros, months)
    return lambda micros, more: add_days(rules, micros, more)


def _date(days: int) -> int | None:
    return days if calendar.LEAST_DAY <= days <= calendar.GREATEST_DAY else None


def _scaling(name: str, left: Type, right: Type, returns: Type) -> Scalar:
    """An interval times, or divided by, a number; rounded once, ties away from zero."""
    other = right if is_interval(left) else left
    unit = 10**other.scale if is_decimal(other) else 1

    def scalar(one: Any, two: Any) -> int | None:
        length, number = (one, two) if is_interval(left) else (two, one)
        if isinstance(number, float):
            if name == "*":
                product = length * number
            elif number == 0:
                return None
            else:
                product = length / number
            if not math.isfinite(product):
                return None
            exact = Fraction(product)
            return in_range(round_half_up(exact.numerator, exact.denominator), returns)
        if name == "*":
            return in_range(round_half_up(length * number, unit), returns)
        return None if number == 0 else in_range(round_half_up(length * unit, number), returns)

    return scalar


# Parts

_PARTS: dict[str, tuple[int, int, int | None, Type]] = {
    # name: field, its unit, the unit of the field before it, type
    "YEAR": (0, 12, None, INT),
    "MONTH": (1, 1, 12, TINYINT),
    "DAY": (2, MICROS_PER_DAY, None, INT),
    "HOUR": (3, 3_600_000_000, MICROS_PER_DAY, TINYINT),
    "MINUTE": (4, 60_000_000, 3_600_000_000, TINYINT),
    "SECOND": (5, 1, 60_000_000, decimal(8, 6)),
}


def part_of_interval(field: str, type_: Type) -> tuple[Scalar, Type]:
    """EXTRACT of a field of an interval, and the type of the result; raises ArgumentError."""
    name = next((each for each in _PARTS if field in (each, f"{each}S")), "")
    place, unit, wider, returns = _PARTS.get(name, (-1, 1, None, INT))
    if type_ == CALENDAR_INTERVAL and place >= 0:
        # Months, days and the rest are held apart; each has units of its own.
        if name == "DAY":
            return (lambda length: _within_int(length[1] + _part(length[2], unit, wider))), returns
        part = 0 if place < 2 else 2
        return (lambda length: _part(length[part], unit, wider)), returns
    if not type_.precision <= place <= type_.scale:
        msg = f"{field.lower()} is not a field of an {type_}"
        raise ArgumentError(msg, 0)
    return (lambda value: _part(value, unit, wider)), returns


def _part(value: int, unit: int, wider: int | None) -> int:
    rest = abs(value) if wider is None else abs(value) % wider
    return rest // unit if value >= 0 else -(rest // unit)


def _within_int(value: int) -> int | None:
    return value if -(1 << 31) <= value < 1 << 31 else None


# Functions

_DIFFERENCE_UNITS = {
    "YEAR": 12,
    "QUARTER": 3,
    "MONTH": 1,
    "WEEK": 7 * MICROS_PER_DAY,
    "DAY": MICROS_PER_DAY,
    "DAYOFYEAR": MICROS_PER_DAY,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_MONTHS = ("YEAR", "QUARTER", "MONTH")


def _check_unit(argument: Argument, known: Sequence[str]) -> None:
    if not argument.is_constant or str(argument.value).upper() not in known:
        msg = f"{argument.value!r} is not a unit"
        raise ArgumentError(msg, 0, f"units are {', '.join(known)}")


def _moment(type_: Type) -> Type:
    return TIMESTAMP_NTZ if type_ == TIMESTAMP_NTZ else TIMESTAMP


def _resolve_add(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 3)
    _check_unit(arguments[0], tuple(_DIFFERENCE_UNITS))
    moment = _moment(arguments[2].type)
    return Signature((STRING, BIGINT, moment), moment, zone)


def _bind_add(signature: Signature) -> Scalar:
    zone = _zone(signature.returns, signature.zone)

    def scalar(unit: str, count: int, micros: int) -> int | None:
        unit = unit.upper()
        length = count * _DIFFERENCE_UNITS[unit]
        if unit in _MONTHS:
            return add_months(zone, micros, length) if abs(length) < 1 << 31 else None
        is_days = length % MICROS_PER_DAY == 0 and _DIFFERENCE_UNITS[unit] >= MICROS_PER_DAY
        return add_days(zone, micros, length) if is_days else in_timestamp_range(micros + length)

    return scalar


def _resolve_difference(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 3)
    _check_unit(arguments[0], [name for name in _DIFFERENCE_UNITS if name != "DAYOFYEAR"])
    both = TIMESTAMP_NTZ if arguments[1].type == arguments[2].type == TIMESTAMP_NTZ else TIMESTAMP
    return Signature((STRING, both, both), BIGINT, zone)


def _bind_difference(signature: Signature) -> Scalar:
    zone = _zone(signature.parameters[1], signature.zone)

    def scalar(unit: str, start: int, end: int) -> int:
        unit = unit.upper()
        length = _DIFFERENCE_UNITS[unit]
        start, end = zone.to_wall(start), zone.to_wall(end)
        found = _months_between(start, end) if unit in _MONTHS else end - start
        return truncate(found, length) // length

    return scalar


def _months_between(start: int, end: int) -> int:
    """Whole months between two wall clocks, towards zero."""
    (first, clock), (last, other) = divmod(start, MICROS_PER_DAY), divmod(end, MICROS_PER_DAY)
    if last > first and other < clock:
        last -= 1
    elif last < first and other > clock:
        last += 1
    one, two = calendar.civil_from_days(first), calendar.civil_from_days(last)
    days = ((two[0] * 12 + two[1]) * 32 + two[2]) - ((one[0] * 12 + one[1]) * 32 + one[2])
    return truncate(days, 32) // 32


def _resolve_made(
    parameters: tuple[Type, ...], returns: Type, least: int = 0
) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, least, len(parameters))
        for place, argument in enumerate(arguments):
            if argument.type == ANY or argument.type == NULL:
                continue
            if not (is_numeric(argument.type) or argument.type == STRING):
                msg = f"expected a number, found {argument.type}"
                raise ArgumentError(msg, place)
        return Signature(parameters[: len(arguments)], returns, zone)

    return resolve


def _sum_units(*units: int, type_: Type) -> Scalar:
    def scalar(*counts: int) -> int | None:
        return in_range(sum(count * unit for count, unit in zip(counts, units, strict=False)), type_)

    return scalar


register(Function("timestampadd", _resolve_add, _bind_add))
register(Function("timestampdiff", _resolve_difference, _bind_difference), "timediff")
register(
    Function(
        "make_dt_interval",
        _resolve_made((INT, INT, INT, decimal(18, 6)), DAY_TIME),
        always(_sum_units(MICROS_PER_DAY, 3_600_000_000, 60_000_000, 1, type_=DAY_TIME)),
    )
)
register(
    Function(
        "make_ym_interval", _resolve_made((INT, INT), YEAR_MONTH), always(_sum_units(12, 1, type_=YEAR_MONTH))
    )
)
for _name, _least in (("make_interval", 0), ("try_make_interval", 1)):
    _parameters = (INT, INT, INT, INT, INT, INT, decimal(18, 6))
    register(
        Function(
            _name,
            _resolve_made(_parameters, CALENDAR_INTERVAL, _least),
            always(calendar_intervals.make_interval),
        )
    )
