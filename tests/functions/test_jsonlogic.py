"""Conversions of JavaScript: numbers, texts and truth of every kind of value."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tamis.functions.jsonlogic import js_float, js_number, js_text, js_truth
from tamis.values.types import ANY, DOUBLE, INT, STRING
from tests.functions.calls import results


@pytest.mark.parametrize(
    ("value", "number", "start", "text", "truth"),
    [
        (None, 0.0, None, "", False),
        (True, 1.0, None, "true", True),
        (7, 7.0, 7.0, "7", True),
        (-0.0, -0.0, -0.0, "0", False),
        (math.nan, None, None, "NaN", False),
        (math.inf, math.inf, math.inf, "Infinity", True),
        (1e21, 1e21, 1e21, "1e+21", True),
        (123456789012345680000.0, 1.2345678901234568e20, 1.2345678901234568e20, "123456789012345680000", True),
        (1e-6, 1e-6, 1e-6, "0.000001", True),
        (-1.5e-7, -1.5e-7, -1.5e-7, "-1.5e-7", True),
        ("", 0.0, None, "", False),
        ("\u00a0-Infinity\n", -math.inf, -math.inf, "\u00a0-Infinity\n", True),
        ("0b11", 3.0, 0.0, "0b11", True),
        ("1_0", None, 1.0, "1_0", True),
        ("5.e1x", None, 50.0, "5.e1x", True),
        ([], None, None, None, False),
        ([0], None, None, None, True),
        ({}, None, None, None, True),
    ],
)
def test_conversions(value: Any, number: Any, start: Any, text: Any, truth: bool) -> None:
    assert (js_number(value), js_float(value), js_text(value), js_truth(value)) == (number, start, text, truth)
    assert results("js_truth", [ANY], [(value,)]) == [truth]


def test_parts_and_extremes() -> None:
    rows = [("abc", -2, 1), ("abc", -9, 2), ("abc", 1, -1), ("abc", 5, 1), (None, 0, 1)]
    assert results("js_substr", [STRING, INT, INT], rows) == ["b", "ab", "b", "", None]
    assert results("js_min", [DOUBLE, DOUBLE], [(1.0, 2.0), (1.0, None)]) == [1.0, None]
    assert results("js_max", [DOUBLE, DOUBLE], [(1.0, 2.0)]) == [2.0]
    assert results("js_text", [ANY, STRING], [(None, "null"), (5, "null")]) == ["null", "5"]
