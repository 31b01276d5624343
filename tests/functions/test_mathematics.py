"""Mathematics: the values that are exact, and what is undefined."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.functions.values import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ln(0)", None),
        ("ln(1)", 0.0),
        ("log(1, 8)", math.inf),
        ("log1p(-1)", None),
        ("exp(1000)", math.inf),
        ("power(0, -1)", math.inf),
        ("power(2, 10)", 1024.0),
        ("cbrt(-27)", -3.0),
        ("rint(2.5)", 2.0),
        ("cot(0)", math.inf),
        ("factorial(20)", 2432902008176640000),
        ("factorial(21)", None),
        ("width_bucket(5.3, 0.2, 10.6, 5)", 3),
        ("width_bucket(10, 10, 0, 5)", 1),
        ("width_bucket(1, 0, 10, 0)", None),
        ("nanvl(double('NaN'), 5)", 5.0),
    ],
)
def test_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("text", ["power(-8, 0.5)", "acosh(0.5)", "asin(2)", "power(1, double('inf'))"])
def test_what_is_undefined_is_nan(text: str) -> None:
    assert math.isnan(value(text))
