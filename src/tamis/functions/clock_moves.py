"""Moments moved by months and days: the wall clock of a zone moves, and what is less than a day moves the instant.

What leaves the range of timestamps is NULL.
"""

from __future__ import annotations

from tamis.values import calendar
from tamis.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from tamis.values.datetimes import in_timestamp_range
from tamis.values.intervals import truncate
from tamis.values.zones import Zone


def add_months(zone: Zone, micros: int, months: int) -> int | None:
    """The same clock some months later."""
    return in_timestamp_range(_plus_months(zone, micros, months))


def add_days(zone: Zone, micros: int, more: int) -> int | None:
    """The same clock as many days later as fit, and then the rest of the time."""
    days = truncate(more, MICROS_PER_DAY)
    return in_timestamp_range(_plus_days(zone, micros, days) + more - days)


def add_calendar_interval(zone: Zone, micros: int, months: int, days: int, more: int) -> int | None:
    """The same clock months and then days later, and then the rest of the time, be it more than a day."""
    moved = _plus_months(zone, micros, months) if months else micros
    return in_timestamp_range(_plus_days(zone, moved, days * MICROS_PER_DAY) + more)


def _plus_months(zone: Zone, micros: int, months: int) -> int:
    days, clock = divmod(zone.to_wall(micros), MICROS_PER_DAY)
    return _instant(zone, micros, calendar.plus_months(days, months) * MICROS_PER_DAY + clock)


def _plus_days(zone: Zone, micros: int, days: int) -> int:
    """Some microseconds later by the clock, which are whole days."""
    return _instant(zone, micros, zone.to_wall(micros) + days) if days else micros


def _instant(zone: Zone, before: int, wall: int) -> int:
    """The instant of a wall clock, with the offset that was valid before wherever it still is."""
    offset = zone.offset_at(before // MICROS_PER_SECOND)
    kept = wall - offset * MICROS_PER_SECOND
    return kept if zone.offset_at(kept // MICROS_PER_SECOND) == offset else zone.to_instant(wall)
