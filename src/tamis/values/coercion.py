"""The common type of two or more operands, as Spark's ANSI rules find it.

Depends on types and on whether an operand is a literal, never on values of events. Every function returns None for
operands that have no common type; the caller words the error.

Spark has several rules, and functions differ in the one that they use:

| function here | used by |
|---|---|
| `common_type` | coalesce, CASE, IF, IN, array(...) |
| `comparison_type` | = <> < <= > >= <=> |
| `unpromoted_type` | least, greatest |
| `contained_type`, `tightest_type` | array_contains; array_position, arrays_overlap |
| `arithmetic_type` | + - * / % div pmod |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    MAX_PRECISION,
    NESTED,
    NULL,
    NUMBER,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_MONTH,
    Type,
    decimal,
    integral_as_decimal,
    interval,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
    is_year_month,
    struct,
)

Rule: TypeAlias = Callable[[Type, Type], Type | None]

_DATETIMES = (DATE, TIMESTAMP_NTZ, TIMESTAMP)
"""Each is implicitly cast to the ones after it."""
_INTEGRALS = tuple(INTEGER_BITS)
_MINIMUM_SCALE = 6
"""Digits after the point that arithmetic keeps when precision runs out."""


class TypedOperand(Protocol):
    """What the rules need to know of an operand; `tamis.functions.registry.Argument` implements it."""

    @property
    def type(self) -> Type:
        """The type of the operand."""

    @property
    def is_constant(self) -> bool:
        """Is the operand a constant?"""

    @property
    def folded(self) -> bool:
        """Was the constant computed, so that Spark sees an expression and not a literal?"""

    @property
    def value(self) -> Any:
        """The value of a constant."""


def common_type(operands: Sequence[TypedOperand]) -> Type | None:
    """The type of coalesce, CASE, IF, IN and array(...) over `operands`, which Spark finds left to right."""
    return _fold(_promote, operands)


def unpromoted_type(operands: Sequence[TypedOperand]) -> Type | None:
    """The type of least and greatest: as `common_type`, but strings go with strings only."""
    return _fold(_wider, operands)


def contained_type(element: Type, value: Type) -> Type | None:
    """The type in which array_contains compares."""
    legacy = tightest_type(element, value)
    return legacy if legacy is not None else _wider_decimal(element, value)


def tightest_type(left: Type, right: Type) -> Type | None:
    """The element type of arrays_overlap and array_position: beside a float, integers become floats."""
    if (is_integral(left) and right == FLOAT) or (left == FLOAT and is_integral(right)):
        return FLOAT
    return _tightest(left, right, tightest_type)


def comparison_type(left: TypedOperand, right: TypedOperand, *, ordering: bool = False) -> Type | None:
    """The type in which two operands are compared.

    Args:
        left: One operand.
        right: The other one.
        ordering: The comparison is one of < <= > >=. Spark then compares an integer with a decimal literal
            exactly, so the type may be a decimal of more than 38 digits; no result has such a type.
    """
    if ordering and _integer_and_decimal_literal(left, right):
        return _exact_decimal(_as_decimal(left), _as_decimal(right))
    first, second = _tight_type(left, right), _tight_type(right, left)
    if {first.name, second.name} & set(NESTED):
        return _tightest_ansi(first, second)
    return _promote(first, second)


def arithmetic_type(operator: str, left: TypedOperand, right: TypedOperand) -> tuple[Type, Type, Type] | None:
    """The types to which both operands of + - * / % div pmod are cast, and the type of the result.

    Decimal operands keep their own scales: the operator aligns them, exactly.
    """
    if is_interval(left.type) or is_interval(right.type):
        return _interval_arithmetic(operator, left.type, right.type)
    if CALENDAR_INTERVAL in (left.type, right.type):
        return _calendar_arithmetic(operator, left.type, right.type)
    types = {left.type, right.type}
    if operator == "-" and types <= {*_DATETIMES, STRING, ANY} and types & {*_DATETIMES}:
        return _difference(left.type, right.type)
    if NULL in types and types & {*_DATETIMES}:
        return _moment_beside_null(operator, left.type, right.type)
    if DATE in (left.type, right.type):
        return _date_arithmetic(operator, left.type, right.type)
    if left.type == right.type == NULL:
        parameter = BIGINT if operator == "div" else DOUBLE
        return parameter, parameter, parameter
    if NULL in (left.type, right.type):
        return _beside_null(operator, left.type, right.type)
    if STRING in (left.type, right.type):
        return _beside_string(operator, right.type if left.type == STRING else left.type)
    if not (_is_number(left.type) and _is_number(right.type)):
        return None
    if {left.type, right.type} & {ANY, NUMBER}:
        return NUMBER, NUMBER, {"/": DOUBLE, "div": BIGINT}.get(operator, NUMBER)
    if is_fractional(left.type) or is_fractional(right.type):
        if operator == "div":
            return None
        both = FLOAT if left.type == right.type == FLOAT and operator != "/" else DOUBLE
        return both, both, both
    if is_decimal(left.type) or is_decimal(right.type):
        first, second = _as_decimal_beside(left, right), _as_decimal_beside(right, left)
        return first, second, decimal_result(operator, first, second)
    if operator == "/":
        return DOUBLE, DOUBLE, DOUBLE
    both = BIGINT if operator == "div" else _wider_integral(left.type, right.type)
    return both, both, both


def decimal_result(operator: str, left: Type, right: Type) -> Type:
    """The type of an operator over two decimals, with Spark's loss of scale beyond 38 digits."""
    whole = left.precision - left.scale, right.precision - right.scale
    scale = max(left.scale, right.scale)
    if operator in ("+", "-"):
        return _bounded_decimal(max(whole) + scale + 1, scale)
    if operator == "*":
        return _bounded_decimal(left.precision + right.precision + 1, left.scale + right.scale)
    if operator == "/":
        scale = max(_MINIMUM_SCALE, left.scale + right.precision + 1)
        return _bounded_decimal(whole[0] + right.scale + scale, scale)
    if operator == "div":
        return BIGINT
    return _bounded_decimal(min(whole) + scale, scale)


def _bounded_decimal(precision: int, scale: int) -> Type:
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, _MINIMUM_SCALE)))


def _fold(rule: Rule, operands: Sequence[TypedOperand]) -> Type | None:
    found: Type | None = NULL
    for operand in operands:
        found = None if found is None else rule(found, operand.type)
    return found


def _is_number(type_: Type) -> bool:
    return is_numeric(type_) or type_ == ANY


def _wider_integral(left: Type, right: Type) -> Type:
    return max(left, right, key=_INTEGRALS.index)


def _tightest(left: Type, right: Type, inner: Rule) -> Type | None:
    """A type that holds every value of both; `inner` is the rule for elements and fields."""
    if left == right:
        return left
    if NULL in (left, right):
        return right if left == NULL else left
    if ANY in (left, right):
        return _beside_any(right if left == ANY else left)
    if NUMBER in (left, right):
        return NUMBER if is_numeric(left) and is_numeric(right) else None
    if is_integral(left) and is_integral(right):
        return _wider_integral(left, right)
    if is_decimal(left) and is_integral(right):
        return left if _holds(left, integral_as_decimal(right)) else None
    if is_integral(left) and is_decimal(right):
        return right if _holds(right, integral_as_decimal(left)) else None
    if all(is_integral(type_) or is_fractional(type_) for type_ in (left, right)):
        return DOUBLE
    if left in _DATETIMES and right in _DATETIMES:
        return max(left, right, key=_DATETIMES.index)
    if is_interval(left) and is_interval(right) and is_year_month(left) == is_year_month(right):
        return _wider_interval(left, right)
    return _complex(left, right, inner)


def _wider_interval(left: Type, right: Type) -> Type:
    return interval(min(left.precision, right.precision), max(left.scale, right.scale))


def _tightest_ansi(left: Type, right: Type) -> Type | None:
    return _tightest(left, right, _tightest_ansi)


def _holds(wide: Type, narrow: Type) -> bool:
    return wide.precision - wide.scale >= narrow.precision - narrow.scale and wide.scale >= narrow.scale


def _beside_any(other: Type) -> Type | None:
    """The type as which a path of a schemaless event is read beside a typed operand."""
    if is_numeric(other):
        return NUMBER
    return None if other in (BINARY, CALENDAR_INTERVAL) or other.name == "struct" else other


def _complex(left: Type, right: Type, inner: Rule) -> Type | None:
    if left.name == right.name and left.name in ("array", "map"):
        element = inner(left.item, right.item)
        return None if element is None else Type(left.name, element=element)
    if left.name == right.name == "struct" and len(left.fields) == len(right.fields):
        fields: list[tuple[str, Type]] = []
        same_types = [type_ for _, type_ in left.fields] == [type_ for _, type_ in right.fields]
        for (name, first), (other, second) in zip(left.fields, right.fields, strict=True):
            found = inner(first, second)
            if found is None or (name.lower() != other.lower() and not same_types):
                return None
            fields.append((name, found))
        return struct(*fields)
    return None


def _wider(left: Type, right: Type) -> Type | None:
    """As `_tightest`, but decimals may lose scale."""
    found = _tightest(left, right, _wider)
    return found if found is not None else _wider_decimal(left, right)


def _wider_decimal(left: Type, right: Type) -> Type | None:
    if not (is_decimal(left) or is_decimal(right)) or not (is_numeric(left) and is_numeric(right)):
        return None
    if is_fractional(left) or is_fractional(right):
        return DOUBLE
    exact = _exact_decimal(
        *(integral_as_decimal(type_) if is_integral(type_) else type_ for type_ in (left, right))
    )
    if exact.precision <= MAX_PRECISION:
        return exact
    return decimal(MAX_PRECISION, max(0, MAX_PRECISION - (exact.precision - exact.scale)))


def _exact_decimal(left: Type, right: Type) -> Type:
    scale = max(left.scale, right.scale)
    return decimal(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _promote(left: Type, right: Type) -> Type | None:
    """As `_wider`, but strings take the type of the other operand."""
    if STRING not in (left, right) or left == right or {left, right} & {ANY, NUMBER}:
        found = _tightest(left, right, _promote)
        return found if found is not None else _wider_decimal(left, right)
    other = right if left == STRING else left
    if is_integral(other):
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    return STRING if other == NULL else None if other.name in (*NESTED, "calendar interval") else other


def _is_literal(operand: TypedOperand) -> bool:
    return operand.is_constant and not operand.folded and operand.value is not None


def _tight_type(operand: TypedOperand, other: TypedOperand) -> Type:
    """The type of an operand; beside a decimal, a literal integer is only as wide as its digits."""
    tight = is_decimal(other.type) and operand.type in (INT, BIGINT) and _is_literal(operand)
    return decimal(len(str(abs(operand.value))), 0) if tight else operand.type


def _as_decimal_beside(operand: TypedOperand, other: TypedOperand) -> Type:
    type_ = _tight_type(operand, other)
    return integral_as_decimal(type_) if is_integral(type_) else type_


def _as_decimal(operand: TypedOperand) -> Type:
    return integral_as_decimal(operand.type) if is_integral(operand.type) else operand.type


def _integer_and_decimal_literal(left: TypedOperand, right: TypedOperand) -> bool:
    return any(
        is_integral(one.type) and is_decimal(other.type) and _is_literal(other)
        for one, other in ((left, right), (right, left))
    )


def _beside_null(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type] | None:
    other = right if left == NULL else left
    if not _is_number(other):
        return None
    if left == NULL and operator == "/" and is_decimal(right):
        return DOUBLE, DOUBLE, DOUBLE
    twice = _Typed(other)
    return arithmetic_type(operator, twice, twice)


def _beside_string(operator: str, other: Type) -> tuple[Type, Type, Type] | None:
    if is_integral(other):
        return BIGINT, BIGINT, DOUBLE if operator == "/" else BIGINT
    return (DOUBLE, DOUBLE, DOUBLE) if operator != "div" and is_numeric(other) and other != NUMBER else None


def _interval_arithmetic(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type] | None:
    """Intervals with intervals, with moments and with numbers."""
    if is_interval(left) and is_interval(right):
        if operator not in ("+", "-", "div") or is_year_month(left) != is_year_month(right):
            return None
        both = _wider_interval(left, right)
        return both, both, BIGINT if operator == "div" else both
    if ANY in (left, right) and operator in ("+", "-"):
        left, right = (TIMESTAMP if each == ANY else each for each in (left, right))
    kind, other = (left, right) if is_interval(left) else (right, left)
    if NULL in (left, right) and operator in ("+", "-"):
        return kind, kind, kind
    if {STRING, NULL} & {left, right} and operator in ("*", "/"):
        left, right, other = (DOUBLE if each in (STRING, NULL) else each for each in (left, right, other))
    if operator in ("*", "/"):
        if not (is_numeric(other) and other != NUMBER) or (operator == "/" and kind == right):
            return None
        return left, right, YEAR_MONTH if is_year_month(kind) else DAY_TIME
    if operator in ("+", "-") and other == STRING and not is_year_month(kind) and (operator, left) != ("-", kind):
        return (kind, TIMESTAMP, STRING) if left == kind else (TIMESTAMP, kind, STRING)
    if operator not in ("+", "-") or other not in _DATETIMES or (operator == "-" and kind == left):
        return None
    if other == DATE and not is_year_month(kind) and kind != DAYS:
        other = TIMESTAMP
    return (left, other, other) if kind == left else (other, right, other)


def _calendar_arithmetic(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type] | None:
    """Calendar intervals with each other, with moments and texts, and with numbers."""
    is_left = left == CALENDAR_INTERVAL
    other = right if is_left else left
    if operator in ("*", "/"):
        fits = (is_numeric(other) and other != NUMBER) or other in (STRING, NULL)
        if not fits or (operator == "/" and not is_left):
            return None
        return (left, DOUBLE, left) if is_left else (DOUBLE, right, right)
    if operator not in ("+", "-"):
        return None
    if left == right:
        return left, left, left
    moment = TIMESTAMP if other in (STRING, ANY) else other
    if moment not in _DATETIMES or (operator == "-" and is_left):
        return None
    returns = STRING if other == STRING else moment
    return (left, moment, returns) if is_left else (moment, right, returns)


def _difference(left: Type, right: Type) -> tuple[Type, Type, Type]:
    """A moment minus a moment: days between dates, else the time between the wall clocks."""
    texts = (STRING, ANY)
    left, right = (right if left in texts else left), (left if right in texts else right)
    both = max(left, right, key=_DATETIMES.index)
    return both, both, DAYS if both == DATE else DAY_TIME


def _moment_beside_null(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type] | None:
    """NULL is an interval in a sum, a moment in a difference."""
    moment = right if left == NULL else left
    if operator == "-":
        return moment, moment, DAYS if moment == DATE else DAY_TIME
    if operator != "+":
        return None
    moment = TIMESTAMP if moment == DATE else moment
    return (DAY_TIME, moment, moment) if left == NULL else (moment, DAY_TIME, moment)


def _date_arithmetic(operator: str, left: Type, right: Type) -> tuple[Type, Type, Type] | None:
    days = (TINYINT, SMALLINT, INT)
    if operator in ("+", "-") and left == DATE and right in days:
        return DATE, INT, DATE
    if operator == "+" and left in days and right == DATE:
        return INT, DATE, DATE
    return None


class _Typed:
    """An operand of which only the type is known."""

    is_constant = False
    folded = False
    value = None

    def __init__(self, type_: Type) -> None:
        self.type = type_
