"""Moments moved by months and days follow the wall clock of their zone."""

from __future__ import annotations

from tamis.functions.clock_moves import add_calendar_interval, add_days, add_months
from tamis.values.datetimes import read_timestamp
from tamis.values.zones import zone_of

ZONE = "America/New_York"
HOUR, DAY = 3_600_000_000, 86_400_000_000


def instant(text: str) -> int:
    found = read_timestamp(text, ZONE)
    assert found is not None
    return found


def test_a_day_across_a_change_of_the_clock_keeps_the_clock() -> None:
    start = instant("2024-03-09 12:00")
    assert add_days(zone_of(ZONE), start, DAY) == instant("2024-03-10 12:00") == start + 23 * HOUR
    assert add_months(zone_of(ZONE), start, 1) == instant("2024-04-09 12:00")


def test_months_come_before_days_and_hours_are_exact() -> None:
    start = instant("2024-01-31 12:00")
    moved = add_calendar_interval(zone_of(ZONE), start, 1, 10, 24 * HOUR)
    assert moved == instant("2024-03-10 12:00") + 24 * HOUR


def test_what_leaves_the_range_is_null() -> None:
    assert add_months(zone_of("UTC"), 0, 12 * 400_000) is None
    assert add_calendar_interval(zone_of("UTC"), 0, 0, 0, 2**63) is None
