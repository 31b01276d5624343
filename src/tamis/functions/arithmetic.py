"""Arithmetic: + - * / % div, pmod, signs, abs, and the bitwise operators.

Each result has the width that Spark gives it, and is NULL where Spark raises: overflow of that width, and division
by zero. `try_add` and the like are therefore the same functions as the operators. Two schemaless integers give an
integer of 64 bits, any other schemaless numbers a double.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tamis.functions import checked_arithmetic as checked
from tamis.functions import intervals
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    Vector,
    always,
    check_count,
    register,
)
from tamis.functions.rows import Scalar, all_valid, apply_strict
from tamis.functions.unify import type_mismatch
from tamis.values.calendar_intervals import negate
from tamis.values.casts import round_half_up
from tamis.values.coercion import arithmetic_type
from tamis.values.column import SHORT_DECIMAL, Column, NumberValues
from tamis.values.intervals import in_range
from tamis.values.text import as_float
from tamis.values.types import (
    ANY,
    BIGINT,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    MAX_PRECISION,
    NULL,
    NUMBER,
    STRING,
    Type,
    integer_bounds,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    wrap_integer,
)

_VERBS = {"+": "added", "-": "subtracted", "*": "multiplied"}
_LONG = integer_bounds(BIGINT)
_JAVA_DIGITS = 39
_JAVA_QUOTIENT = 10**_JAVA_DIGITS


def _resolve(name: str) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2, 2)
        found = arithmetic_type(name, *arguments)
        if found is None:
            raise type_mismatch(arguments, _VERBS.get(name, "divided"))
        return Signature(found[:2], found[2], zone)

    return resolve


def remainder(left: int, right: int) -> int | None:
    """The remainder with the sign of the dividend; NULL if the divisor is zero."""
    if right == 0:
        return None
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def quotient(left: int, right: int) -> int | None:
    """The quotient, truncated; NULL if the divisor is zero."""
    if right == 0:
        return None
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def rescale(unscaled: int, scale: int, to: int) -> int:
    """A decimal's unscaled value at another scale, ties away from zero."""
    return unscaled * 10 ** (to - scale) if to >= scale else round_half_up(unscaled, 10 ** (scale - to))


_WHOLE: dict[str, Callable[[int, int], int | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": remainder,
    "div": quotient,
}


def _integers(name: str, type_: Type) -> Scalar:
    if name == "pmod":
        return _positive_remainder(type_)
    compute = _WHOLE[name]
    least, greatest = integer_bounds(type_)

    def scalar(left: int, right: int) -> int | None:
        result = compute(left, right)
        return result if result is not None and least <= result <= greatest else None

    return scalar


def _positive_remainder(type_: Type) -> Scalar:
    # Java adds bytes and shorts as ints; ints and longs wrap, silently.
    bits = max(32, INTEGER_BITS[type_])

    def scalar(left: int, right: int) -> int | None:
        rest = remainder(left, right)
        return rest if rest is None or rest >= 0 else remainder(wrap_integer(rest + right, bits), right)

    return scalar


def _double_remainder(left: float, right: float) -> float | None:
    if right == 0:
        return None
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _double_quotient(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def _double_pmod(left: float, right: float) -> float | None:
    rest = _double_remainder(left, right)
    return rest if rest is None or not rest < 0 else _double_remainder(rest + right, right)


def _float_pmod(left: float, right: float) -> float | None:
    rest = _double_remainder(left, right)
    return rest if rest is None or not rest < 0 else _double_remainder(as_float(rest + right), right)


_DOUBLES: dict[str, Callable[[float, float], float | None]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _double_quotient,
    "%": _double_remainder,
    "pmod": _double_pmod,
}


def _floats(name: str) -> Scalar:
    if name == "pmod":
        return _float_pmod
    compute = _DOUBLES[name]

    def scalar(left: float, right: float) -> float | None:
        # Doubles are wide enough that rounding their result to a float equals rounding the exact result.
        result = compute(left, right)
        return None if result is None else as_float(result)

    return scalar


def _decimals(name: str, left: Type, right: Type, returns: Type) -> Scalar:
    if name == "div":
        return _decimal_quotient(left, right)
    compute = _DECIMALS[name]
    greatest = 10**returns.precision - 1

    def scalar(first: int, second: int) -> int | None:
        result = compute(first, left.scale, second, right.scale, returns.scale)
        return result if result is not None and abs(result) <= greatest else None

    return scalar


def _align(first: int, first_scale: int, second: int, second_scale: int) -> tuple[int, int, int]:
    scale = max(first_scale, second_scale)
    return first * 10 ** (scale - first_scale), second * 10 ** (scale - second_scale), scale


def _decimal_sum(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int:
    first, second, scale = _align(first, first_scale, second, second_scale)
    return rescale(first + second, scale, to)


def _decimal_difference(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int:
    return _decimal_sum(first, first_scale, -second, second_scale, to)


def _decimal_product(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int:
    return rescale(first * second, first_scale + second_scale, to)


def _decimal_ratio(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int | None:
    if second == 0:
        return None
    shift = to - first_scale + second_scale
    return round_half_up(first * 10 ** max(shift, 0), second * 10 ** max(-shift, 0))


def _decimal_remainder(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int | None:
    first, second, scale = _align(first, first_scale, second, second_scale)
    rest = _java_remainder(first, second)
    return None if rest is None else rescale(rest, scale, to)


def _java_remainder(left: int, right: int) -> int | None:
    """The remainder, or NULL if the quotient has more than 39 digits before its zeros: Java's limit."""
    if right == 0:
        return None
    whole = abs(left) // abs(right)
    if whole >= _JAVA_QUOTIENT and len(str(whole).rstrip("0")) > _JAVA_DIGITS:
        return None
    return remainder(left, right)


def _decimal_pmod(first: int, first_scale: int, second: int, second_scale: int, to: int) -> int | None:
    first, second, scale = _align(first, first_scale, second, second_scale)
    rest = _java_remainder(first, second)
    if rest is not None and rest < 0:
        rest = remainder(rest + second, second)
    return None if rest is None else rescale(rest, scale, to)


_DECIMALS: dict[str, Callable[[int, int, int, int, int], int | None]] = {
    "+": _decimal_sum,
    "-": _decimal_difference,
    "*": _decimal_product,
    "/": _decimal_ratio,
    "%": _decimal_remainder,
    "pmod": _decimal_pmod,
}


def _decimal_quotient(left: Type, right: Type) -> Scalar:
    limit = 10 ** min(MAX_PRECISION, max(1, left.precision - left.scale + right.scale))

    def scalar(first: int, second: int) -> int | None:
        first, second, _ = _align(first, left.scale, second, right.scale)
        whole = quotient(first, second)
        # As in Spark, the quotient must fit the decimal, but its cast to bigint wraps without a check.
        return None if whole is None or abs(whole) >= limit else wrap_integer(whole, 64)

    return scalar


def _numbers(name: str) -> Scalar:
    whole = None if name == "/" else _integers(name, BIGINT)
    double = _DOUBLES.get(name)

    def scalar(left: float, right: float) -> float | None:
        if whole is not None and isinstance(left, int) and isinstance(right, int):
            result: float | None = whole(left, right)
            return result
        return None if double is None else double(float(left), float(right))

    return scalar


def _dates(name: str) -> Scalar:
    def scalar(left: int, right: int) -> int:
        return wrap_integer(left + right if name == "+" else left - right, 32)

    return scalar


def _bind(name: str) -> Callable[[Signature], Scalar]:
    def bind(signature: Signature) -> Scalar:
        left, right = signature.parameters
        if intervals.concerns_intervals(signature):
            return intervals.bind_arithmetic(name, signature)
        if signature.returns == DATE:
            return _dates(name)
        if left == NUMBER:
            return _numbers(name)
        if is_decimal(left):
            return _decimals(name, left, right, signature.returns)
        if left == FLOAT:
            return _floats(name)
        if is_integral(left):
            return _integers(name, left) if name != "/" else _double_quotient_of_integers
        return _DOUBLES[name]

    return bind


def _double_quotient_of_integers(left: int, right: int) -> float | None:
    return _double_quotient(float(left), float(right))


def _vector(name: str, bind: Callable[[Signature], Scalar]) -> Vector:
    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        left, right = columns
        returns = signature.returns
        values: Any
        if intervals.concerns_intervals(signature):
            return intervals.vector_arithmetic(name, signature, columns)
        if is_fractional(left.type):
            values, fits = checked.floats(name, left.values, right.values)
        elif left.type == NUMBER and name in ("+", "-", "*", "%"):
            values, fits = checked.numbers(name, left.values, right.values)
        elif left.type == NUMBER and name == "/":
            values, fits = checked.floats(name, checked.as_doubles(left.values), checked.as_doubles(right.values))
        elif is_integral(left.type) and name in _WHOLE and returns != DATE:
            values, fits = checked.integers(name, left.type, left.values, right.values)
        elif is_decimal(returns) and returns.precision <= SHORT_DECIMAL and name in ("+", "-", "*"):
            # A result of at most 18 digits has no wider intermediate result, and nothing is rounded.
            first, second = left.values, right.values
            if name != "*":
                first = first * 10 ** (returns.scale - left.type.scale)
                second = second * 10 ** (returns.scale - right.type.scale)
            values, fits = checked.integers(name, BIGINT, first, second)
        else:
            return apply_strict(bind(signature), returns, columns)
        return Column(returns, values, fits & all_valid(columns))

    return vector


def numeric_parameter(arguments: Sequence[Argument], place: int) -> Type:
    """The type to which a function of one number casts its argument; raises ArgumentError."""
    argument = arguments[place]
    if is_numeric(argument.type):
        return argument.type
    if argument.type == ANY:
        return NUMBER
    if argument.type in (NULL, STRING):
        return DOUBLE
    msg = f"expected a number, found {argument.type}"
    raise ArgumentError(msg, place)


def _resolve_unary(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if is_interval(arguments[0].type) or arguments[0].type == CALENDAR_INTERVAL:
        return Signature((arguments[0].type,), arguments[0].type, zone)
    parameter = numeric_parameter(arguments, 0)
    return Signature((parameter,), parameter, zone)


_NEGATED_DIGITS = 34


def _round_negation(value: int, result: int, precision: int) -> int | None:
    """The result of negation or abs of a decimal: Spark rounds it half even to 34 digits, which may overflow."""
    digits = len(str(abs(value)))
    if result == value or digits <= _NEGATED_DIGITS:
        return result
    unit = 10 ** (digits - _NEGATED_DIGITS)
    whole, rest = divmod(abs(result), unit)
    whole += 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    rounded: int = whole * unit
    if rounded >= 10**precision:
        return None
    return rounded if result > 0 else -rounded


def _bind_bounded(compute: Callable[[Any], Any]) -> Callable[[Signature], Scalar]:
    """Bind negation or abs, which overflows only for the least integer, and for decimals of up to 38 digits."""

    def bind(signature: Signature) -> Scalar:
        type_ = signature.returns
        if is_fractional(type_) or (is_decimal(type_) and type_.precision <= _NEGATED_DIGITS):
            return compute
        if is_decimal(type_):
            return lambda value: _round_negation(value, compute(value), type_.precision)
        if is_interval(type_):
            return lambda value: in_range(compute(value), type_)
        if type_ == CALENDAR_INTERVAL:
            return negate
        greatest = _LONG[1] if type_ == NUMBER else integer_bounds(type_)[1]

        def scalar(value: float) -> float | None:
            result: float = compute(value)
            return None if isinstance(value, int) and result > greatest else result

        return scalar

    return bind


def _vector_bounded(compute: Callable[[Any], Any]) -> Vector:
    bind = _bind_bounded(compute)

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        (column,) = columns
        if is_integral(column.type):
            fits = column.values != integer_bounds(column.type)[0]
            return Column(column.type, compute(np.where(fits, column.values, 0)), column.valid & fits)
        if (
            isinstance(column.values, NumberValues)
            or is_interval(column.type)
            or column.values.dtype == np.object_
        ):
            return apply_strict(bind(signature), column.type, columns)
        return Column(column.type, compute(column.values), column.valid)

    return vector


def _positive(value: Any) -> Any:
    return value


def _vector_positive(_: Signature, columns: Sequence[Column]) -> Column:
    return columns[0]


def _resolve_bits(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    for place, argument in enumerate(arguments):
        if not (is_integral(argument.type) or argument.type in (NULL, STRING)):
            msg = f"expected a whole number, found {argument.type}"
            raise ArgumentError(msg, place, "cast(x AS bigint)")
    types = [argument.type for argument in arguments if argument.type != NULL]
    if STRING in types:
        both = BIGINT
        if not any(is_integral(type_) for type_ in types):
            raise type_mismatch(arguments, "combined")
    else:
        both = max(types, key=lambda type_: INTEGER_BITS[type_], default=INT)
    return Signature((both, both), both, zone)


def _resolve_not(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    if not (is_integral(found) or found == NULL):
        msg = f"expected a whole number, found {found}"
        raise ArgumentError(msg, 0, "cast(x AS bigint)")
    parameter = INT if found == NULL else found
    return Signature((parameter,), parameter, zone)


def _elementwise(compute: Callable[..., Any]) -> Vector:
    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        return Column(signature.returns, compute(*(column.values for column in columns)), all_valid(columns))

    return vector


def _register() -> None:
    names = {
        "+": ("try_add",),
        "-": ("try_subtract",),
        "*": ("try_multiply",),
        "/": ("try_divide",),
        "%": ("mod", "try_mod"),
        "div": (),
        "pmod": (),
    }
    for name, others in names.items():
        bind = _bind(name)
        register(Function(name, _resolve(name), bind, _vector(name, bind)), *others)
    for name, compute in (("negative", operator.neg), ("abs", operator.abs)):
        register(Function(name, _resolve_unary, _bind_bounded(compute), _vector_bounded(compute)))
    register(Function("positive", _resolve_unary, always(_positive), _vector_positive))
    for name, bits in (("&", operator.and_), ("|", operator.or_), ("^", operator.xor)):
        register(Function(name, _resolve_bits, always(bits), _elementwise(bits)))
    register(Function("~", _resolve_not, always(operator.invert), _elementwise(operator.invert)))


_register()
