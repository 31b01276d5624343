"""Numbers since the epoch and timestamps, by the values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    NUMBER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal,
)
from tests.functions.calls import call, check_batch

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


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
    ("name", "type_"),
    [
        ("unix_seconds", DATE),
        ("timestamp_millis", DOUBLE),
        ("timestamp_seconds", STRING),
        ("timestamp_seconds", BOOLEAN),
    ],
)
def test_types_that_spark_refuses(name: str, type_: Type) -> None:
    with pytest.raises(ArgumentError):
        FUNCTIONS[name].resolve([Argument(type_)], "UTC")


@pytest.mark.parametrize(
    ("name", "type_", "values"),
    [
        ("timestamp_millis", BIGINT, [0, GREATEST, LEAST, 9_223_372_036_854_775, -9_223_372_036_854_775, None]),
        ("unix_seconds", TIMESTAMP, [LEAST, -1, 0, GREATEST, None]),
    ],
)
def test_a_batch_gives_what_the_rows_give(name: str, type_: Type, values: list[Any]) -> None:
    check_batch(name, [(type_, values)], "UTC")
