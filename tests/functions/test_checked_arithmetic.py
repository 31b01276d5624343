"""Checked arithmetic equals Python's exact integers, and knows which rows do not fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tamis.functions.checked_arithmetic import floats, integers, numbers
from tamis.values.column import column_of
from tamis.values.types import BIGINT, NUMBER, SMALLINT, integer_bounds

LEAST, GREATEST = integer_bounds(BIGINT)
EDGES = [0, 1, -1, 2, -3, 181, 182, 2**31, 3037000500, 2**62, LEAST, LEAST + 1, GREATEST, GREATEST - 1]


def exact(operator: str, left: int, right: int) -> int | None:
    if operator in ("%", "div"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "div" else left - right * quotient
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


@pytest.mark.parametrize("type_", [SMALLINT, BIGINT], ids=str)
@pytest.mark.parametrize("operator", ["+", "-", "*", "%", "div"])
def test_integers_equal_exact_arithmetic_where_they_fit(operator: str, type_: Any) -> None:
    least, greatest = integer_bounds(type_)
    edges = [value for value in EDGES if least <= value <= greatest]
    pairs = [(left, right) for left in edges for right in edges]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    values, fits = integers(operator, type_, left, right)
    for row, pair in enumerate(pairs):
        expected = exact(operator, *pair)
        assert bool(fits[row]) == (expected is not None and least <= expected <= greatest), pair
        if fits[row]:
            assert values[row] == expected, pair


def test_floats_divide_and_take_remainders_as_java() -> None:
    left, right = np.array([1.0, -7.5, math.inf, 1.0]), np.array([4.0, 2.0, 2.0, 0.0])
    values, fits = floats("/", left, right)
    assert (values[:3].tolist(), fits.tolist()) == ([0.25, -3.75, math.inf], [True, True, True, False])
    values, _ = floats("%", left, right)
    assert repr(values[:3].tolist()) == "[1.0, -1.5, nan]"
    values, _ = floats("pmod", left, right)
    assert repr(values[:3].tolist()) == "[1.0, 0.5, nan]"


def test_schemaless_integers_stay_integers() -> None:
    left, right = column_of(NUMBER, [2**62, 2**62, 1.5]), column_of(NUMBER, [1, 2**62, 2])
    values, fits = numbers("+", left.values, right.values)
    assert values.integral.tolist() == [True, True, False]
    assert fits.tolist() == [True, False, True]
    assert (values.ints[0], values.doubles[2]) == (2**62 + 1, 3.5)
