"""Checked arithmetic on numpy arrays: the values, and a mask of the rows that did not overflow.

For the types that it covers, it gives exactly what the scalar forms in `tamis.functions.arithmetic` give. It never
warns and never raises.
"""

from __future__ import annotations

import numpy as np

from tamis.arrays import F64, I64, AnyArray, Mask
from tamis.values.column import NumberValues
from tamis.values.types import BIGINT, INTEGER_BITS, Type, integer_bounds

Floats = AnyArray

_LEAST = np.iinfo(np.int64).min


def integers(operator: str, type_: Type, left: I64, right: I64) -> tuple[I64, Mask]:
    """+ - * % div of integers of the width of `type_`, in 64-bit arrays."""
    with np.errstate(all="ignore"):
        if operator in ("%", "div"):
            return _integer_division(operator, type_, left, right)
        result, fits = {"+": _add, "-": _subtract, "*": _multiply}[operator](left, right)
    if INTEGER_BITS[type_] < 64:
        least, greatest = integer_bounds(type_)
        fits = (result >= least) & (result <= greatest)
    return result, fits


def _add(left: I64, right: I64) -> tuple[I64, Mask]:
    result = left + right
    return result, ((left ^ result) & (right ^ result)) >= 0


def _subtract(left: I64, right: I64) -> tuple[I64, Mask]:
    result = left - right
    return result, ((left ^ right) & (left ^ result)) >= 0


def _multiply(left: I64, right: I64) -> tuple[I64, Mask]:
    result = left * right
    size = np.abs(left.astype(np.float64) * right.astype(np.float64))
    fits = size < 2.0**62
    # The double is rounded, so the few rows near the limit are multiplied exactly.
    for row in np.flatnonzero((size >= 2.0**62) & (size <= 2.0**64)).tolist():
        fits[row] = -(1 << 63) <= int(left[row]) * int(right[row]) < 1 << 63
    return result, fits


def _integer_division(operator: str, type_: Type, left: I64, right: I64) -> tuple[I64, Mask]:
    fits = right != 0
    safe = np.where(fits, right, 1)
    if operator == "%":
        return np.fmod(left, np.where(safe == -1, 1, safe)), fits  # C's remainder; the least integer % -1 traps
    too_far = (left == _LEAST) & (safe == -1) if type_ == BIGINT else np.zeros(len(left), np.bool_)
    safe = np.where(too_far, 1, safe)
    return (left - np.fmod(left, safe)) // safe, fits & ~too_far


def floats(operator: str, left: Floats, right: Floats) -> tuple[Floats, Mask]:
    """+ - * / % pmod of floats, or of doubles; the result has the width of the operands."""
    with np.errstate(all="ignore"):
        if operator in ("+", "-", "*"):
            result = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator](left, right)
            return result, np.ones(len(left), np.bool_)
        fits = right != 0
        if operator == "/":
            return left / right, fits
        result = np.fmod(left, right)
        if operator == "pmod":
            result = np.where(result < 0, np.fmod(result + right, right), result)
        return result, fits


def numbers(operator: str, left: NumberValues, right: NumberValues) -> tuple[NumberValues, Mask]:
    """+ - * % of schemaless numbers: two integers give an integer, anything else a double."""
    integral = left.integral & right.integral
    whole, whole_fits = integers(operator, BIGINT, left.ints, right.ints)
    double, double_fits = floats(operator, as_doubles(left), as_doubles(right))
    return NumberValues(integral, whole, double), np.where(integral, whole_fits, double_fits)


def as_doubles(values: NumberValues) -> F64:
    return np.where(values.integral, values.ints.astype(np.float64), values.doubles)
