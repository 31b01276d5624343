"""Casts between numbers that always succeed, for functions that compute in more than one type.

These are the implicit casts of Spark's typing rules; the analyser inserts every other cast around an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tamis.values.types import DOUBLE, NUMBER, Type, is_decimal, is_fractional, is_integral, is_numeric


def widening(source: Type, target: Type) -> Callable[[Any], Any] | None:
    """The function from values of `source` to equal values of `target`; None if some value has none."""
    if source == target or (is_integral(source) and is_integral(target)):
        return _same
    if target == NUMBER and is_numeric(source):
        return widening(source, DOUBLE) if is_decimal(source) else _same
    if target == DOUBLE and is_numeric(source):
        if is_decimal(source):
            unit = 10**source.scale
            return lambda value: value / unit  # Python rounds the quotient of two ints correctly
        return _same if is_fractional(source) else float
    if is_decimal(target) and (is_decimal(source) or is_integral(source)):
        shift = target.scale - source.scale
        if shift >= 0:
            factor = 10**shift
            return lambda value: value * factor
    return None


def _same(value: Any) -> Any:
    return value
