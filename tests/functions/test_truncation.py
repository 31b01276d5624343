"""trunc and date_trunc, by the values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.values.calendar import GREATEST_DAY, LEAST_DAY, days_from_civil
from tamis.values.types import (
    DATE,
    STRING,
    TIMESTAMP,
    Type,
)
from tests.functions.calls import call, check_batch

LEAP_DAY = days_from_civil(2020, 2, 29)
NEW_YORK = "America/New_York"
MOMENT = 1_583_652_607_123_456
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("day", "level", "wanted"),
    [
        (LEAP_DAY, "week", days_from_civil(2020, 2, 24)),
        (LEAP_DAY, "MM", days_from_civil(2020, 2, 1)),
        (LEAP_DAY, "day", None),
        (LEAST_DAY, "quarter", None),
        (LEAST_DAY, "year", 2_147_483_475),
    ],
)
def test_truncation_of_dates(day: int, level: str, wanted: int | None) -> None:
    assert call("trunc", (DATE, day), (STRING, level)) == wanted


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        ("year", 1_577_854_800),
        ("quarter", 1_577_854_800),
        ("MONTH", 1_583_038_800),
        ("week", 1_583_125_200),
        ("dd", 1_583_643_600),
        ("hour", 1_583_650_800),
        ("minute", 1_583_652_600),
        ("second", 1_583_652_607),
        ("decade", None),
        (" year", None),
    ],
)
def test_truncation_by_the_zone_s_clock(level: str, wanted: int | None) -> None:
    found = call("date_trunc", (STRING, level), (TIMESTAMP, MOMENT), zone=NEW_YORK)
    assert found == (None if wanted is None else wanted * 1_000_000)


@pytest.mark.parametrize("hour", [1_604_206_800, 1_604_210_400])
def test_an_hour_that_comes_twice_stays_the_one_it_was(hour: int) -> None:
    found = call("date_trunc", (STRING, "hour"), (TIMESTAMP, (hour + 100) * 1_000_000), zone=NEW_YORK)
    assert found == hour * 1_000_000


@pytest.mark.parametrize("level", ["year", "week", "day", "hour", "second", "millisecond"])
def test_truncation_out_of_the_range_is_null(level: str) -> None:
    assert call("date_trunc", (STRING, level), (TIMESTAMP, LEAST)) is None


DAYS = [LEAST_DAY, -1, 0, LEAP_DAY, GREATEST_DAY, None]
MOMENTS = [LEAST, -1, 0, MOMENT, 1_604_210_500_000_000, GREATEST, None]
BATCHES: list[Any] = [
    *(("trunc", [(DATE, DAYS), (STRING, [level] * 6)]) for level in ("year", "quarter", "week", "none")),
    ("trunc", [(DATE, [LEAP_DAY] * 3), (STRING, ["year", None, "mm"])]),
    *(
        ("date_trunc", [(STRING, [level] * 7), (TIMESTAMP, MOMENTS)])
        for level in ("year", "week", "day", "hour", "second", "millisecond", "none")
    ),
    ("date_trunc", [(STRING, ["year", None, "hour"]), (TIMESTAMP, [MOMENT] * 3)]),
]


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "+05:30"])
@pytest.mark.parametrize(("name", "arguments"), BATCHES)
def test_a_batch_gives_what_the_rows_give(name: str, arguments: list[tuple[Type, list[Any]]], zone: str) -> None:
    check_batch(name, arguments, zone)
