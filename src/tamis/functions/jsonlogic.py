"""Values as JavaScript converts them, of which the dialect JSONLogic is made.

`js_number`, `js_float`, `js_text` and `js_truth` are Number(), parseFloat(), String() and truthiness, the last but
for an empty array, which JSONLogic takes for false. NaN is NULL, because nothing compares with it; null is 0, no
number, a text that the call says, and false. Arrays and objects are no numbers and have no text here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from tamis.functions.registry import (
    Argument,
    Function,
    Resolve,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.values.casts import double_of
from tamis.values.column import Value
from tamis.values.types import ANY, BOOLEAN, DOUBLE, INT, NULL, NUMBER, STRING, Type, is_numeric

_BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
_DECIMAL = r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_WHOLE_TEXT = re.compile(_DECIMAL)
_RADIX = re.compile(r"0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")


def js_number(value: Value) -> float | None:
    """Number(value); None if that is NaN.

    >>> js_number(" 0x10 "), js_number(""), js_number("1a"), js_number(True), js_number(None)
    (16.0, 0.0, None, 1.0, 0.0)
    """
    if isinstance(value, str):
        text = value.strip(_BLANKS)
        if _RADIX.fullmatch(text):
            return double_of(int(text, 0))
        return float(text or 0) if not text or _WHOLE_TEXT.fullmatch(text) else None
    if isinstance(value, list | dict):
        return None
    return _number_or_null(double_of(value or 0))


def js_float(value: Value) -> float | None:
    """parseFloat(value): the number with which a text begins.

    >>> js_float("3.5 kg"), js_float(""), js_float(True), js_float(2)
    (3.5, None, None, 2.0)
    """
    if isinstance(value, str):
        found = _WHOLE_TEXT.match(value.lstrip(_BLANKS))
        return None if found is None else float(found[0])
    return None if value is None or isinstance(value, bool | list | dict) else _number_or_null(double_of(value))


def _number_or_null(number: float) -> float | None:
    return None if math.isnan(number) else number


def js_text(value: Value, null: str = "") -> str | None:
    """String(value); `null` for null.

    >>> js_text(5.0), js_text(1e21), js_text(1.5e-7), js_text(None), js_text(True)
    ('5', '1e+21', '1.5e-7', '', 'true')
    """
    if value is None or isinstance(value, str):
        return null if value is None else value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        return None
    number = double_of(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int), "it is finite"
    written, point = "".join(map(str, digits)), len(digits) + exponent
    if -6 < point <= 21:
        text = format(Decimal((0, digits, exponent)), "f")
    else:
        tail = f".{written[1:]}" if len(written) > 1 else ""
        text = f"{written[0]}{tail}e{point - 1:+d}"
    return f"-{text}" if sign and number else text


def js_truth(value: Value) -> bool:
    """Is it true, as JSONLogic has it? Not null, false, 0, NaN, '' and an empty array.

    >>> js_truth("0"), js_truth([]), js_truth({}), js_truth(0.0)
    (True, False, True, False)
    """
    return isinstance(value, dict) or (bool(value) and not (isinstance(value, float) and math.isnan(value)))


def _substr(text: str, start: int, length: int | None = None) -> str:
    """A negative start counts from the end; a negative length leaves out so many characters at the end."""
    rest = text[start if start >= 0 else max(0, len(text) + start) :]
    return rest[:length]


def _of_any(returns: Type, *rest: Type) -> Resolve:
    """A value of any type; decimals count as doubles, dates and the like as their text."""

    def resolve(arguments: Sequence[Argument], zone: str) -> Signature:
        check_count(arguments, 1, 1 + len(rest))
        given = arguments[0].type
        plain = given in (ANY, NULL, BOOLEAN, STRING) or given.element is not None or given.fields
        kept = given if plain else NUMBER if is_numeric(given) else STRING
        return Signature((kept, *rest)[: len(arguments)], returns, zone)

    return resolve


def _resolve_extreme(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    return Signature((DOUBLE,) * len(arguments), DOUBLE, zone)


def _define(name: str, scalar: Callable[..., Value], returns: Type, *rest: Type) -> None:
    register(Function(name, _of_any(returns, *rest), always(scalar), sees_null=True))


_define("js_number", js_number, DOUBLE)
_define("js_float", js_float, DOUBLE)
_define("js_text", js_text, STRING, STRING)
_define("js_truth", js_truth, BOOLEAN)
register(Function("js_substr", takes(STRING, INT, INT, returns=STRING, optional=1), always(_substr)))
register(Function("js_min", _resolve_extreme, always(lambda *values: min(values))))
register(Function("js_max", _resolve_extreme, always(lambda *values: max(values))))
