"""Logarithms, powers, trigonometry and the like, of doubles.

The last place of a result may differ from Java's by a unit or two, as the C library rounds otherwise; what is
exact in both (roots of cubes, logarithms of one) is equal. There is no vector form: numpy's loops round in a third
way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tamis.functions.arithmetic import numeric_parameter
from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar
from tamis.values.types import BIGINT, DOUBLE, FLOAT, INT, NUMBER, is_interval, is_year_month

_LONG_MAX = (1 << 63) - 1


def _total(compute: Callable[..., float]) -> Scalar:
    """Java's answer where Python raises: infinity for what is too large, NaN for what is undefined."""

    def scalar(*values: float) -> float:
        try:
            return compute(*map(float, values))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return scalar


def _positive(compute: Callable[[float], float], above: float = 0.0) -> Scalar:
    """A logarithm: NULL for what is not above a bound, as in Hive."""
    return lambda value: None if value <= above else compute(float(value))


def _exp(value: float) -> float:
    return math.inf if value > 709.8 else math.exp(value)


def _sinh(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) > 711 else math.sinh(value)


def _expm1(value: float) -> float:
    return math.inf if value > 709.8 else math.expm1(value)


def _reciprocal(compute: Callable[[float], float]) -> Callable[[float], float]:
    def scalar(value: float) -> float:
        found = compute(value)
        return math.copysign(math.inf, found) if found == 0 else 1.0 / found

    return scalar


def _cbrt(value: float) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    guess = math.copysign(abs(value) ** (1 / 3), value)
    # One step of Newton's method, so that cubes have exact roots.
    return guess - (guess * guess * guess - value) / (3 * guess * guess)


def _rint(value: float) -> float:
    return math.copysign(float(round(value)), value) if math.isfinite(value) else value


def _atanh(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) == 1 else math.atanh(value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        odd = exponent == int(exponent) and exponent % 2 == 1 if math.isfinite(exponent) else False
        return math.copysign(math.inf, base) if odd else math.inf
    if abs(base) == 1 and (math.isinf(exponent) or math.isnan(exponent)):
        return math.nan  # Java's rule; C gives 1
    if base == 1:
        return 1.0
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf


def _log(base: float, *value: float) -> float | None:
    if not value:
        return None if base <= 0 else math.log(base)
    if base <= 0 or value[0] <= 0:
        return None
    top, bottom = math.log(value[0]), math.log(base)
    if bottom == 0:
        return math.nan if top == 0 or math.isnan(top) else math.copysign(math.inf, top)
    return top / bottom


def _factorial(number: int) -> int | None:
    return math.factorial(number) if 0 <= number <= 20 else None


def _resolve_doubles(count: int) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, count, count)
        types = [numeric_parameter(arguments, place) for place in range(count)]
        return Signature(tuple(NUMBER if type_ == NUMBER else DOUBLE for type_ in types), DOUBLE, zone)

    return resolve


def _resolve_log(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    return _resolve_doubles(len(arguments))(arguments, zone)


def _resolve_nanvl(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    types = [numeric_parameter(arguments, place) for place in range(2)]
    both = FLOAT if types == [FLOAT, FLOAT] else NUMBER if NUMBER in types else DOUBLE
    return Signature((both, both), both, zone)


def _nanvl(value: float | None, other: float | None) -> float | None:
    return other if value is not None and math.isnan(value) else value


def _resolve_bucket(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 4, 4)
    types = [argument.type for argument in arguments[:3]]
    if any(map(is_interval, types)):
        if not all(map(is_interval, types)) or len({is_year_month(type_) for type_ in types}) > 1:
            msg = "expected three intervals of one kind"
            raise ArgumentError(msg)
        return Signature((*types, BIGINT), BIGINT, zone)
    numbers = [numeric_parameter(arguments, place) for place in range(3)]
    return Signature((*(NUMBER if type_ == NUMBER else DOUBLE for type_ in numbers), BIGINT), BIGINT, zone)


def _bucket(value: float, first: float, last: float, count: int) -> int | None:
    """The number of the bucket among `count` of equal width; 0 and count + 1 are outside."""
    bounds = (float(first), float(last))
    if not 0 < count < _LONG_MAX or math.isnan(value) or first == last or not all(map(math.isfinite, bounds)):
        return None
    lower, upper = min(first, last), max(first, last)
    if first < last:
        if value < lower:
            return 0
        return count + 1 if value >= upper else int(float(count) * (value - lower) / (upper - lower)) + 1
    if value > upper:
        return 0
    return count + 1 if value <= lower else int(float(count) * (upper - value) / (upper - lower)) + 1


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": _exp,
    "expm1": _expm1,
    "cbrt": _cbrt,
    "rint": _rint,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": _reciprocal(math.tan),
    "sec": _reciprocal(math.cos),
    "csc": _reciprocal(math.sin),
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": _sinh,
    "cosh": lambda value: math.inf if abs(value) > 711 else math.cosh(value),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": _atanh,
    "degrees": lambda value: value * (180.0 / math.pi),
    "radians": lambda value: value * (math.pi / 180.0),
}


def _register() -> None:
    for name, compute in _FUNCTIONS.items():
        register(Function(name, _resolve_doubles(1), always(_total(compute))))
    for name, logarithm in (("ln", math.log), ("log10", math.log10), ("log2", math.log2)):
        register(Function(name, _resolve_doubles(1), always(_positive(logarithm))))
    register(Function("log1p", _resolve_doubles(1), always(_positive(math.log1p, -1.0))))
    register(Function("log", _resolve_log, always(_log)))
    register(Function("power", _resolve_doubles(2), always(_total(_power))), "pow")
    register(Function("atan2", _resolve_doubles(2), always(_total(lambda y, x: math.atan2(y + 0.0, x + 0.0)))))
    register(Function("hypot", _resolve_doubles(2), always(_total(math.hypot))))
    register(Function("e", takes(returns=DOUBLE), always(lambda: math.e)))
    register(Function("pi", takes(returns=DOUBLE), always(lambda: math.pi)))
    register(Function("factorial", takes(INT, returns=BIGINT), always(_factorial)))
    register(Function("nanvl", _resolve_nanvl, always(_nanvl), sees_null=True))
    register(Function("width_bucket", _resolve_bucket, always(_bucket)))


_register()
