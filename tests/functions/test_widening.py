"""Widening casts between numbers keep every value."""

from __future__ import annotations

from typing import Any

import pytest

from tamis.functions.widening import widening
from tamis.values.types import parse_type


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        ("int", "bigint", 7, 7),
        ("int", "double", 7, 7.0),
        ("float", "double", 0.5, 0.5),
        ("decimal(5,2)", "double", 125, 1.25),
        ("decimal(5,2)", "decimal(9,4)", 125, 12_500),
        ("int", "decimal(12,2)", 7, 700),
    ],
)
def test_values_stay_equal(source: str, target: str, value: Any, expected: Any) -> None:
    cast = widening(parse_type(source), parse_type(target))
    assert cast is not None
    assert repr(cast(value)) == repr(expected)


@pytest.mark.parametrize(
    ("source", "target"), [("double", "int"), ("decimal(5,2)", "decimal(5,1)"), ("string", "double")]
)
def test_other_casts_are_not_widening(source: str, target: str) -> None:
    assert widening(parse_type(source), parse_type(target)) is None
