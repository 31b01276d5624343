"""Numbers for people: short, without exponents, whatever their size."""

from __future__ import annotations

import math

import pytest

from tamis.numerals import duration_text, number_text, share_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (1, "1"), (3.24, "3.2"), (9.99, "10"), (12.5, "12"), (99.6, "100"), (149.7, "150")),
        *((12_400.4, "12,400"), (2e9, "2,000,000,000"), (-3.24, "-3.2"), (0.00042, "0.00042"), (3e-300, "0")),
        *((math.inf, "inf"), (math.nan, "nan")),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number_text(value) == text


def test_as_many_digits_as_asked_for() -> None:
    assert [number_text(value, 3) for value in (1.253, 12.53, 1_253, 0.001253)] == [
        "1.25",
        "12.5",
        "1,253",
        "0.00125",
    ]


@pytest.mark.parametrize("power", range(-15, 16))
def test_no_size_gets_an_exponent(power: int) -> None:
    for value in (9.96 * 10.0**power, -(10.0**power)):
        for text in (number_text(value), number_text(value, 6), duration_text(abs(value)), share_text(abs(value))):
            assert "e" not in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.00042, "0.42 ms"),
        (0.038, "38 ms"),
        (0.9996, "1 s"),
        (1.253, "1.25 s"),
        (59.96, "60 s"),
        (250, "4 min 10 s"),
        (11_100, "3 h 5 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (0.0002, "0.02%"),
        (0.041, "4.1%"),
        (0.5, "50%"),
        (0.9961, "99.6%"),
        (0.9994, "99.9%"),
        (1, "100%"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert share_text(share) == text
