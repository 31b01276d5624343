"""Arithmetic of calendar intervals, which are months, days and microseconds; make_interval.

`tamis.functions.intervals` comes here with every signature in which one of them is a parameter. They have no
order: nothing here compares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tamis.functions.clock_moves import add_calendar_interval
from tamis.functions.maps import TAKE_MAPS
from tamis.functions.registry import Signature
from tamis.functions.rows import Scalar
from tamis.values import calendar
from tamis.values.calendar_intervals import CalendarInterval, fitting, negate, scale
from tamis.values.types import CALENDAR_INTERVAL, DATE, TIMESTAMP, Type
from tamis.values.zones import zone_of

TAKE_CALENDAR_INTERVALS = TAKE_MAPS | frozenset(
    "+ - * / negative positive date_part hash xxhash64 array_append array_prepend array_insert array_repeat "
    "array_compact reverse concat flatten slice get try_element_at elt sequence".split()
)
"""The functions that take calendar intervals, or what holds them; the others compare."""


def bind_arithmetic(name: str, signature: Signature) -> Scalar:
    """The scalar form of + - * / in which an operand is a calendar interval."""
    left, right = signature.parameters
    if name in ("*", "/"):
        if left == CALENDAR_INTERVAL:
            return lambda length, number: scale(length, number, divide=name == "/")
        return lambda number, length: scale(length, number)
    if left == right:
        return _sum if name == "+" else _difference
    moment = right if left == CALENDAR_INTERVAL else left
    move = _move_date if moment == DATE else _mover(moment, signature.zone)
    if left == CALENDAR_INTERVAL:
        return lambda length, start: move(start, length)
    return move if name == "+" else lambda start, length: _move_back(move, start, length)


def _sum(one: CalendarInterval, other: CalendarInterval) -> CalendarInterval | None:
    return fitting(one[0] + other[0], one[1] + other[1], one[2] + other[2])


def _difference(one: CalendarInterval, other: CalendarInterval) -> CalendarInterval | None:
    return fitting(one[0] - other[0], one[1] - other[1], one[2] - other[2])


def _move_back(
    move: Callable[[int, CalendarInterval], int | None], start: int, length: CalendarInterval
) -> int | None:
    back = negate(length)
    return None if back is None else move(start, back)


def _move_date(start: int, length: CalendarInterval) -> int | None:
    """A date some months and days later; Spark raises for hours, even for 24 of them."""
    months, days, micros = length
    if micros:
        return None
    moved = calendar.plus_months(start, months) + days
    return moved if calendar.LEAST_DAY <= moved <= calendar.GREATEST_DAY else None


def _mover(moment: Type, zone: str) -> Callable[[int, CalendarInterval], int | None]:
    rules = zone_of(zone if moment == TIMESTAMP else "UTC")
    return lambda start, length: add_calendar_interval(rules, start, *length)


def make_interval(*counts: Any) -> CalendarInterval | None:
    """Of years, months, weeks, days, hours, minutes and microseconds."""
    given = [*counts, 0, 0, 0, 0, 0, 0, 0]
    years, months, weeks, days, hours, minutes, micros = given[:7]
    if fitting(years * 12, weeks * 7, 0) is None:
        return None
    return fitting(years * 12 + months, weeks * 7 + days, hours * 3_600_000_000 + minutes * 60_000_000 + micros)
