"""Intervals of months, days and microseconds have the type and, in every row, the value that Spark gives them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.language.condition import compile_condition
from tests.oracle.expressions import check, lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ATTRIBUTES = {
    "day": "date",
    "at": "timestamp",
    "wall": "timestamp_ntz",
    "n": "int",
    "d": "double",
    "s": "string",
    "price": "decimal(6,3)",
}
TEXTS = [
    "1 month 2 days",
    "interval -1 YEAR 25 hours 1.5 seconds",
    "- 1 week +  .25 second",
    "1 millisecond -2 microseconds",
    "1.5 days",
    "1month",
    "INTERVAL",
    None,
]
CLOCKS = [
    *("2024-01-31 10:00", "2024-03-09 07:30", "2024-11-02 05:30", "2024-11-03 05:30"),
    *("1582-10-10 00:00:00.5", "2024-02-29 23:59:59.999999", "1970-01-01", None),
]


def rows() -> pa.Table:
    clocks = pc.cast(pa.array(CLOCKS), pa.timestamp("us"))
    return pa.table(
        {
            "day": clocks.cast(pa.date32()),
            "at": pc.assume_timezone(clocks, "UTC"),
            "wall": clocks,
            "n": pa.array([0, 1, -3, 14, 7, None, -1, 2], pa.int32()),
            "d": [0.5, -1.25, 3.0, 1e-3, None, 7.0, 0.1, 1.0],
            "s": TEXTS,
            "price": pc.cast(pa.array([1.5, -2.25, 0.001, None, 99.999, 0.0, 3.0, 7.5]), pa.decimal128(6, 3)),
        }
    )


LENGTHS = (
    *("make_interval(0, 1, 0, 2, 3)", "make_interval(n, n, n, n, n, n, 1.5)", "make_interval(0, n)"),
    *("try_cast(s AS INTERVAL)", "make_interval(0, 0, 0, 1, 24)", "-make_interval(1, 1, 1, 1, -1)"),
)
EXPRESSIONS = """
make_interval()
make_interval(n)
make_interval(n, d, '3')
make_interval(n, 2147483647) => try_make_interval(n, 2147483647)
try_make_interval(2147483647, n)
try_make_interval(n, n, n, n, n, n, price)
s::INTERVAL => try_cast(s AS INTERVAL)
CAST(CAST(make_interval(n, n, n, n) AS STRING) AS INTERVAL)
try_cast(s AS INTERVAL) IS NULL
s::INTERVAL IS NOT NULL => try_cast(s AS INTERVAL) IS NOT NULL
+make_interval(n)
make_interval(n, 1) + make_interval(0, n, 0, n)
make_interval(n, 1) - make_interval(0, n, 0, n)
make_interval(1, 1, 1, 1, 1, 1, 1.5) * n
n * make_interval(1, 1, 1, 1, 1, 1, 1.5)
make_interval(1, 1, 1, 1, 1, 1, 1.5) * d
make_interval(1, 1, 1, 1, 1, 1, 1.5) * price
make_interval(1, 1, 1, 1, 1, 1, 1.5) * '0.7'
make_interval(1, 1, 1, 1, 1, 1, 1.5) * NULL
make_interval(1, 1, 1, 1, 1, 1, 1.5) / d
make_interval(1, 1, 1, 1, 1, 1, 1.5) / n => try_divide(make_interval(1, 1, 1, 1, 1, 1, 1.5), n)
try_divide(make_interval(1, 1, 1, 1, 1, 1, 1.5), price)
coalesce(try_cast(s AS INTERVAL), make_interval(n))
if(n > 0, make_interval(n), NULL)
CASE WHEN n > 0 THEN make_interval(n) ELSE try_cast(s AS INTERVAL) END
array(make_interval(n), try_cast(s AS INTERVAL))
array(make_interval(n), try_cast(s AS INTERVAL))[1]
named_struct('a', make_interval(n)).a
transform(array(n, 2), x -> make_interval(x))
length(make_interval(n, n, n))
make_interval(n, n) || s
make_interval(0, n) LIKE '%months'
typeof(make_interval(n))
to_json(named_struct('a', make_interval(n), 'b', INTERVAL 1 DAY * n))
hash(make_interval(n, n, n, n, n, n, 1.5))
xxhash64(try_cast(s AS INTERVAL), n)
hash(INTERVAL 1 MONTH, INTERVAL 1 DAY)
day + make_interval(0, n, 0, n)
day - make_interval(0, n, 0, n)
make_interval(0, n) + day
day + make_interval(0, 0, 0, 0, n) => try_add(day, make_interval(0, 0, 0, 0, n))
'2024-01-31' + make_interval(0, n, 0, 0, n)
make_interval(0, n) + '2024-01-31 10:00:00'
at + make_interval(0, n) > wall
INTERVAL -'-1' DAY
INTERVAL - '-1 02:00' DAY TO MINUTE
INTERVAL 1 DAY * n DIV INTERVAL 5 HOURS
INTERVAL 1 YEAR DIV (INTERVAL 1 MONTH * n) => INTERVAL 1 YEAR DIV nullif(INTERVAL 1 MONTH * n, INTERVAL 0 MONTH)
CAST(price AS INTERVAL DAY)
CAST(price AS INTERVAL DAY TO SECOND)
CAST(price AS INTERVAL SECOND) = INTERVAL 1.5 SECONDS
CAST(price AS INTERVAL YEAR) = INTERVAL 18 MONTHS
CAST(price AS INTERVAL MONTH)
"""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_calendar_intervals(spark: SparkSession, zone: str) -> None:
    asked = lines(EXPRESSIONS)
    for moment, length in itertools.product(("at", "wall"), LENGTHS):
        asked += [f"{moment} + {length}", f"{moment} - {length}", f"{length} + {moment}"]
    for part, length in itertools.product(("YEAR", "MONTH", "DAYS", "HOUR", "MINUTE", "SECOND"), LENGTHS):
        asked.append(f"EXTRACT({part} FROM {length})")
    check(spark, ATTRIBUTES, rows(), asked, zone=zone)


REFUSED = (
    *("make_interval(n) = make_interval(n)", "make_interval(n) <=> NULL", "make_interval(n) < make_interval(2)"),
    *("make_interval(n) IN (make_interval(2))", "greatest(make_interval(n), make_interval(2)) IS NULL"),
    *("array_contains(array(make_interval(n)), make_interval(1))", "abs(make_interval(n)) IS NULL"),
    *(
        "make_interval(n) + INTERVAL 1 MONTH IS NULL",
        "make_interval(n) - day IS NULL",
        "make_interval(n) % 2 IS NULL",
    ),
    *("coalesce(make_interval(n), '1 month') IS NULL", "CAST(make_interval(n) AS INT) IS NULL"),
    *(
        "CAST(INTERVAL 1 MONTH AS INTERVAL) IS NULL",
        "NULL + make_interval(n) IS NULL",
        "try_make_interval() IS NULL",
    ),
    *("make_interval(n = 1) IS NULL", "at + INTERVAL 1 MONTH 2 DAYS > at", "at + INTERVAL '1 month 2 days' > at"),
    *(
        "INTERVAL -'+1' DAY IS NULL",
        "INTERVAL '1  2' DAY TO HOUR IS NULL",
        "EXTRACT(WEEK FROM make_interval(n)) = 1",
    ),
    *("INTERVAL 1 MONTH DIV INTERVAL 1 DAY = 1", "array_sort(array(make_interval(n))) IS NULL"),
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_spark_refuses_is_refused(spark: SparkSession, text: str) -> None:
    from pyspark.errors import PySparkException

    ddl = ", ".join(f"{name} {type_}" for name, type_ in ATTRIBUTES.items())
    with pytest.raises(PySparkException):
        spark.createDataFrame([], ddl).filter(text)
    with pytest.raises(ConditionError):
        compile_condition(text, EventType.of({"attributes": ATTRIBUTES}))
