"""Intervals as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.values.intervals import read_interval, truncate, unit_of, write_interval
from tamis.values.types import interval, parse_type

MONTHS = [interval(0, 0), interval(0, 1), interval(1, 1)]
DAYS = [interval(first, last) for first in range(2, 6) for last in range(first, 6)]


@given(st.sampled_from(MONTHS + DAYS), st.integers(-(2**31), 2**31 - 1))
def test_what_is_written_is_read_again(type_, count) -> None:  # type: ignore[no-untyped-def]
    unit = {0: 12, 1: 1, 2: 86_400_000_000, 3: 3_600_000_000, 4: 60_000_000, 5: 1}[type_.scale]
    value = truncate(count, unit) if type_.precision < 2 else count * unit
    if abs(value) < 2**63:
        assert read_interval(write_interval(value, type_), type_) == value


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("1 02:03:04.5", "interval day to second", 93_784_500_000),
        ("-1-11", "interval year to month", -23),
        ("interval '2' hour", "interval hour", 7_200_000_000),
        ("1-12", "interval year to month", None),
        ("1 24:00:00", "interval day to second", None),
        ("1 day", "interval day", None),
        ("99999999999999999999", "interval day", None),
        ("INTERVAL '1' DAY", "interval hour", None),
    ],
)
def test_reading(text: str, type_: str, value: int | None) -> None:
    assert read_interval(text, parse_type(type_)) == value


def test_units_may_be_plural() -> None:
    assert unit_of("Weeks") == (2, 7 * 86_400_000_000)
    assert unit_of("fortnight") is None
