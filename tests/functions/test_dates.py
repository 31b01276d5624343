"""Functions of dates and timestamps, by the values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.calendar import FIRST_DAY, LAST_DAY, days_from_civil
from tamis.values.column import column_of
from tamis.values.types import (
    ANY,
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    decimal,
)

LEAP_DAY = days_from_civil(2020, 2, 29)
NEW_YORK = "America/New_York"
MOMENT = 1_583_652_607_123_456
"""2020-03-08 03:30:07.123456 in New York, whose clock went from 02:00 to 03:00 that day."""
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


def call(name: str, *typed: tuple[Type, Any], zone: str = "UTC") -> Any:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(type_, True, value) for type_, value in typed], zone)
    return function.scalar(signature)(*(value for _, value in typed))


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
        ("date_add", ((DATE, LAST_DAY), (INT, 1)), FIRST_DAY),
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
        ("trunc", ((DATE, LEAP_DAY), (STRING, "week")), date(2020, 2, 24)),
        ("trunc", ((DATE, LEAP_DAY), (STRING, "MM")), date(2020, 2, 1)),
        ("trunc", ((DATE, LEAP_DAY), (STRING, "day")), None),
        ("trunc", ((DATE, FIRST_DAY), (STRING, "quarter")), None),
        ("trunc", ((DATE, FIRST_DAY), (STRING, "year")), 2_147_483_475),
        ("last_day", ((DATE, LAST_DAY),), -2_147_483_629),
    ],
)
def test_arithmetic_of_dates(name: str, arguments: tuple[tuple[Type, Any], ...], wanted: int | None) -> None:
    assert call(name, *arguments) == wanted


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
    ("name", "type_", "value", "wanted"),
    [
        ("unix_seconds", TIMESTAMP, -1, -1),
        ("unix_millis", TIMESTAMP_NTZ, LEAST, -9_223_372_036_854_776),
        ("timestamp_seconds", BIGINT, 10**13, None),
        ("timestamp_seconds", DOUBLE, 1e300, GREATEST),
        ("timestamp_seconds", DOUBLE, float("nan"), None),
        ("timestamp_seconds", DOUBLE, -1.9999999, -1_999_999),
        ("timestamp_seconds", decimal(8, 7), 11_234_567, None),
        ("timestamp_seconds", decimal(8, 7), 11_234_560, 1_123_456),
        ("timestamp_seconds", NUMBER, 2, 2_000_000),
        ("timestamp_millis", BIGINT, GREATEST, None),
        ("timestamp_micros", BIGINT, LEAST, LEAST),
        ("to_timestamp", TIMESTAMP, 5, 5),
        ("to_timestamp", BIGINT, GREATEST, GREATEST),
        ("to_timestamp", DOUBLE, 1e300, None),
        ("to_timestamp", DOUBLE, float("inf"), None),
        ("to_timestamp", decimal(8, 7), -11_234_567, -1_123_456),
        ("to_timestamp", decimal(21, 1), 999_999_999_999_999_999_995, -2_537_764_290_115_903_776),
    ],
)
def test_numbers_since_the_epoch(name: str, type_: Type, value: Any, wanted: int | None) -> None:
    assert call(name, (type_, value)) == wanted


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("date_add", (DATE, BIGINT)),
        ("date_add", (DATE, DOUBLE)),
        ("date_sub", (DATE, decimal(2, 1))),
        ("unix_date", (TIMESTAMP,)),
        ("unix_seconds", (DATE,)),
        ("timestamp_millis", (DOUBLE,)),
        ("timestamp_seconds", (STRING,)),
        ("timestamp_seconds", (BOOLEAN,)),
    ],
)
def test_types_that_spark_refuses(name: str, types: tuple[Type, ...]) -> None:
    with pytest.raises(ArgumentError):
        FUNCTIONS[name].resolve([Argument(type_) for type_ in types], "UTC")


def test_narrow_integers_are_days() -> None:
    assert FUNCTIONS["date_add"].resolve([Argument(DATE), Argument(TINYINT)], "UTC").parameters == (DATE, INT)


DAYS = [FIRST_DAY, -1, 0, LEAP_DAY, LAST_DAY, None]
MOMENTS = [LEAST, -1, 0, MOMENT, 1_604_210_500_000_000, GREATEST, None]
BATCHES: list[Any] = [
    *(("trunc", [(DATE, DAYS), (STRING, [level] * 6)]) for level in ("year", "quarter", "week", "none")),
    ("trunc", [(DATE, [LEAP_DAY] * 3), (STRING, ["year", None, "mm"])]),
    *(
        ("date_trunc", [(STRING, [level] * 7), (TIMESTAMP, MOMENTS)])
        for level in ("year", "week", "day", "hour", "second", "millisecond", "none")
    ),
    ("date_trunc", [(STRING, ["year", None, "hour"]), (TIMESTAMP, [MOMENT] * 3)]),
    ("add_months", [(DATE, DAYS), (INT, [-1, 1, None, 12, 1, 1])]),
    ("date_part", [(STRING, ["second"] * 7), (TIMESTAMP, MOMENTS)]),
    ("date_part", [(STRING, ["week"] * 6), (DATE, DAYS)]),
    ("date_part", [(NULL, [None] * 7), (TIMESTAMP, MOMENTS)]),
    (
        "timestamp_millis",
        [(BIGINT, [0, GREATEST, LEAST, 9_223_372_036_854_775, -9_223_372_036_854_775, None])],
    ),
    *((name, [(TIMESTAMP, MOMENTS)]) for name in ("hour", "minute", "second", "unix_seconds")),
    *((name, [(DATE, DAYS)]) for name in ("year", "weekofyear", "last_day", "dayofweek", "unix_date")),
]


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "+05:30"])
@pytest.mark.parametrize(("name", "arguments"), BATCHES)
def test_a_batch_gives_what_the_rows_give(name: str, arguments: list[tuple[Type, list[Any]]], zone: str) -> None:
    function = FUNCTIONS[name]
    described = [Argument(type_, type_ in (STRING, NULL), values[0]) for type_, values in arguments]
    signature = function.resolve(described, zone)
    columns = [
        column_of(type_, values) for type_, (_, values) in zip(signature.parameters, arguments, strict=True)
    ]
    rows = list(zip(*(values for _, values in arguments), strict=True))
    scalar = function.scalar(signature)
    assert function.apply(signature, columns, len(rows)).to_list() == [scalar(*row) for row in rows]
