"""Patterns of dates: what is read, written and refused."""

from __future__ import annotations

import pytest

from tamis.errors import PatternError
from tamis.values.date_patterns import parse_pattern, read_moment, write_moment

MICROS = 1_000_000
MARCH_5 = 19787 * 86_400 * MICROS


def read(pattern: str, text: str) -> int | None:
    found = read_moment(parse_pattern(pattern, reading=True), text)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("pattern", "text", "wall"),
    [
        ("yyyy-MM-dd", "2024-03-05", MARCH_5),
        ("yyyy-M-d", "2024-3-5", MARCH_5),
        ("yyyyMMdd", "20240305", MARCH_5),
        ("yy-MM-dd", "24-03-05", MARCH_5),
        ("MMM d, yyyy", "mar 5, 2024", MARCH_5),
        ("yyyy-MM-dd-DDD", "2024-03-05-065", MARCH_5),
        ("yyyy-dd-DDD", "2024-05-065", MARCH_5),
        ("yyyy-MM-DDD", "2024-04-065", None),
        ("yyyy-DDD", "2024-065", MARCH_5),
        ("yyyy-MM-dd hh a", "2024-03-05 12 AM", MARCH_5),
        ("yyyy-MM-dd[ HH]", "2024-03-05 01", MARCH_5 + 3600 * MICROS),
        ("yyyy-MM-dd", "2024-3-5", None),
        ("yyyy-MM-dd", "2024-02-30", None),
        ("yyyy-MM-dd", " 2024-03-05", None),
        ("HH", "24", None),
    ],
)
def test_reading(pattern: str, text: str, wall: int | None) -> None:
    assert read(pattern, text) == wall


def test_a_zone_in_the_text() -> None:
    found = read_moment(parse_pattern("yyyy-MM-dd'T'HHXXX", reading=True), "2024-03-05T00+01:00")
    assert found is not None
    wall, zone = found
    assert wall == MARCH_5
    assert zone is not None
    assert zone.offset_at(0) == 3600


def test_writing() -> None:
    elements = parse_pattern("EEE yyyy-MM-dd hh:mm:ss.SSS a XXX 'o''clock'", reading=False)
    wall = MARCH_5 + (13 * 3600 + 62) * MICROS + 120_000
    assert write_moment(elements, wall, 3600, "+01:00") == "Tue 2024-03-05 01:01:02.120 PM +01:00 oclock"


@pytest.mark.parametrize(
    ("pattern", "at"), [("yyyy w", 5), ("EEE yyyy", 0), ("yyyy'", 4), ("y{", 1), ("yyyyyyyy", 0), ("DD", 0)]
)
def test_what_is_refused_has_its_place(pattern: str, at: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern(pattern, reading=True)
    assert caught.value.position == at
