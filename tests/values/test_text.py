"""Numbers as text: what is written reads back, and rounding to 32 bits happens once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.values.text import (
    as_float,
    decimal_of_double,
    nearest_float,
    read_boolean,
    read_decimal,
    read_double,
    read_float,
    read_integer,
    write_decimal,
    write_double,
    write_float,
)


@settings(max_examples=60)
@given(st.floats(allow_nan=False))
def test_a_written_double_reads_back(value: float) -> None:
    assert repr(read_double(write_double(value))) == repr(value)


@settings(max_examples=60)
@given(st.floats(allow_nan=False, width=32))
def test_a_written_float_reads_back(value: float) -> None:
    assert repr(read_float(write_float(value))) == repr(value)


@settings(max_examples=60)
@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 38))
def test_a_written_decimal_reads_back(unscaled: int, scale: int) -> None:
    assert read_decimal(write_decimal(unscaled, scale), 38, scale) == unscaled


@settings(max_examples=60)
@given(st.integers(-(2**70), 2**70), st.integers(1, 10**20))
def test_the_nearest_float_of_a_quotient(numerator: int, denominator: int) -> None:
    found = nearest_float(numerator / denominator, numerator, denominator)
    exact = Fraction(numerator, denominator)
    neighbours = [float(np.nextafter(np.float32(found), np.float32(end))) for end in (-math.inf, math.inf)]
    error = abs(Fraction(found) - exact)
    assert all(error <= abs(Fraction(other) - exact) for other in neighbours if math.isfinite(other))
    assert as_float(found) == found


@pytest.mark.parametrize(
    ("text", "value"), [(" T", True), ("yes", True), ("0", False), ("N\n", False), ("on", None), ("", None)]
)
def test_booleans(text: str, value: bool | None) -> None:
    assert read_boolean(text) is value


@pytest.mark.parametrize(
    ("text", "value"), [("-128", -128), ("127", 127), ("128", None), ("+-1", None), ("1e1", None)]
)
def test_integers_within_bounds(text: str, value: int | None) -> None:
    assert read_integer(text, -128, 127) == value


def test_a_double_becomes_the_decimal_of_its_shortest_digits() -> None:
    assert decimal_of_double(0.1, 20, 18) == 10**17
    assert decimal_of_double(math.inf, 38, 0) is None
