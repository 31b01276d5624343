"""Calendar intervals: months, days and microseconds that Spark keeps apart, as triples of integers.

A month has no fixed length in days nor a day in hours, so they have no order and are not compared. The triples
here always fit 32, 32 and 64 bits; what would leave that range is None.
"""

from __future__ import annotations

import math
import re
from typing import TypeAlias

from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.intervals import UNITS
from tamis.values.text import trim

CalendarInterval: TypeAlias = tuple[int, int, int]
"""Months, days, microseconds."""

_HOUR, _MINUTE = 3_600_000_000, 60_000_000
_INT, _LONG = 1 << 31, 1 << 63
_BLANK = r"[\t-\r\x1c- ]"  # as Java's Character.isWhitespace
_PREFIX = re.compile(rf"interval{_BLANK}+")
_PART = re.compile(
    rf"(?:(?P<sign>[+-]){_BLANK}*(?P<signed>\d*(?:\.\d{{0,9}})?)|(?P<plain>\d+(?:\.\d{{0,9}})?|\.\d{{1,9}}))"
    rf"{_BLANK}+(?P<unit>microsecond|millisecond|second|minute|hour|day|week|month|year)s?(?:{_BLANK}+|$)",
    re.ASCII,
)


def fitting(months: int, days: int, micros: int) -> CalendarInterval | None:
    """The interval, or None if it is beyond the bits of its parts."""
    fits = -_INT <= months < _INT and -_INT <= days < _INT and -_LONG <= micros < _LONG
    return (months, days, micros) if fits else None


def negate(length: CalendarInterval) -> CalendarInterval | None:
    """Every part with the other sign."""
    return fitting(*(-part for part in length))


def scale(length: CalendarInterval, factor: float, *, divide: bool = False) -> CalendarInterval | None:
    """The interval times a number, or divided by it: fractions of months are dropped, those of days are hours."""
    if divide and factor == 0:
        return None
    months, days, micros = (part / factor if divide else part * factor for part in length)
    whole_months, whole_days = _truncate(months), _truncate(days)
    return fitting(whole_months, whole_days, _round_half_up(micros + MICROS_PER_DAY * (days - whole_days)))


def _truncate(value: float) -> int:
    """As Java casts a double to a long: NaN is 0, and what is beyond 64 bits the nearest that is not."""
    if math.isnan(value):
        return 0
    return max(-_LONG, min(_LONG - 1, int(value))) if math.isfinite(value) else _LONG - 1 if value > 0 else -_LONG


def _round_half_up(value: float) -> int:
    """As Java's Math.round, ties upwards."""
    if not math.isfinite(value):
        return _truncate(value)
    whole = math.floor(value)
    return _truncate(whole + (value - whole >= 0.5))


def write_calendar_interval(length: CalendarInterval) -> str:
    """The text of an interval: the parts that are not zero, each with its own sign."""
    months, days, micros = length
    (years, months), (hours, rest) = _divide(months, 12), _divide(micros, _HOUR)
    minutes, rest = _divide(rest, _MINUTE)
    counts = {"years": years, "months": months, "days": days, "hours": hours, "minutes": minutes}
    parts = [f"{count} {unit}" for unit, count in counts.items() if count]
    if rest:
        whole, fraction = divmod(abs(rest), MICROS_PER_SECOND)
        parts.append(f"{'-' if rest < 0 else ''}{whole}.{fraction:06d}".rstrip("0").rstrip(".") + " seconds")
    return " ".join(parts) or "0 seconds"


def _divide(value: int, unit: int) -> tuple[int, int]:
    """Quotient and remainder, both with the sign of the value."""
    whole, rest = divmod(abs(value), unit)
    return (whole, rest) if value >= 0 else (-whole, -rest)


def read_calendar_interval(text: str) -> CalendarInterval | None:
    """An interval from text such as `interval 1 month -2 days 1.5 seconds`."""
    text = trim(text).lower()
    prefix = _PREFIX.match(text)
    at = prefix.end() if prefix else 0
    totals: CalendarInterval | None = (0, 0, 0)
    if at == len(text):
        return None
    while at < len(text) and totals is not None:
        part = _PART.match(text, at)
        number = part and (part["signed"] or part["plain"])
        if not part or not number:
            return None
        totals = _with_part(totals, part["sign"] or "", number, part["unit"])
        at = part.end()
    return totals


def _with_part(totals: CalendarInterval, sign: str, number: str, unit: str) -> CalendarInterval | None:
    digits, point, fraction = number.partition(".")
    if point and unit != "second":
        return None
    count, micros = int(digits or 0), int(fraction.ljust(9, "0")[:6]) if fraction else 0
    if count >= _LONG:
        return None
    if sign == "-":
        count, micros = -count, -micros
    field, length = UNITS[unit]
    months, days, more = totals
    if field < 2:
        return fitting(months + count * length, days, more)
    if field == 2:
        return fitting(months, days + count * (length // MICROS_PER_DAY), more)
    if fitting(0, 0, count * length) is None:
        return None
    return fitting(months, days, more + count * length + micros)
