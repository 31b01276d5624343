"""What CloudEvents SQL means by its types: casts that fail as it says, and equality between values of any kind.

An error of CESQL is NULL: a missing attribute, a cast that fails, an argument out of range. The kinds of CESQL are
boolean, 32-bit integer and string; a value of any other kind, such as 1.5, is its text. No function here is one of
Spark's, and each may be called by name in any condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tamis.functions.registry import Argument, ArgumentError, Function, Signature, Vector, check_count, register
from tamis.functions.rows import Scalar, apply_strict
from tamis.functions.strings import LONGEST
from tamis.functions.vectorization import text_vector
from tamis.values.casts import Caster, caster
from tamis.values.column import Column, Value
from tamis.values.types import (
    ANY,
    BOOLEAN,
    INT,
    NESTED,
    NULL,
    NUMBER,
    STRING,
    Type,
    integer_bounds,
    is_integral,
    is_numeric,
)

_LEAST, _GREATEST = integer_bounds(INT)
_WHOLE = re.compile(r"[+-]?0*[0-9]{1,10}", re.ASCII)


def to_int(value: Value) -> int | None:
    """The value as CESQL's Integer, None where it cannot be cast.

    >>> to_int("+12"), to_int(True), to_int("1.5"), to_int("2147483648")
    (12, 1, None, None)
    """
    if isinstance(value, str):
        value = int(value) if _WHOLE.fullmatch(value) else None
    return int(value) if isinstance(value, int) and _LEAST <= value <= _GREATEST else None


def to_boolean(value: Value) -> bool | None:
    """The value as CESQL's Boolean, None where it cannot be cast.

    >>> to_boolean("TRUE"), to_boolean(7), to_boolean("yes")
    (True, True, None)
    """
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return bool(value) if isinstance(value, int) else None


def _kind(arguments: Sequence[Argument], place: int) -> Type:
    """The type in which an argument is taken: a type of CESQL, or `any`; what has another type is text."""
    found = arguments[place].type
    if found.name in NESTED:
        msg = f"expected a value, found {found}"
        raise ArgumentError(msg, place)
    if is_integral(found):
        return INT
    return found if found in (ANY, BOOLEAN, STRING, NULL) else STRING


def _one(returns: Type) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 1)
        return Signature((_kind(arguments, 0),), returns, zone)

    return resolve


def _rows(scalar: Scalar) -> Vector:
    """One call for each text that occurs, where all arguments but one are constant; `any` goes row by row."""
    by_text = text_vector(scalar)

    def vector(signature: Signature, columns: Sequence[Column]) -> Column:
        if ANY in signature.parameters:
            return apply_strict(scalar, signature.returns, columns)
        return by_text(signature, columns)

    return vector


def _define(name: str, resolve: Callable[[Sequence[Argument], str], Signature], scalar: Scalar) -> None:
    register(Function(name, resolve, lambda _: scalar, _rows(scalar)))


_define("cesql_int", _one(INT), to_int)
_define("cesql_bool", _one(BOOLEAN), to_boolean)
_define("cesql_is_int", _one(BOOLEAN), lambda value: to_int(value) is not None)
_define("cesql_is_bool", _one(BOOLEAN), lambda value: to_boolean(value) is not None)


# --- numbers with fractions -------------------------------------------------------------------------------------


def _resolve_number(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if is_numeric(arguments[0].type):
        return Signature((arguments[0].type,), arguments[0].type, zone)
    kind = _kind(arguments, 0)
    return Signature((kind,), NUMBER if kind == ANY else INT, zone)


def _bind_number(signature: Signature) -> Scalar:
    if is_numeric(signature.parameters[0]):
        return lambda value: value
    return lambda value: value if isinstance(value, float) else to_int(value)


register(Function("cesql_number", _resolve_number, _bind_number))


# --- equality ---------------------------------------------------------------------------------------------------


def _resolve_equal(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    return Signature((_kind(arguments, 0), _kind(arguments, 1)), BOOLEAN, zone)


def _bind_equal(signature: Signature) -> Scalar:
    """The left value is cast to the kind of the right one."""
    left_text, right_text = (caster(each, STRING, signature.zone) for each in signature.parameters)

    def scalar(left: Value, right: Value) -> bool | None:
        cast: Caster
        if isinstance(right, bool):
            cast = to_boolean
        elif isinstance(right, int):
            cast = to_int
        else:
            cast, right = left_text, right_text(right)
        found = cast(left)
        return None if found is None or right is None else found == right

    return scalar


register(Function("cesql_equal", _resolve_equal, _bind_equal))


def _resolve_in(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    return Signature((_kind(arguments, 0),) * len(arguments), BOOLEAN, zone)


def _in(value: Value, *items: Value) -> bool | None:
    """Is the value equal to an item? NULL if an item before that is."""
    for item in items:
        if value is None or item is None:
            return None
        if value == item:
            return True
    return False


register(Function("cesql_in", _resolve_in, lambda _: _in, sees_null=True))


# --- texts ---------------------------------------------------------------------------------------------


def _resolve_texts(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    return Signature((STRING,) * len(arguments), STRING, zone)


def _join(separator: str, *texts: str) -> str | None:
    length = sum(map(len, texts)) + len(separator) * len(texts)
    return separator.join(texts) if length <= LONGEST else None


def _left(text: str, length: int) -> str | None:
    return text[:length] if length >= 0 else None


def _right(text: str, length: int) -> str | None:
    return None if length < 0 else text[-length:] if length else ""


def _substring(text: str, start: int, length: int = _GREATEST) -> str | None:
    if length < 0 or abs(start) > len(text):
        return None
    first = start - 1 if start > 0 else len(text) + start
    return text[first : first + length] if start else ""


def _part(optional: int = 0) -> Callable[[Sequence[Argument], str], Signature]:
    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 2, 2 + optional)
        return Signature((STRING,) + (INT,) * (len(arguments) - 1), STRING, zone)

    return resolve


_define("cesql_concat_ws", _resolve_texts, _join)
_define("cesql_left", _part(), _left)
_define("cesql_right", _part(), _right)
_define("cesql_substring", _part(optional=1), _substring)
