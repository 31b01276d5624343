"""Numbers are written as people read them."""

from __future__ import annotations

import pytest

from tamis.lab.measuring.numbers import number, spread


@pytest.mark.parametrize(
    ("value", "text"), [(436123.4, "436123"), (7.8123, "7.81"), (0.01234, "0.0123"), (0, "0"), (99.96, "100")]
)
def test_numbers_are_written_without_exponents(value: float, text: str) -> None:
    assert number(value) == text


def test_a_spread_begins_with_the_median() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2 (1-3)"


def test_a_spread_below_zero_has_no_dash_that_reads_as_a_sign() -> None:
    assert spread([-3.0, -1.0, -2.0]) == "-2 (-3 to -1)"
