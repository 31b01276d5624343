"""Timestamps and numbers since 1970-01-01 00:00:00 UTC: unix_seconds, timestamp_millis, to_timestamp, ...

No zone matters here, except for casting to the parameter, which is done before. A number whose timestamp
does not fit 64 bits is NULL wherever Spark raises, and wraps or stops at the bounds wherever Spark's does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tamis.functions.date_formats import bind_reading, resolve_reading
from tamis.functions.registry import Argument, ArgumentError, Function, Signature, always, check_count, register
from tamis.functions.rows import Scalar
from tamis.functions.vectorization import elementwise
from tamis.values.calendar import GREATEST_MICROS, LEAST_MICROS, MICROS_PER_SECOND
from tamis.values.column import Column
from tamis.values.types import (
    ANY,
    BIGINT,
    NULL,
    NUMBER,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    is_decimal,
    is_integral,
    is_numeric,
    wrap_integer,
)

_BEYOND = 2.0**63


def _resolve_unix(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    if found not in (TIMESTAMP, TIMESTAMP_NTZ, NULL, ANY):
        msg = f"expected a timestamp, found {found}"
        raise ArgumentError(msg, 0, "cast it: try_cast(x AS timestamp)")
    # Spark counts a timestamp_ntz as if its clock were that of UTC.
    return Signature((TIMESTAMP_NTZ if found == TIMESTAMP_NTZ else TIMESTAMP,), BIGINT, zone)


for _unit, _micros in (("seconds", 1_000_000), ("millis", 1_000), ("micros", 1)):
    elementwise(
        f"unix_{_unit}",
        resolve=_resolve_unix,
        formula=lambda micros, unit=_micros: micros // unit,
    )


def _resolve_integral(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    if not is_integral(found) and found not in (NULL, ANY, NUMBER):
        msg = f"expected a whole number, found {found}"
        raise ArgumentError(msg, 0, "cast it: try_cast(x AS bigint)")
    return Signature((BIGINT,), TIMESTAMP, zone)


def _register_units(name: str, factor: int) -> None:
    """Register a function from whole numbers of `factor` microseconds."""
    least, greatest = -(-LEAST_MICROS // factor), GREATEST_MICROS // factor

    def scalar(number: int) -> int | None:
        return number * factor if least <= number <= greatest else None

    def vector(_: Signature, columns: Sequence[Column]) -> Column:
        numbers = columns[0].values
        fits = (numbers >= least) & (numbers <= greatest)
        return Column(TIMESTAMP, np.where(fits, numbers, 0) * factor, columns[0].valid & fits)

    register(Function(name, _resolve_integral, always(scalar), vector))


def _fits(micros: int) -> bool:
    return LEAST_MICROS <= micros <= GREATEST_MICROS


_register_units("timestamp_millis", 1_000)
_register_units("timestamp_micros", 1)


def _resolve_seconds(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    found = arguments[0].type
    if found == NULL:
        return Signature((BIGINT,), TIMESTAMP, zone)
    if found == ANY:
        return Signature((NUMBER,), TIMESTAMP, zone)
    if not is_numeric(found):
        msg = f"expected a number of seconds, found {found}"
        raise ArgumentError(msg, 0)
    return Signature((found,), TIMESTAMP, zone)


def _bind_timestamp_seconds(signature: Signature) -> Scalar:
    type_ = signature.parameters[0]
    return _exact_decimal_seconds(type_) if is_decimal(type_) else _exact_seconds


def _exact_seconds(seconds: int | float) -> int | None:
    if isinstance(seconds, int):
        micros = seconds * MICROS_PER_SECOND
        return micros if _fits(micros) else None
    if not math.isfinite(seconds):
        return None
    product = seconds * MICROS_PER_SECOND
    return max(LEAST_MICROS, min(GREATEST_MICROS, int(max(-_BEYOND, min(_BEYOND, product)))))


def _exact_decimal_seconds(type_: Type) -> Scalar:
    unit: int = 10**type_.scale

    def scalar(unscaled: int) -> int | None:
        micros, rest = divmod(unscaled * MICROS_PER_SECOND, unit)
        return micros if rest == 0 and _fits(micros) else None

    return scalar


register(Function("timestamp_seconds", _resolve_seconds, _bind_timestamp_seconds))


def _resolve_to_timestamp(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 2)
    if len(arguments) == 2:
        return resolve_reading(TIMESTAMP)(arguments, zone)
    found = arguments[0].type
    return Signature((found if is_numeric(found) else TIMESTAMP,), TIMESTAMP, zone)


def _bind_to_timestamp(signature: Signature) -> Scalar:
    """A cast: of numbers as seconds, but with bounds other than those of timestamp_seconds."""
    if len(signature.parameters) == 2:
        return bind_reading(signature)
    type_ = signature.parameters[0]
    if type_ == TIMESTAMP:
        return lambda micros: micros
    return _cast_decimal_seconds(type_) if is_decimal(type_) else _cast_seconds


def _cast_seconds(seconds: int | float) -> int | None:
    if isinstance(seconds, int):
        return max(LEAST_MICROS, min(GREATEST_MICROS, seconds * MICROS_PER_SECOND))
    product = seconds * MICROS_PER_SECOND
    return min(GREATEST_MICROS, int(product)) if -_BEYOND <= product <= _BEYOND else None


def _cast_decimal_seconds(type_: Type) -> Scalar:
    unit: int = 10**type_.scale

    def scalar(unscaled: int) -> int:
        micros = abs(unscaled) * MICROS_PER_SECOND // unit
        micros = micros if unscaled >= 0 else -micros
        return wrap_integer(micros, 64)

    return scalar


register(Function("to_timestamp", _resolve_to_timestamp, _bind_to_timestamp), "try_to_timestamp")
