"""Functions of dates and timestamps give what Spark gives, over their whole range, in zones of all kinds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument
from tamis.values.column import column_of
from tamis.values.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type, decimal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST, LAST = -(1 << 31), (1 << 31) - 1
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
RANDOM = random.Random(7)

DATES = [FIRST, FIRST + 1, FIRST + 40, FIRST + 400, LAST, LAST - 1, LAST - 40, LAST - 400, -1, 0, 1]
DATES += [-719_528, -719_529, 18_262, 18_320, 18_321, 18_322, 18_627, 18_628, 11_016, -25_508]
DATES += [RANDOM.randint(-800_000, 60_000) for _ in range(2000)]
DATES += [RANDOM.randint(FIRST, LAST) for _ in range(1000)]
SECONDS = [RANDOM.randint(-4 * 10**9, 5 * 10**9) for _ in range(2500)]
SECONDS += [RANDOM.randint(-9_223_372_036_000, 9_223_372_036_000) for _ in range(500)]
# Around changes of New York's and Lord Howe's clocks, and the day that Apia left out.
SECONDS += [
    change + shift
    for change in (1_583_650_800, 1_604_210_400, -2_717_650_800, 1_586_012_400, 1_601_737_200, 1_325_239_200)
    for shift in range(-90_000, 90_000, 1799)
]
MOMENTS = [LEAST, GREATEST, -1, 0, 1, *(second * 1_000_000 + RANDOM.randrange(10**6) for second in SECONDS)]
ZONES = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "America/Sao_Paulo",
    "+05:30",
]

IN = {DATE: "date_from_unix_date({})", TIMESTAMP: "timestamp_micros({})"}
OUT = {DATE: "unix_date({})", TIMESTAMP: "unix_micros({})"}
ARROW = {DATE: pa.int32(), INT: pa.int32(), TIMESTAMP: pa.int64(), BIGINT: pa.int64()}
ARROW |= {STRING: pa.string(), DOUBLE: pa.float64()}


@pytest.fixture
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", str(before))


def check(
    spark: SparkSession,
    types: tuple[Type, ...],
    rows: list[tuple[Any, ...]],
    names: list[str],
    *,
    zone: str = "UTC",
) -> None:
    """Scalar and vector forms of the functions equal Spark's results on all rows."""
    lists = list(zip(*rows, strict=True))
    table = pa.table(
        {f"a{at}": pa.array(each, ARROW[type_]) for at, (each, type_) in enumerate(zip(lists, types, strict=True))}
    )
    arguments = ", ".join(IN.get(type_, "{}").format(f"a{at}") for at, type_ in enumerate(types))
    signatures = [FUNCTIONS[name].resolve([Argument(type_) for type_ in types], zone) for name in names]
    expressions = [
        OUT.get(signature.returns, "{}").format(f"{name}({arguments})") + f" AS r{at}"
        for at, (name, signature) in enumerate(zip(names, signatures, strict=True))
    ]
    found = spark.createDataFrame(table).selectExpr(*expressions).toArrow().to_pydict()
    columns = [column_of(type_, each) for type_, each in zip(types, lists, strict=True)]
    for at, (name, signature) in enumerate(zip(names, signatures, strict=True)):
        scalar, wanted = FUNCTIONS[name].scalar(signature), found[f"r{at}"]
        results = [scalar(*row) for row in rows]
        triples = zip(rows, results, wanted, strict=True)
        assert [(name, row, result, want) for row, result, want in triples if result != want] == []
        assert FUNCTIONS[name].apply(signature, columns, len(rows)).to_list() == wanted


def test_parts_of_dates(spark: SparkSession) -> None:
    names = "year quarter month day dayofmonth dayofweek weekday dayofyear weekofyear last_day unix_date"
    check(spark, (DATE,), [(date,) for date in [*DATES, None]], names.split())
    check(spark, (INT,), [(date,) for date in [*DATES, None]], ["date_from_unix_date"])


def test_sums_and_differences_of_days(spark: SparkSession) -> None:
    numbers = [FIRST, LAST, -1, 0, 1, 365, -100_000, 7 * 10**8, None]
    pairs = [*itertools.product(DATES[:300], numbers), (None, 1)]
    check(spark, (DATE, INT), pairs, "date_add date_sub dateadd".split())
    check(spark, (DATE, DATE), pairs, "datediff date_diff".split())


def test_sums_of_months(spark: SparkSession) -> None:
    pairs = [*itertools.product(DATES[10:], [0, 1, -1, 12, 25, -1201, None])]
    inside = [pair for pair in pairs if abs(pair[0]) < LAST - 40_000]  # beyond, Spark raises
    check(spark, (DATE, INT), inside, ["add_months"])


def test_truncated_dates(spark: SparkSession) -> None:
    levels = [*"year YYYY yy Quarter month mon MM week day dd hour decade".split(), "", " year", None]
    dates = [date for date in DATES if date >= FIRST + 400]  # before, a quarter raises
    check(spark, (DATE, STRING), list(itertools.product(dates[:250], levels)), ["trunc"])
    check(spark, (DATE, STRING), [(FIRST, level) for level in ("year", "month", "week")], ["trunc"])


def test_next_day_of_the_week(spark: SparkSession) -> None:
    names = "SU sun Sunday MO mon monday TU tue tuesday we wed wednesday th thu thursday fr fri friday"
    check(
        spark,
        (DATE, STRING),
        list(itertools.product([*DATES[:120], None], [*names.split(), "Sa", "SAT", "saturday"])),
        ["next_day"],
    )


def test_made_dates(spark: SparkSession) -> None:
    years = [-5_877_000, -401, -400, -1, 0, 4, 1582, 1900, 2000, 2019, 2020, 5_881_000]
    rows = [
        *itertools.product(years, range(1, 13), [1, 15, 28]),
        (2020, 2, 29),
        (None, 1, 1),
        (2020, None, 1),
    ]
    check(spark, (INT, INT, INT), rows, ["make_date"])


@pytest.mark.parametrize("zone", ZONES, indirect=True)
def test_parts_of_the_wall_clock(spark: SparkSession, zone: str) -> None:
    names = "hour minute second unix_seconds unix_millis unix_micros".split()
    check(spark, (TIMESTAMP,), [(moment,) for moment in [*MOMENTS, None]], names, zone=zone)


@pytest.mark.parametrize("zone", ZONES, indirect=True)
def test_truncated_timestamps(spark: SparkSession, zone: str) -> None:
    levels = "year Quarter mm WEEK day dd hour minute second millisecond microsecond decade".split()
    moments = [moment for moment in MOMENTS if moment != LEAST]  # Spark raises
    for level in levels:
        check(
            spark,
            (STRING, TIMESTAMP),
            [(level, moment) for moment in [*moments, None]],
            ["date_trunc"],
            zone=zone,
        )
    mixed = list(itertools.product([*levels, "", None], RANDOM.sample(moments, 100)))
    check(spark, (STRING, TIMESTAMP), mixed, ["date_trunc"], zone=zone)


@pytest.mark.parametrize("zone", ["America/New_York"], indirect=True)
def test_fields_of_extract(spark: SparkSession, zone: str) -> None:
    dated = "year y years yr yrs yearofweek quarter qtr month mon mons months week w weeks day d days".split()
    dated += "dayofweek dow dayofweek_iso dow_iso doy".split()
    timed = "hour h hours hr hrs minute m min mins minutes second s sec seconds secs".split()
    for type_, values, fields in ((DATE, DATES, dated), (TIMESTAMP, MOMENTS, timed)):
        table = pa.table({"a": pa.array(values, ARROW[type_])})
        source = IN[type_].format("a")
        expressions = [f"date_part('{field}', {source}) AS {field}" for field in fields]
        found = spark.createDataFrame(table).selectExpr(*expressions).toArrow()
        function = FUNCTIONS["date_part"]
        for field in fields:
            signature = function.resolve([Argument(STRING, True, field), Argument(type_)], zone)
            scalar = function.scalar(signature)
            wanted = found.column(field).to_pylist()
            if signature.returns.name == "decimal":
                wanted = [int(value.scaleb(6)) for value in wanted]
            assert [scalar(field, value) for value in values] == wanted
            columns = [column_of(STRING, [field] * len(values)), column_of(type_, values)]
            assert function.apply(signature, columns, len(values)).to_list() == wanted


def test_parts_of_timestamps_without_zone(spark: SparkSession) -> None:
    rows = pa.table({"a": pa.array(MOMENTS, pa.int64())})
    names = "hour minute second unix_seconds unix_millis unix_micros".split()
    moment = "CAST(timestamp_micros(a) AS timestamp_ntz)"  # the session is in UTC
    found = spark.createDataFrame(rows).selectExpr(*(f"{name}({moment}) AS {name}" for name in names)).toArrow()
    for name in names:
        signature = FUNCTIONS[name].resolve([Argument(TIMESTAMP_NTZ)], "America/New_York")
        column = column_of(TIMESTAMP_NTZ, MOMENTS)
        wanted = found.column(name).to_pylist()
        assert [FUNCTIONS[name].scalar(signature)(each) for each in MOMENTS] == wanted
        assert FUNCTIONS[name].apply(signature, [column], len(column)).to_list() == wanted


def test_timestamps_of_numbers(spark: SparkSession) -> None:
    large = GREATEST // 1_000_000
    whole = [0, 1, -1, large, -large, *(RANDOM.randint(-large, large) for _ in range(500)), None]
    check(
        spark,
        (BIGINT,),
        [(each,) for each in whole],
        "timestamp_millis timestamp_micros to_timestamp".split(),
    )
    check(spark, (BIGINT,), [(each,) for each in whole], ["timestamp_seconds"])
    check(spark, (BIGINT,), [(LEAST,), (GREATEST,)], "to_timestamp timestamp_micros".split())
    doubles = [0.0, 1.9999999, -1.9999999, 0.1, *(RANDOM.uniform(-1e12, 1e12) for _ in range(500)), None]
    doubles += [RANDOM.uniform(-10, 10) for _ in range(500)]
    check(spark, (DOUBLE,), [(each,) for each in doubles], "timestamp_seconds to_timestamp".split())
    outside = [1e300, -1e300, 9223372036854.775, -9223372036855.0, float("nan"), float("inf")]
    check(spark, (DOUBLE,), [(each,) for each in outside], ["timestamp_seconds"])


@pytest.mark.parametrize("scale", [0, 2, 6, 9])
def test_timestamps_of_decimals(spark: SparkSession, scale: int) -> None:
    type_ = decimal(18, scale)
    unscaled = [
        0,
        10**9,
        -(10**9),
        *(RANDOM.randint(-(10**9), 10**9) * 10 ** max(0, scale - 6) for _ in range(200)),
    ]
    table = pa.table({"a": pa.array(unscaled, pa.int64())})
    # An exact way to a decimal: divide by a power of ten in a wider type.
    number = f"CAST(CAST(a AS decimal(38,{scale})) / CAST('{10**scale}' AS decimal(10,0)) AS decimal(18,{scale}))"
    names = ["timestamp_seconds", "to_timestamp"]
    found = spark.createDataFrame(table).selectExpr(
        *(f"unix_micros({name}({number})) AS {name}" for name in names)
    )
    results = found.toArrow()
    for name in names:
        scalar = FUNCTIONS[name].scalar(FUNCTIONS[name].resolve([Argument(type_)], "UTC"))
        assert [scalar(each) for each in unscaled] == results.column(name).to_pylist()
