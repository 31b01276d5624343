"""Texts in other forms: percent-encoding, quoted, in another base, overlaid, or as a collation compares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote_plus, unquote_to_bytes

from tamis.functions.registry import (
    Argument,
    ArgumentError,
    Function,
    Resolve,
    Signature,
    always,
    check_count,
    register,
    takes,
)
from tamis.functions.rows import Scalar
from tamis.functions.vectorization import text_vector
from tamis.values.types import ANY, BINARY, INT, NULL, STRING, wrap_integer

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_BASE = 36
_BAD_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_LONG = 1 << 64
_LONGEST = (1 << 31) - 1


def _define(name: str, *other_names: str, resolve: Resolve, scalar: Scalar) -> None:
    register(Function(name, resolve, always(scalar), text_vector(scalar)), *other_names)


def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def _url_decode(text: str) -> str | None:
    if _BAD_PERCENT.search(text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def _conv(text: str, base: int, target: int) -> str | None:
    """A whole number in another base; a negative target base keeps the sign, and others wrap to 64 bits."""
    text = text.strip(" ")
    if not (2 <= base <= _MOST_BASE and 2 <= abs(target) <= _MOST_BASE and text):
        return None
    negative, digits = text[0] == "-", text.lstrip("-") if text[0] == "-" else text
    number = 0
    for sign in digits.upper():
        digit = _DIGITS.find(sign)
        if not 0 <= digit < base:
            break
        number = number * base + digit
        if number >= _LONG:
            return None  # Spark raises
    if negative and target > 0:
        number = -number % _LONG if number < _LONG >> 1 else _LONG - 1
    out = ""
    while number:
        number, digit = divmod(number, abs(target))
        out = _DIGITS[digit] + out
    return ("-" if negative and target < 0 and out else "") + (out or "0")


def _find_in_set(text: str, texts: str) -> int:
    items = texts.split(",")
    return items.index(text) + 1 if "," not in text and text in items else 0


def _overlay(text: str, other: str, place: int, length: int = -1) -> str:
    kept = len(other) if length < 0 else length
    before, after = (wrap_integer(each, 32) for each in (place - 1, place + kept))
    return _substring(text, 1, before) + other + _substring(text, after, _LONGEST)


def _substring(text: str, start: int, length: int) -> str:
    """Spark's: places count from 1, negative ones from the end."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)]


def lcase_key(text: str) -> str:
    """What the collation UTF8_LCASE compares: every character in lower case by itself, sigma in one form.

    >>> lcase_key("STRASSE ΟΔΟΣ İ")
    'strasse οδοσ i̇'
    """
    return "".join("\u03c3" if sign == "\u03c2" else sign.lower() for sign in text)


def _resolve_key(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if arguments[0].type not in (STRING, NULL, ANY):
        msg = f"a collation is one of texts, found {arguments[0].type}"
        raise ArgumentError(msg, 0)
    return Signature((STRING,), STRING, zone)


def _resolve_overlay(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 3, 4)
    if BINARY in (arguments[0].type, arguments[1].type):
        msg = "expected texts, found binary"
        raise ArgumentError(msg, 0)
    return Signature((STRING, STRING, INT, INT)[: len(arguments)], STRING, zone)


_define("url_encode", resolve=takes(STRING, returns=STRING), scalar=_url_encode)
_define("url_decode", "try_url_decode", resolve=takes(STRING, returns=STRING), scalar=_url_decode)
_define("quote", resolve=takes(STRING, returns=STRING), scalar=_quote)
_define("conv", resolve=takes(STRING, INT, INT, returns=STRING), scalar=_conv)
_define("find_in_set", resolve=takes(STRING, STRING, returns=INT), scalar=_find_in_set)
_define("overlay", resolve=_resolve_overlay, scalar=_overlay)
_define("lcase_key", resolve=_resolve_key, scalar=lcase_key)
