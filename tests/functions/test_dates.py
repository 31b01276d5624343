"""Functions of dates and timestamps, by the values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.calendar import GREATEST_DAY, LEAST_DAY, days_from_civil
from tamis.values.types import (
    ANY,
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
)
from tests.functions.calls import call, check_batch

LEAP_DAY = days_from_civil(2020, 2, 29)
NEW_YORK = "America/New_York"
MOMENT = 1_583_652_607_123_456
"""2020-03-08 03:30:07.123456 in New York, whose clock went from 02:00 to 03:00 that day."""
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


def date(year: int, month: int, day: int) -> int:
    return days_from_civil(year, month, day)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("year", 2020),
        ("quarter", 1),
        ("month", 2),
        ("day", 29),
        ("dayofmonth", 29),
        ("dayofweek", 7),
        ("weekday", 5),
        ("dayofyear", 60),
        ("weekofyear", 9),
        ("last_day", LEAP_DAY),
        ("unix_date", 18_321),
        ("to_date", LEAP_DAY),
    ],
)
def test_parts_of_a_leap_day(name: str, wanted: int) -> None:
    assert call(name, (DATE, LEAP_DAY)) == wanted


@pytest.mark.parametrize(("name", "wanted"), [("hour", 3), ("minute", 30), ("second", 7)])
def test_parts_of_a_timestamp_are_those_of_the_zone_s_clock(name: str, wanted: int) -> None:
    assert call(name, (TIMESTAMP, MOMENT), zone=NEW_YORK) == wanted


def test_a_timestamp_without_zone_is_its_own_clock() -> None:
    assert call("hour", (TIMESTAMP_NTZ, MOMENT), zone=NEW_YORK) == 7


@pytest.mark.parametrize("given", [TIMESTAMP, DATE, STRING, ANY, NULL])
def test_anything_else_is_cast_to_a_timestamp(given: Type) -> None:
    assert FUNCTIONS["hour"].resolve([Argument(given)], "UTC").parameters == (TIMESTAMP,)


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("date_add", ((DATE, LEAP_DAY), (INT, 1)), date(2020, 3, 1)),
        ("date_add", ((DATE, GREATEST_DAY), (INT, 1)), LEAST_DAY),
        ("date_sub", ((DATE, LEAP_DAY), (INT, -(2**31))), -2_147_465_327),
        ("datediff", ((DATE, date(9999, 12, 31)), (DATE, date(1, 1, 1))), 3_652_058),
        ("add_months", ((DATE, date(2020, 1, 31)), (INT, 1)), LEAP_DAY),
        ("add_months", ((DATE, LEAP_DAY), (INT, 12)), date(2021, 2, 28)),
        ("add_months", ((DATE, LEAP_DAY), (INT, 2**31 - 1)), None),
        ("make_date", ((INT, 2020), (INT, 2), (INT, 29)), LEAP_DAY),
        ("make_date", ((INT, 2020), (INT, 2), (INT, 30)), None),
        ("make_date", ((INT, 2020), (INT, 13), (INT, 1)), None),
        ("make_date", ((INT, 5881580), (INT, 7), (INT, 12)), None),
        ("next_day", ((DATE, LEAP_DAY), (STRING, "Mon")), date(2020, 3, 2)),
        ("next_day", ((DATE, LEAP_DAY), (STRING, "Tues")), None),
        ("last_day", ((DATE, GREATEST_DAY),), -2_147_483_629),
    ],
)
def test_arithmetic_of_dates(name: str, arguments: tuple[tuple[Type, Any], ...], wanted: int | None) -> None:
    assert call(name, *arguments) == wanted


@pytest.mark.parametrize(
    ("field", "source", "wanted"),
    [("YEAR", DATE, 2020), ("dow", DATE, 7), ("dow_iso", DATE, 6), ("yearofweek", DATE, 2020)],
)
def test_date_part_of_dates(field: str, source: Type, wanted: int) -> None:
    assert call("date_part", (STRING, field), (source, LEAP_DAY)) == wanted


def test_date_part_gives_seconds_with_their_fraction() -> None:
    signature = FUNCTIONS["date_part"].resolve([Argument(STRING, True, "second"), Argument(TIMESTAMP)], "UTC")
    assert signature.returns == decimal(8, 6)
    assert FUNCTIONS["date_part"].scalar(signature)("second", MOMENT) == 7_123_456


def test_date_part_of_no_field_is_null_and_of_an_unknown_one_refused() -> None:
    assert call("date_part", (NULL, None), (TIMESTAMP, MOMENT)) is None
    with pytest.raises(ArgumentError, match="'century' is not a field"):
        call("date_part", (STRING, "century"), (TIMESTAMP, MOMENT))
    with pytest.raises(ArgumentError, match="a constant string"):
        FUNCTIONS["date_part"].resolve([Argument(STRING), Argument(DATE)], "UTC")


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("date_add", (DATE, BIGINT)),
        ("date_add", (DATE, DOUBLE)),
        ("date_sub", (DATE, decimal(2, 1))),
        ("unix_date", (TIMESTAMP,)),
    ],
)
def test_types_that_spark_refuses(name: str, types: tuple[Type, ...]) -> None:
    with pytest.raises(ArgumentError):
        FUNCTIONS[name].resolve([Argument(type_) for type_ in types], "UTC")


def test_narrow_integers_are_days() -> None:
    assert FUNCTIONS["date_add"].resolve([Argument(DATE), Argument(TINYINT)], "UTC").parameters == (DATE, INT)


DAYS = [LEAST_DAY, -1, 0, LEAP_DAY, GREATEST_DAY, None]
MOMENTS = [LEAST, -1, 0, MOMENT, 1_604_210_500_000_000, GREATEST, None]
BATCHES: list[Any] = [
    ("add_months", [(DATE, DAYS), (INT, [-1, 1, None, 12, 1, 1])]),
    ("date_part", [(STRING, ["second"] * 7), (TIMESTAMP, MOMENTS)]),
    ("date_part", [(STRING, ["week"] * 6), (DATE, DAYS)]),
    ("date_part", [(NULL, [None] * 7), (TIMESTAMP, MOMENTS)]),
    *((name, [(TIMESTAMP, MOMENTS)]) for name in ("hour", "minute", "second")),
    *((name, [(DATE, DAYS)]) for name in ("year", "weekofyear", "last_day", "dayofweek", "unix_date")),
]


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "+05:30"])
@pytest.mark.parametrize(("name", "arguments"), BATCHES)
def test_a_batch_gives_what_the_rows_give(name: str, arguments: list[tuple[Type, list[Any]]], zone: str) -> None:
    check_batch(name, arguments, zone)
