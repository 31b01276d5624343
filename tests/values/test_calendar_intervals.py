"""Intervals of months, days and microseconds: their bounds, and their text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.values.calendar_intervals import (
    fitting,
    negate,
    read_calendar_interval,
    scale,
    write_calendar_interval,
)

INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
SECOND, DAY = 1_000_000, 86_400_000_000


@given(INTS, INTS, LONGS)
def test_what_is_written_is_read_again(months: int, days: int, micros: int) -> None:
    length = (months, days, micros)
    assert read_calendar_interval(write_calendar_interval(length)) == length


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 month 2 days", (1, 2, 0)),
        ("  Interval -1 YEAR + 3 weeks", (-12, 21, 0)),
        ("-.5 second", (0, 0, -SECOND // 2)),
        ("- . second", (0, 0, 0)),
        ("5. seconds", (0, 0, 5 * SECOND)),
        ("1.1234567 second", (0, 0, 1_123_456)),
        ("9223372036854775807 microseconds", (0, 0, 2**63 - 1)),
        *((text, None) for text in (". second", "1.1234567890 second", "1.5 days", "1month", "1 month2 days")),
        *((text, None) for text in ("", "interval", "interval1 day", "--1 day", "1", "1 day 2", "1 quarter")),
        *((text, None) for text in ("9223372036854775808 microseconds", "2147483648 days", "178956971 years")),
    ],
)
def test_reading(text: str, length: tuple[int, int, int] | None) -> None:
    assert read_calendar_interval(text) == length


def test_parts_have_signs_of_their_own() -> None:
    assert write_calendar_interval((-13, 2, -90 * 60 * SECOND - 1)) == (
        "-1 years -1 months 2 days -1 hours -30 minutes -0.000001 seconds"
    )
    assert write_calendar_interval((0, 0, 0)) == "0 seconds"


def test_what_leaves_its_bits_is_null() -> None:
    assert fitting(2**31, 0, 0) is None
    assert negate((0, -(2**31), 0)) is None
    assert negate((1, -2, 3)) == (-1, 2, -3)


@pytest.mark.parametrize(
    ("length", "factor", "divide", "result"),
    [
        ((13, 1, 3_600 * SECOND), 1.5, False, (19, 1, DAY // 2 + 5_400 * SECOND)),
        ((13, 1, 0), 2.0, True, (6, 0, DAY // 2)),
        ((1, 1, 1), 0.0, True, None),
        ((0, 0, 3), 2.0, True, (0, 0, 2)),
        ((0, 0, -3), 2.0, True, (0, 0, -1)),
        ((0, 0, 1), math.inf, False, (0, 0, 0)),
        ((1, 0, 0), math.inf, False, None),
        ((1, 1, 1), math.nan, False, (0, 0, 0)),
    ],
)
def test_scaling(
    length: tuple[int, int, int],
    factor: float,
    divide: bool,
    result: tuple[int, int, int] | None,
) -> None:
    assert scale(length, factor, divide=divide) == result
