"""What one value means in a declared type: golden values, and Spark's `from_json` as the judge."""

from __future__ import annotations

import datetime as dt
import enum
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.events import EventBatch, EventType
from tamis.events.conversion import (
    MAX_DEPTH,
    clean,
    converter,
    decimal_unscaled,
    iso_timestamp,
    plain,
)
from tamis.events.json_text import json_decoder, json_parser
from tamis.values.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.UTC


class Colour(str, enum.Enum):  # noqa: UP042 - its str() is not its value
    RED = "red"


def convert(value: Any, type_: str, zone: str = "UTC") -> Any:
    return converter(parse_type(type_), zone)(value)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (3, "int", 3),
        (3.0, "int", None),
        (True, "int", None),
        ("3", "int", None),
        (Decimal(3), "int", None),
        (np.int8(3), "int", 3),
        (128, "tinyint", None),
        (-128, "tinyint", -128),
        (2**31, "int", None),
        (2**63, "bigint", None),
        (1, "boolean", None),
        ("true", "boolean", None),
        (3, "double", 3.0),
        (10**400, "double", math.inf),
        (-(10**400), "double", -math.inf),
        ("-INF", "double", -math.inf),
        ("INF", "double", None),
        ("1.5", "double", None),
        (True, "double", None),
        (0.1, "float", 0.10000000149011612),
        (1e39, "float", math.inf),
        (9007199791611905, "float", 9007200328482816.0),
        (Decimal("1.00000005960464477539062500001"), "float", 1.0000001192092896),
        (Decimal("1e-999999999"), "float", 0.0),
        (1.005, "decimal(8,2)", 101),
        (-0.005, "decimal(8,2)", -1),
        (1234567.995, "decimal(8,2)", None),
        (math.nan, "decimal(8,2)", None),
        (Decimal("1e999999999"), "decimal(8,2)", None),
        (Decimal("1e-999999999"), "decimal(8,2)", 0),
        ("1,234.5", "decimal(8,2)", 123450),
        (" 12 ", "decimal(8,2)", None),
        ("1_000", "decimal(8,2)", None),
        (5, "string", "5"),
        (10**30, "string", "1" + "0" * 30),
        (10**4000, "string", "Infinity"),
        (12345678.99, "string", "1.234567899E7"),
        (True, "string", "true"),
        ([1, {"b": "é", "c": None, "d": 1e2}], "string", '[1,{"b":"é","c":null,"d":100.0}]'),
        (dt.date(2026, 1, 1), "string", "2026-01-01"),
        (b"x", "string", None),
        (Colour.RED, "string", "red"),
        ("\ud800", "string", "?"),
        (b"x", "binary", b"x"),
        (bytearray(b"x"), "binary", b"x"),
        ("TWE=", "binary", b"Ma"),
        ("TWE", "binary", None),
        ("é", "binary", None),
        (dt.date(1970, 1, 2), "date", 1),
        ("1970-1-2", "date", 1),
        ("2026-02-30", "date", None),
        (5, "date", None),
        (dt.datetime(1970, 1, 2, tzinfo=UTC), "date", 1),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), "timestamp", 0),
        (5, "timestamp", 5_000_000),
        (2**62, "timestamp", None),
        (1.5, "timestamp", None),
        (True, "timestamp", None),
        (dt.datetime(1970, 1, 1, 0, 0, 1), "timestamp_ntz", 1_000_000),
        (dt.datetime(1970, 1, 1, tzinfo=UTC), "timestamp_ntz", None),
        ("2026-01-01T10:00:00Z", "timestamp_ntz", None),
        ("1970-01-01 00:00:01", "timestamp_ntz", 1_000_000),
        (np.datetime64("1970-01-01T00:00:01"), "timestamp_ntz", 1_000_000),
        (np.datetime64("NaT"), "timestamp_ntz", None),
        (np.timedelta64(1, "ns"), "bigint", None),
        ([1, None], "array<int>", [1, None]),
        ([1, "x"], "array<int>", None),
        ((1, 2), "array<int>", [1, 2]),
        (np.array([1, 2]), "array<int>", [1, 2]),
        ([[1], ["x"]], "array<array<int>>", None),
        ([{"x": "y"}, {"x": 1}], "array<struct<x:int>>", [(None,), (1,)]),
        ({"x": "y", "z": 5}, "struct<x:int,z:int>", (None, 5)),
        ({"X": 1}, "struct<x:int>", (None,)),
        ({}, "struct<x:int>", (None,)),
        ([1], "struct<x:int>", None),
        ({"x": 1}, "array<int>", None),
        (object(), "string", None),
    ],
)
def test_a_value_is_converted_or_null(value: Any, type_: str, expected: Any) -> None:
    result = convert(value, type_)
    assert (result, type(result)) == (expected, type(expected))


def test_a_wall_clock_is_read_in_the_zone_of_the_type() -> None:
    assert convert(dt.datetime(1970, 1, 1, 1), "timestamp", "Europe/Paris") == 0
    assert convert("1970-01-01T01:00:00", "timestamp", "Europe/Paris") == 0
    assert convert(dt.date(1970, 1, 2), "timestamp", "Europe/Paris") == 23 * 3_600_000_000


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**63, float(2**63)),
        (10**400, math.inf),
        (Decimal("1.5"), 1.5),
        (b"x", None),
        (dt.date(2026, 1, 1), "2026-01-01"),
        (dt.datetime(2026, 1, 1, 10), "2026-01-01T10:00:00"),
        (dt.datetime(2026, 1, 1, 10, 0, 0, 5, UTC), "2026-01-01T10:00:00.000005Z"),
        (("a", 1), ["a", 1]),
        ({"a": {"b": Decimal(1)}, 3: "dropped"}, {"a": {"b": 1.0}}),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Colour.RED, "red"),
        (object(), None),
    ],
)
def test_plain_is_the_json_meaning(value: Any, expected: Any) -> None:
    result = plain(value)
    assert (result, type(result)) == (expected, type(expected))


def test_values_too_deep_are_null_instead_of_an_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    result = plain(deep)
    for _ in range(MAX_DEPTH):
        (result,) = result
    assert result is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("\ud800x", "?x"), ("\ud83d\ude00", "😀"), ("\udc00\ud800", "??"), ("é", "é")],
)
def test_lone_surrogates_are_replaced_as_in_spark(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_the_least_timestamp_has_a_text() -> None:
    assert iso_timestamp(-(1 << 63), zoned=True) == "-290308-12-21T19:59:05.224192Z"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**8), max_value=10**8))
def test_decimals_round_half_up(number: Decimal) -> None:
    result = decimal_unscaled(number, 8, 2)
    doubled = abs(number) * 200
    expected = (int(doubled) + 1) // 2 * (1 if number >= 0 else -1)
    assert result == (expected if abs(expected) < 10**8 else None)


TYPES = (
    "string tinyint smallint int bigint float double decimal(8,2) decimal(38,10) boolean date timestamp "
    "timestamp_ntz binary array<int> array<string> array<array<int>> array<struct<x:int>> struct<x:int> "
    "struct<x:string,y:array<double>> array<decimal(8,2)>"
).split()
TOKENS = """
0 1 -1 -0 127 -128 -129 32767 32768 2147483647 2147483648 99999999999 9223372036854775807
9223372036854775808 16777217 9007199791611905 123456789012345678901234567890 1.0 3.0 -0.0 1.5 1e2 1E400
-1e400 1e-400 0.1 1e38 1e39 3.4e39 1e-3 123.455 123.456 -0.005 0.004999999999999999999999 12345678.99
1234567.995 999999.994 999999.995 1.00000005960464477539062500001 0.12345678901234567890
1.7976931348623159e308 1234567890123456789012345678.12345678905 12345678901234567890123456789012345678.5
NaN Infinity -Infinity true false null "12" "1.5" "" "abc" "true" "NaN" "Infinity" "+Infinity"
"-Infinity" "INF" "+INF" "-INF" "nan" "1,234.5" "1e2" "+5" ".5" "5." "1e" "1_0" "2026-01-01" "2026-1-1"
"2026-01" "2026" "2026-02-30" "-0044-03-15" "+12345-01-01" "2026-01-01T10:00:00" "2026-01-01T10:00:00Z"
"2026-01-01T10:00:00.123456+02:00" "2026-01-01T10:00:00.1234567" "2026-01-01T25:00:00" "2026-01-01T"
"2026-03-29T02:30:00" "2026-10-25T02:30:00" "1900-01-01T00:00:00" "epoch" "2026-01-01T10:00:00UTC"
"2026-01-01T10:00:00PST" "1/2/2026" "TWFu" "TWE=" "TWE" "TQ==" "TW+/" "TW-_" "???" "\\ud800"
"\\ud83d\\ude00" "a\\u0000b" "é" [] [1] [1,null] [1,2,"x"] [[1],[2]] [[1],["x"]] [[1],2] [1.25,3] [true]
{} {"x":1} {"x":"y"} {"X":1} {"x":null,"y":[1]} {"x":[1,{"y":2.50}],"y":[1,"a"]} [{"x":1},{"x":"y"},{}]
[{"x":1},2]
""".split()
DIFFERENT = {  # Spark wraps, falls back to the formats of its version 1, or writes quotes around NaN
    *((token, "tinyint") for token in ("128",)),
    *((token, "timestamp") for token in ("9223372036854775807", "9007199791611905")),
    *((token, "date") for token in ('"12"', '"+5"')),
    *(
        (token, "string")
        for token in ("NaN", "Infinity", "-Infinity", "1E400", "-1e400", "1.7976931348623159e308")
    ),
}


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris"])
def test_json_values_mean_what_from_json_makes_of_them(spark: SparkSession, zone: str) -> None:
    from pyspark.sql import functions as sql

    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        lines = [f'{{"a":{token}}}' for token in TOKENS]
        frame = spark.createDataFrame(list(enumerate(lines)), "row int, line string").coalesce(1)
        columns = [sql.from_json("line", f"a {type_}")["a"].alias(f"c{at}") for at, type_ in enumerate(TYPES)]
        table = frame.select("row", *columns).orderBy("row").toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    differences = []
    for at, type_ in enumerate(TYPES):
        event_type = EventType.from_dict({"time_zone": zone, "attributes": {"a": type_}})
        theirs = EventBatch.of(table.select([f"c{at}"]).rename_columns(["a"]), event_type)
        parse = json_parser(json_decoder(event_type))
        ours = EventBatch.of([parse(line.encode()) for line in lines], event_type)
        pairs = zip(TOKENS, ours.column(("a",)).to_list(), theirs.column(("a",)).to_list(), strict=True)
        differences += [
            (token, type_, one, other)
            for token, one, other in pairs
            if repr(one) != repr(other) and (token, type_) not in DIFFERENT
        ]
    assert differences == [], differences
