"""Moments in other time zones: values that Spark gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from_utc_timestamp(TIMESTAMP'2022-03-23', 'Asia/Tokyo') = TIMESTAMP'2022-03-23 09:00:00'",
            True,
        ),
        ("to_utc_timestamp(TIMESTAMP'2022-03-23 00:00:00', 'Asia/Tokyo') = TIMESTAMP'2022-03-22 15:00:00'", True),
        ("to_utc_timestamp(TIMESTAMP'2022-03-23 00:00:00', 'Nowhere') IS NULL", True),
        (
            "convert_timezone('Europe/Brussels', 'America/Los_Angeles', TIMESTAMP_NTZ'2022-03-23 00:00:00') "
            "= TIMESTAMP_NTZ'2022-03-22 16:00:00'",
            True,
        ),
        ("months_between(DATE'2020-03-31', DATE'2020-02-29')", 1.0),
        ("months_between(DATE'2020-03-15', DATE'2020-02-29')", 0.5483871),
        ("months_between(DATE'2020-03-15', DATE'2020-02-29', FALSE)", 1 - 14 / 31),
    ],
)
def test_values_of_spark(text: str, expected: Any) -> None:
    assert value(text) == expected
