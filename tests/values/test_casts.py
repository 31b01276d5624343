"""Casts of single values; the expected values are Spark's."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.values.casts import can_cast, caster, is_order_preserving, to_text
from tamis.values.types import (
    ANY,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    array,
    parse_type,
)
from tests.values.samples import ATOMS, samples

DAY = 86_400_000_000
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


def cast(value: Any, source: str, target: str, zone: str = "UTC") -> Any:
    return caster(parse_type(source), parse_type(target), zone)(value)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (" 12\x7f", "int", 12),
        ("+1", "int", 1),
        ("1.0", "int", None),
        ("-", "int", None),
        ("128", "tinyint", None),
        ("0" * 30 + "1", "int", 1),
        ("9" * 5000, "bigint", None),
        ("\u0661", "int", None),
        ("YES", "boolean", True),
        ("0", "boolean", False),
        ("on", "boolean", None),
        ("1d", "double", 1.0),
        ("1 d", "double", None),
        ("1_0", "double", None),
        ("0x1p4", "double", 16.0),
        ("0x10", "double", None),
        ("1\x7f", "double", None),
        ("-INF", "double", -math.inf),
        ("1e400", "double", math.inf),
        ("1.00000005960464477539062500001", "float", 1.0000001192092896),
        ("1.000000059604644775390625", "float", 1.0),
        ("0x1.00000100000001p0", "float", 1.0000001192092896),
        ("1.005", "decimal(5,2)", 101),
        ("-1.005", "decimal(5,2)", -101),
        ("999.995", "decimal(5,2)", None),
        ("\u0661\u0662", "decimal(5,0)", 12),
        ("0e2147483647", "decimal(5,0)", 0),
        ("1e-2147483647", "decimal(5,0)", 0),
        ("1e-2147483648", "decimal(5,0)", None),
        ("0." + "9" * 5000, "decimal(5,0)", 1),
        ("2020-2-9", "date", 18301),
        ("2020-01-01T99", "date", 18262),
        ("2019-02-29", "date", None),
        ("5881580-07-12", "date", None),
        ("2020-01-01 1", "timestamp", 1577840400000000),
        ("2020-01-01T", "timestamp", None),
        ("2020-01-01 00:00:00.1234567Z", "timestamp", 1577836800123456),
        ("2020-01-01 00:00:00 GMT+1:3", "timestamp", 1577833020000000),
        ("2020-01-01 00:00:00 utc", "timestamp", None),
        ("2020-01-01 24:00:00", "timestamp", None),
        ("294247-01-10 04:00:54.775807Z", "timestamp", GREATEST),
        ("294247-01-10 04:00:54.775808Z", "timestamp", None),
        ("2020-01-01 00:00:00+01:00", "timestamp_ntz", 1577836800000000),
        ("2020-01-01 00:00:00+99:00", "timestamp_ntz", None),
        ("12:30", "timestamp_ntz", None),
        ("epoch", "timestamp", None),
        ("é", "binary", b"\xc3\xa9"),
    ],
)
def test_strings_are_read_as_spark_reads_them(text: str, target: str, expected: Any) -> None:
    assert cast(text, "string", target) == expected


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        (1e7, "double", "1.0E7"),
        (9999999.0, "double", "9999999.0"),
        (0.001, "double", "0.001"),
        (0.00099, "double", "9.9E-4"),
        (-0.0, "double", "-0.0"),
        (5e-324, "double", "4.9E-324"),
        (2e23, "double", "2.0E23"),
        (math.nan, "double", "NaN"),
        (-math.inf, "float", "-Infinity"),
        (0.10000000149011612, "float", "0.1"),
        (-5, "decimal(3,2)", "-0.05"),
        (0, "decimal(38,38)", "0." + "0" * 38),
        (True, "boolean", "true"),
        (-719529, "date", "-0001-12-31"),
        (2932897, "date", "+10000-01-01"),
        (1_500_000, "timestamp_ntz", "1970-01-01 00:00:01.5"),
        (LEAST, "timestamp", "-290308-12-21 19:59:05.224192"),
        ([1, None, 3], "array<int>", "[1, null, 3]"),
        ((None, ["x"]), "struct<a:int,b:array<string>>", "{null, [x]}"),
        (b"AB", "binary", "AB"),
    ],
)
def test_values_are_written_as_spark_writes_them(value: Any, source: str, expected: str) -> None:
    assert to_text(value, parse_type(source), "UTC") == expected


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (127.9, "double", "tinyint", 127),
        (128.0, "double", "tinyint", None),
        (math.nan, "double", "int", None),
        (9.223372036854775807e18, "double", "bigint", GREATEST),
        (9.3e18, "double", "bigint", None),
        (16777217, "int", "float", 16777216.0),
        ((1 << 60) + (1 << 36) + 1, "bigint", "float", 2.0**60 + 2.0**37),
        (-199, "decimal(5,2)", "int", -1),
        (21474836469999999999999999999, "decimal(38,19)", "int", 2147483647),
        (0.10000000149011612, "float", "decimal(20,18)", 100000001490116120),
        (1e300, "double", "decimal(38,0)", None),
        (12345, "decimal(5,2)", "decimal(4,1)", 1235),
        (99999, "decimal(5,2)", "decimal(4,1)", None),
        (True, "boolean", "decimal(3,2)", 100),
        (True, "boolean", "decimal(2,2)", None),
        (GREATEST, "bigint", "timestamp", GREATEST),
        (-12345678, "decimal(8,7)", "timestamp", -1234567),
        (10**38 - 1, "decimal(38,38)", "timestamp", 999_999),
        (1e15, "double", "timestamp", None),
        (-1, "timestamp", "bigint", -1),
        (9007199254740993, "timestamp", "decimal(18,8)", 900719925474099300),
        (300_000_000, "timestamp", "tinyint", None),
        (106_751_992, "date", "timestamp", None),
        (["1", "x"], "array<string>", "array<int>", [1, None]),
        (("x", "2"), "struct<a:string,b:string>", "struct<c:int,d:int>", (None, 2)),
    ],
)
def test_values_are_cast_as_spark_casts_them(value: Any, source: str, target: str, expected: Any) -> None:
    assert cast(value, source, target) == expected


@pytest.mark.parametrize(
    ("zone", "day", "expected"),
    [
        ("America/Sao_Paulo", 17839, 1541300400000000),  # 2018-11-04 began at 01:00
        ("Pacific/Apia", 15338, 1325239200000000),  # 2011-12-30 did not exist
    ],
)
def test_a_day_begins_after_the_gap_that_swallows_its_midnight(zone: str, day: int, expected: int) -> None:
    assert cast(day, "date", "timestamp", zone) == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("int", "timestamp", True),
        ("boolean", "timestamp", False),
        ("timestamp", "boolean", False),
        ("date", "int", False),
        ("int", "binary", False),
        ("timestamp_ntz", "bigint", False),
        ("array<int>", "string", True),
        ("struct<a:int>", "struct<b:bigint>", True),
        ("struct<a:int>", "struct<a:int,b:int>", False),
        ("array<date>", "array<int>", False),
    ],
)
def test_the_pairs_that_spark_allows(source: str, target: str, expected: bool) -> None:
    assert can_cast(parse_type(source), parse_type(target)) is expected


def test_schemaless_values_are_cast_by_their_own_kind() -> None:
    values = [True, 7, 2.5, "12", "x", [1], {"a": 1}, 1 << 70]
    assert [caster(ANY, INT, "UTC")(value) for value in values] == [1, 7, 2, 12, None, None, None, None]
    assert [caster(ANY, DATE, "UTC")(value) for value in (1, "1970-01-02", True)] == [None, 1, None]
    assert caster(ANY, DOUBLE, "UTC")(10**400) == math.inf
    assert caster(ANY, array(INT), "UTC")([1, "2", None, {}]) == [1, 2, None, None]
    assert caster(array(ANY), STRING, "UTC")(["a", None, {"b": 1}]) == "[a, null, null]"


@pytest.mark.parametrize("source", ATOMS, ids=str)
def test_an_order_preserving_cast_is_total_and_monotone(source: Type) -> None:
    for target in ATOMS:
        if source != target and is_order_preserving(source, target):
            values = sorted(value for value in samples(source) if str(value) != "nan")
            results = [caster(source, target, "America/Sao_Paulo")(value) for value in values]
            assert None not in results
            assert results == sorted(results), target


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(10,1)", False),
        ("decimal(5,2)", "decimal(4,1)", False),  # 999.99 rounds to 1000.0
        ("decimal(5,2)", "decimal(5,2)", True),
        ("decimal(5,2)", "decimal(3,0)", False),
        ("decimal(5,2)", "decimal(4,0)", True),
        ("bigint", "float", True),
        ("date", "timestamp", False),
        ("timestamp", "date", False),
        ("timestamp", "timestamp_ntz", False),
        ("string", "int", False),
    ],
)
def test_which_casts_preserve_the_order(source: str, target: str, expected: bool) -> None:
    assert is_order_preserving(parse_type(source), parse_type(target)) is expected


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/New_York"])
def test_dates_have_timestamps_up_to_the_least_and_the_greatest_timestamp(zone: str) -> None:
    to_timestamp = caster(DATE, TIMESTAMP, zone)
    least, greatest = -(-LEAST // DAY), GREATEST // DAY
    for end, outwards in ((least, -1), (greatest, 1)):
        has_one = [to_timestamp(end + outwards * days) is not None for days in (-1, 0, 1)]
        # A zone may be off by part of a day, which decides the last one.
        assert has_one in ([True, True, False], [True, False, False])
