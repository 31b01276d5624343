"""time_bucket: buckets of months and days follow the clock, as in Spark; and what is refused."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tamis.errors import ConditionError
from tests.functions.values import value
from tests.oracle.expressions import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (
    "1 DAY",
    "7 DAYS",
    "'1 12' DAY TO HOUR",
    "'2 00:30' DAY TO MINUTE",
    "24 HOURS",
    "5 HOURS",
    "15 MINUTES",
    "'0.7' SECOND",
    "1 MONTH",
    "5 MONTHS",
    "1 YEAR",
)
MOMENTS = (
    "2024-03-30T23:59:59",
    "2024-03-31T00:30:00",
    "2024-03-31T01:00:00",
    "2024-03-31T12:00:00",
    "2024-10-26T23:30:00",
    "2024-10-27T00:30:00",
    "2024-10-27T01:30:00",
    "2024-10-28T01:29:59",
    "2024-10-28T01:30:00",
    "1969-12-31T23:59:59",
    "2023-02-28T13:00:00",
    "0002-01-01T00:00:00",
    "9999-12-30T23:59:59",
)
ORIGINS = ("2024-03-30 02:30:00", "2024-01-31 12:00:00.123456", "2024-10-27 02:30:00")


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_bucket_is_that_of_spark(spark: SparkSession, zone: str) -> None:
    moments = [datetime.datetime.fromisoformat(moment) for moment in MOMENTS]
    rows = pa.table({"ts": pa.array([*moments, None], pa.timestamp("us", "UTC"))})
    rows = rows.append_column("wall", rows["ts"].cast(pa.timestamp("us")))
    asked = [f"time_bucket(INTERVAL {size}, {name})" for size in SIZES for name in ("ts", "wall")]
    kinds = (("ts", "TIMESTAMP"), ("wall", "TIMESTAMP_NTZ"))
    asked += [
        f"time_bucket(INTERVAL {size}, {name}, {kind} '{origin}')"
        for size in SIZES
        for origin in ORIGINS
        for name, kind in kinds
    ]
    asked += [
        f"time_bucket({given})" for given in ("NULL, ts", "INTERVAL 1 DAY, ts, NULL", "INTERVAL 1 DAY, NULL")
    ]
    check(spark, {"ts": "timestamp", "wall": "timestamp_ntz"}, rows, asked, zone=zone)


def test_a_bucket_of_minutes() -> None:
    assert value("time_bucket(INTERVAL 15 MINUTES, TIMESTAMP'2024-01-01 11:27') = TIMESTAMP'2024-01-01 11:15'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_bucket('1 day', TIMESTAMP'2024-01-01')", "expected an interval, found string"),
        ("time_bucket(INTERVAL 0 DAYS, TIMESTAMP'2024-01-01')", "expected a constant interval above zero"),
        ("time_bucket(INTERVAL 1 DAY, DATE'2024-01-01')", "expected a timestamp, found date"),
        (
            "time_bucket(INTERVAL 1 DAY, TIMESTAMP'2024-01-01', DATE'2024-01-01')",
            "expected a constant timestamp, found date",
        ),
        ("time_bucket(INTERVAL 1 DAY)", "expected 2 to 3 arguments, found 1"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        value(text)
    assert caught.value.problems[0].message == f"time_bucket: {message}"
