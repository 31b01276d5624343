"""Constants as a condition writes them: numbers with their suffixes, and strings with their escapes.

Each reader takes the text of one token and returns a value in the form of `tamis.values.types`, or a sentence
that says what is wrong with it.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

from tamis.values.column import Value
from tamis.values.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    TINYINT,
    Type,
    decimal,
    integer_bounds,
)

_SUFFIXES = {"y": TINYINT, "s": SMALLINT, "l": BIGINT, "f": FLOAT, "d": DOUBLE}


def read_number(text: str, *, negative: bool = False) -> tuple[Type, Value] | str:
    """Type and value of a number token, its sign apart (so that -2147483648 is an int).

    >>> read_number("300"), read_number("5L"), read_number("0.05")
    ((Type(name='int', ...), 300), (Type(name='bigint', ...), 5), (Type(name='decimal', ...), 5))
    """
    text = text.lower()
    sign = -1 if negative else 1
    if text.endswith("bd"):
        return _decimal(text[:-2], sign)
    suffix = _SUFFIXES.get(text[-1])
    if suffix in (FLOAT, DOUBLE):
        return _floating(suffix, text[:-1], sign)
    if suffix is not None:
        return _integer((suffix,), text[:-1], sign)
    if "e" in text:
        return _floating(DOUBLE, text, sign)
    if "." in text:
        return _decimal(text, sign)
    return _integer((INT, BIGINT), text, sign)


def _integer(types: tuple[Type, ...], digits: str, sign: int) -> tuple[Type, Value] | str:
    digits = digits.lstrip("0") or "0"
    if len(digits) > MAX_PRECISION:
        return f"a number has {MAX_PRECISION} digits at most"
    value = sign * int(digits)
    for type_ in types:
        least, greatest = integer_bounds(type_)
        if least <= value <= greatest:
            return type_, value
    if len(types) == 1:
        return f"{value} is outside {types[0]}"
    return decimal(len(digits), 0), value


def _decimal(text: str, sign: int) -> tuple[Type, Value] | str:
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale) if any(digits) else max(1, scale)
    if precision > MAX_PRECISION:
        return f"a decimal has {MAX_PRECISION} digits at most"
    unscaled = int("".join(map(str, digits))) * 10 ** max(0, exponent)
    return decimal(precision, scale), sign * unscaled


def _floating(type_: Type, text: str, sign: int) -> tuple[Type, Value] | str:
    value = sign * float(text)
    if type_ == FLOAT:
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            value = math.inf
    if math.isinf(value):
        return f"the number is outside {type_}"
    return type_, value


_ESCAPE = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))|''|\"\"",
    re.DOTALL,
)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def read_string(token: str) -> str | None:
    """The value of a quoted string token, or None if it holds half a surrogate pair."""
    quote = token[0]

    def replace(found: re.Match[str]) -> str:
        short, long, octal, single = found.groups()
        if short or long:
            code = int(short or long, 16)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
        if octal:
            return chr(int(octal, 8))
        if single:
            return _NAMED.get(single, single)
        return quote if found.group()[0] == quote else found.group()

    value = _ESCAPE.sub(replace, token[1:-1]) if "\\" in token or quote * 2 in token[1:-1] else token[1:-1]
    # Two escapes may form the surrogate pair of one character.
    if any("\ud800" <= character <= "\udfff" for character in value):
        try:
            value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            return None
    return value


def write_string(value: str) -> str:
    """A quoted string that reads back as `value`."""
    out = value.replace("\\", "\\\\").replace("'", "\\'")
    for name, character in (("u0000", "\0"), ("n", "\n"), ("r", "\r"), ("t", "\t"), ("b", "\b"), ("Z", "\x1a")):
        out = out.replace(character, "\\" + name)
    return f"'{out}'"


def write_number(type_: Type, value: Value) -> str:
    """A number token, with its sign, that reads back as this type and value."""
    if type_ == INT:
        return str(value)
    if type_ in _SUFFIXES.values():
        letter = next(letter for letter, suffix in _SUFFIXES.items() if suffix == type_)
        return f"{value!r}{letter.upper()}"
    digits = str(abs(value)).rjust(type_.scale + 1, "0")
    whole, fraction = digits[: len(digits) - type_.scale], digits[len(digits) - type_.scale :]
    sign = "-" if value < 0 else ""
    text = f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    if fraction and whole == "0" and type_.precision == type_.scale:
        return text
    return text if fraction else f"{text}BD"
