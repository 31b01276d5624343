"""Functions of numbers: rounding, sign, sqrt, isnan, greatest, least, average.

Only functions whose results are defined to the last bit: exp, ln, pow and the like are absent, because Java and
the C library round them differently. Rounding a double rounds its shortest decimal digits, as Spark does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from tamis.functions.arithmetic import numeric_parameter
from tamis.functions.comparison import compare_columns
from tamis.functions.registry import (
    FUNCTIONS,
    Argument,
    ArgumentError,
    Function,
    Signature,
    Vector,
    always,
    check_count,
    register,
)
from tamis.functions.rows import Scalar, apply_strict, select_rows
from tamis.functions.unify import require_type
from tamis.functions.widening import widening
from tamis.values.casts import round_half_up
from tamis.values.coercion import unpromoted_type
from tamis.values.column import Column, NumberValues
from tamis.values.order import compare
from tamis.values.text import as_float
from tamis.values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    NULL,
    NUMBER,
    STRING,
    Type,
    decimal,
    integer_bounds,
    integral_as_decimal,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
)

_LEAST, _GREATEST = integer_bounds(BIGINT)
_MANY_DIGITS = 400
"""More digits than any double has, before or after the point."""

Quotient = Callable[[int, int], int]
"""Division of an integer by a power of ten, in some rounding mode."""


def _half_even(dividend: int, divisor: int) -> int:
    whole, rest = divmod(dividend, divisor)
    return whole + int(2 * rest > divisor or (2 * rest == divisor and whole % 2 == 1))


def _floor(dividend: int, divisor: int) -> int:
    return dividend // divisor


def _ceil(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def _digits(arguments: Sequence[Argument]) -> int | None:
    """The second argument of round and the like, which is constant; None if it is NULL."""
    if len(arguments) == 1:
        return 0
    argument = arguments[1]
    if not argument.is_constant or not (is_integral(argument.type) or argument.type == NULL):
        msg = "expected a constant whole number of digits"
        raise ArgumentError(msg, 1)
    value: int | None = argument.value
    return value


def _rounded_decimal(type_: Type, digits: int) -> Type:
    """The type of a decimal rounded to `digits` after the point."""
    whole = type_.precision - type_.scale + 1
    if digits < 0:
        return decimal(min(MAX_PRECISION, max(whole, 1 - digits)), 0)
    scale = min(type_.scale, digits)
    return decimal(min(MAX_PRECISION, whole + scale), scale)


def _resolve_round(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    parameter = numeric_parameter(arguments, 0)
    digits = _digits(arguments)
    returns = _rounded_decimal(parameter, digits or 0) if is_decimal(parameter) else parameter
    return Signature((parameter, *(_own(argument) for argument in arguments[1:])), returns, zone)


def _own(argument: Argument) -> Type:
    return INT if argument.type == NULL else argument.type


def _bind_round(divide: Quotient) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        type_ = signature.parameters[0]
        if is_decimal(type_):
            return _decimal_rounding(divide, type_, signature.returns)
        bounds = integer_bounds(type_) if is_integral(type_) else (_LEAST, _GREATEST)

        def scalar(value: Any, digits: int = 0) -> Any:
            if isinstance(value, int):
                whole = _rounded_integer(divide, value, digits)
                return whole if bounds[0] <= whole <= bounds[1] else None
            found = _rounded_double(divide, value, digits)
            return as_float(found) if type_ == FLOAT else found

        return scalar

    return bind


def _rounded_integer(divide: Quotient, value: int, digits: int) -> int:
    if digits >= 0:
        return value
    unit: int = 10 ** min(-digits, _MANY_DIGITS)
    return divide(value, unit) * unit


def _rounded_double(divide: Quotient, value: float, digits: int) -> float:
    if not math.isfinite(value):
        return value
    parts = Decimal(repr(value)).as_tuple()
    assert isinstance(parts.exponent, int)
    if digits >= -parts.exponent:
        return value + 0.0  # Java's BigDecimal has no negative zero
    if digits < -_MANY_DIGITS:
        return 0.0
    unscaled = int("".join(map(str, parts.digits))) * (-1 if parts.sign else 1)
    return float(f"{divide(unscaled, 10 ** (-parts.exponent - digits))}e{-digits}")


def _decimal_rounding(divide: Quotient, type_: Type, returns: Type) -> Scalar:
    greatest = 10**returns.precision - 1

    def scalar(value: int, digits: int = 0) -> int | None:
        if digits >= type_.scale:
            found = value
        else:
            digits = max(digits, -_MANY_DIGITS)
            found = divide(value, 10 ** (type_.scale - digits)) * 10 ** max(-digits, 0)
        return found if abs(found) <= greatest else None

    return scalar


def _resolve_floor(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    parameter = numeric_parameter(arguments, 0)
    if len(arguments) == 1:
        if is_decimal(parameter):
            whole = parameter.precision - parameter.scale + (1 if parameter.scale else 0)
            return Signature((parameter,), decimal(whole, 0), zone)
        if arguments[0].type == NULL or is_integral(parameter):
            parameter = BIGINT
        if parameter == FLOAT:
            parameter = DOUBLE  # as Spark does, so that rewrites of CAST(integer AS FLOAT) apply here, too
        return Signature((parameter,), BIGINT, zone)
    digits = _digits(arguments)
    if digits is None or parameter == NUMBER:
        msg = "expected a number of digits, found NULL" if digits is None else "expected a typed number"
        raise ArgumentError(msg, 1 if digits is None else 0)
    if is_integral(parameter):
        parameter = integral_as_decimal(parameter)
    elif arguments[0].type in (NULL, STRING):
        parameter = decimal(38, 18)
    elif is_fractional(parameter):
        parameter = decimal(14, 7) if parameter == FLOAT else decimal(30, 15)
    return Signature((parameter, arguments[1].type), _rounded_decimal(parameter, digits), zone)


def _bind_floor(divide: Quotient, of_double: Callable[[float], int]) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        type_ = signature.parameters[0]
        if is_decimal(type_):
            return _decimal_rounding(divide, type_, signature.returns)

        def scalar(value: Any) -> int | None:
            if isinstance(value, int):
                return value
            if not math.isfinite(value):
                return 0 if math.isnan(value) else None  # Java casts NaN to 0
            found = of_double(value)
            return found if _LEAST <= found <= _GREATEST else None

        return scalar

    return bind


def _vector_floor(compute: Callable[[Any], Any], bind: Callable[[Signature], Scalar]) -> Vector:
    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        column = columns[0]
        if is_integral(column.type):
            return column
        if not is_fractional(column.type):
            return apply_strict(bind(signature), signature.returns, columns)
        values = compute(column.values.astype(np.float64))
        inside = (values >= float(_LEAST)) & (values < -float(_LEAST))
        fits = inside | np.isnan(values)
        return Column(BIGINT, np.where(inside, values, 0.0).astype(np.int64), column.valid & fits)

    return vector


def _resolve_sign(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if is_interval(arguments[0].type):
        return Signature((arguments[0].type,), DOUBLE, zone)
    return _resolve_double(arguments, zone)


def _resolve_double(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    parameter = numeric_parameter(arguments, 0)
    return Signature((NUMBER if parameter == NUMBER else DOUBLE,), DOUBLE, zone)


def _sign(value: float) -> float:
    value = float(value)
    return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


def _sqrt(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _vector_double(compute: Callable[[Any], Any], scalar: Scalar) -> Vector:
    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        (column,) = columns
        if isinstance(column.values, NumberValues) or is_interval(column.type):
            return apply_strict(scalar, DOUBLE, columns)
        with np.errstate(all="ignore"):
            return Column(DOUBLE, compute(column.values), column.valid)

    return vector


def _signs(values: Any) -> Any:
    return np.where(values == 0, values, np.sign(values))


def _resolve_isnan(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    parameter = numeric_parameter(arguments, 0)
    kept = is_fractional(parameter) or parameter == NUMBER
    return Signature((parameter if kept else DOUBLE,), BOOLEAN, zone)


def _isnan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _vector_isnan(_: Signature, columns: Sequence[Column]) -> Column:
    (column,) = columns
    if isinstance(column.values, NumberValues):
        found = ~column.values.integral & np.isnan(column.values.doubles)
    else:
        found = np.isnan(column.values)
    return Column(BOOLEAN, found & column.valid, np.ones(len(column), np.bool_))


def _resolve_extreme(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    both = require_type(unpromoted_type(arguments), arguments)
    return Signature((both,) * len(arguments), both, zone)


def _bind_extreme(wanted: int) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        comparator = compare(signature.returns)

        def scalar(*values: Any) -> Any:
            best = None
            for value in values:
                if value is not None and (best is None or comparator(value, best) == wanted):
                    best = value
            return best

        return scalar

    return bind


def _vector_extreme(name: str) -> Vector:
    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        best = columns[0]
        for column in columns[1:]:
            better, _known = compare_columns(name, column, best)
            best = select_rows(better | ~best.valid, column, best)
        return best

    return vector


def _resolve_average(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    parameters = [numeric_parameter(arguments, place) for place in range(len(arguments))]
    return Signature(tuple(parameters), _average_steps(parameters, zone)[-1][1].returns, zone)


def _average_steps(types: Sequence[Type], zone: str) -> list[tuple[str, Signature]]:
    """The typed operators of (a + b + ...) / n, left to right."""
    steps: list[tuple[str, Signature]] = []
    total = types[0]
    for type_ in types[1:]:
        signature = FUNCTIONS["+"].resolve([Argument(total), Argument(type_)], zone)
        steps.append(("+", signature))
        total = signature.returns
    count = Argument(INT, is_constant=True, value=len(types))
    steps.append(("/", FUNCTIONS["/"].resolve([Argument(total), count], zone)))
    return steps


def _bind_average(signature: Signature) -> Scalar:
    """(a + b + ...) / n, with the types, and hence the overflows, of Spark for this expression."""
    types = signature.parameters
    steps = _average_steps(types, signature.zone)
    scalars = [FUNCTIONS[name].bind(step) for name, step in steps]
    totals = [types[0], *(step.returns for _, step in steps[:-1])]
    operands = [*types[1:], INT]
    lefts = [_widening_to(type_, step.parameters[0]) for type_, (_, step) in zip(totals, steps, strict=True)]
    rights = [_widening_to(type_, step.parameters[1]) for type_, (_, step) in zip(operands, steps, strict=True)]

    def scalar(*values: Any) -> Any:
        total = values[0]
        for compute, left, right, operand in zip(scalars, lefts, rights, (*values[1:], len(values)), strict=True):
            total = compute(left(total), right(operand))
            if total is None:
                return None
        return total

    return scalar


def _widening_to(source: Type, target: Type) -> Callable[[Any], Any]:
    found = widening(source, target)
    assert found is not None, f"{source} is not widened to {target} by arithmetic"
    return found


def _register() -> None:
    register(Function("round", _resolve_round, _bind_round(round_half_up)))
    register(Function("bround", _resolve_round, _bind_round(_half_even)))
    floor, ceil = _bind_floor(_floor, math.floor), _bind_floor(_ceil, math.ceil)
    register(Function("floor", _resolve_floor, floor, _vector_floor(np.floor, floor)))
    register(Function("ceil", _resolve_floor, ceil, _vector_floor(np.ceil, ceil)), "ceiling")
    register(Function("sign", _resolve_sign, always(_sign), _vector_double(_signs, _sign)), "signum")
    register(Function("sqrt", _resolve_double, always(_sqrt), _vector_double(np.sqrt, _sqrt)))
    register(Function("isnan", _resolve_isnan, always(_isnan), _vector_isnan, sees_null=True))
    for name, wanted, better in (("greatest", 1, ">"), ("least", -1, "<")):
        register(Function(name, _resolve_extreme, _bind_extreme(wanted), _vector_extreme(better), sees_null=True))
    register(Function("average", _resolve_average, _bind_average))


_register()
