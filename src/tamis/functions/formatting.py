"""Text made of parts and parts of text: format_string, elt, parse_url; typeof.

`format_string` knows the conversions of Java that mean the same for Spark's values; others are refused when the
condition is registered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

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
from tamis.values.casts import caster
from tamis.values.types import (
    ANY,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    Type,
    is_decimal,
    is_integral,
)

_LONGEST = 1_000_000
_CONVERSION = re.compile(r"%(?:(\d+)\$)?([-+0, ]*)(\d{1,6})?(?:\.(\d{1,6}))?([a-zA-Z%])")


def _conversions(arguments: Sequence[Argument]) -> list[tuple[re.Match[str], int]]:
    """The conversions of a format and the argument of each, from 1; raises ArgumentError."""
    text = arguments[0].value
    if not arguments[0].is_constant or not isinstance(text, str):
        msg = "expected a constant format (string)"
        raise ArgumentError(msg, 0)
    rest = _CONVERSION.sub("", text)
    if "%" in rest:
        msg = f"the format has a `%` without a conversion at offset {text.find('%')}"
        raise ArgumentError(msg, 0)
    found: list[tuple[re.Match[str], int]] = []
    following = 0
    for each in _CONVERSION.finditer(text):
        if each[5] == "%":
            continue
        following += each[1] is None
        place = int(each[1]) if each[1] else following
        if not 1 <= place < len(arguments):
            msg = f"there is no argument for `{each[0]}`"
            raise ArgumentError(msg, 0)
        if not _fits(each, arguments[place].type):
            msg = f"`{each[0]}` does not format {arguments[place].type}"
            raise ArgumentError(msg, place, "use %s, %d, %x, %X, %o, %b, %f or %e, with a width and a precision")
        found.append((each, place))
    return found


def _fits(conversion: re.Match[str], type_: Type) -> bool:
    _, flags, width, precision, kind = conversion.groups()
    if "-" in flags and width is None:
        return False
    if kind == "s":
        plain = type_ in (STRING, BOOLEAN, DOUBLE, NULL) or is_integral(type_) or is_decimal(type_)
        return plain and not set(flags) - {"-"}
    if kind in "dxXo":
        allowed = {"-", "0", "+", ",", " "} if kind == "d" else {"-", "0"}
        return is_integral(type_) and precision is None and not set(flags) - allowed
    if kind == "b":
        return type_ == BOOLEAN and not flags
    return kind in "fe" and type_ in (FLOAT, DOUBLE) and not set(flags) - {"-", "0", "+"}


def _resolve_format(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1)
    _conversions(arguments)
    types = [STRING if each.type in (NULL, ANY) else each.type for each in arguments]
    return Signature(tuple(types), STRING, zone)


def _bind_format(signature: Signature) -> Scalar:
    texts = [caster(type_, STRING, signature.zone) for type_ in signature.parameters]

    def scalar(text: str | None, *values: Any) -> str | None:
        if text is None:
            return None
        following = 0

        def convert(found: re.Match[str]) -> str:
            nonlocal following
            if found[5] == "%":
                return "%"
            following += found[1] is None
            place = int(found[1]) if found[1] else following
            return _format_value(found, values[place - 1], signature.parameters[place], texts[place])

        result = _CONVERSION.sub(convert, text)
        return result if len(result) <= _LONGEST else None

    return scalar


def _format_value(conversion: re.Match[str], value: Any, type_: Type, to_text: Callable[[Any], Any]) -> str:
    _, flags, width, precision, kind = conversion.groups()
    if value is None or kind in "sb":
        missing = "false" if kind == "b" else "NULL" if kind == "X" else "null"
        text = missing if value is None else to_text(value)
        text = text[: int(precision)] if precision is not None else text
    elif kind in "xXo":
        unsigned = value & (1 << INTEGER_BITS[type_]) - 1
        text = f"{unsigned:{kind}}"
    elif kind == "d":
        text = f"{value:{'+' if '+' in flags else ' ' if ' ' in flags else ''}{',' if ',' in flags else ''}d}"
    else:
        text = _real(value, kind, 6 if precision is None else int(precision), "+" if "+" in flags else "")
    if "0" in flags and value is not None and width and text[-1:].isalnum() and text not in ("NaN", "Infinity"):
        return text.zfill(int(width))
    size = int(width or 0)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _real(value: float, kind: str, places: int, sign: str) -> str:
    """A double by its shortest digits, rounded half up, as Java's Formatter does."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    exact = Decimal(repr(value))
    if kind == "f":
        return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):{sign}f}"
    exponent = exact.adjusted() if exact else 0
    digits = exact.scaleb(-exponent).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    if abs(digits) >= 10:
        exponent, digits = exponent + 1, digits.scaleb(-1).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return f"{digits:{sign}f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _resolve_elt(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2)
    type_ = BINARY if all(each.type == BINARY for each in arguments[1:]) else STRING
    return Signature((INT, *(type_ for _ in arguments[1:])), type_, zone)


def _elt(place: int | None, *values: Any) -> Any:
    return values[place - 1] if place is not None and 1 <= place <= len(values) else None


# URLs

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})")
_SERVER = re.compile(r"(?:([^@]*)@)?(\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?)(?::\d*)?")


def _parse_url(url: str, part: str, *key: str) -> str | None:
    found = _URL.fullmatch(url)
    if (
        found is None
        or _FORBIDDEN.search(url)
        or (found[2] is None and found[1] is None and ":" in url.partition("/")[0])
    ):
        return None
    protocol, authority, path, query, fragment = found.groups()
    if key and part != "QUERY":
        return None
    if protocol is not None and authority is None and not path.startswith("/"):
        return protocol if part == "PROTOCOL" else fragment if part == "REF" else None  # such as mailto:a@b
    server = _SERVER.fullmatch(authority or "")
    values = {
        "HOST": server and server[2],
        "PATH": path,
        "QUERY": query,
        "REF": fragment,
        "PROTOCOL": protocol,
        "FILE": path if query is None else f"{path}?{query}",
        "AUTHORITY": authority or None,
        "USERINFO": server and server[1],
    }
    value = values.get(part)
    if not key or value is None:
        return value
    sought = re.search(f"(?:^|&){re.escape(key[0])}=([^&]*)", value)
    return sought and sought[1]


# Types


def _resolve_typeof(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 1, 1)
    if arguments[0].type == ANY:
        msg = "a value of a schemaless event has a type of its own in every event"
        raise ArgumentError(msg, 0)
    return Signature((arguments[0].type,), STRING, zone)


def _bind_typeof(signature: Signature) -> Scalar:
    name = "void" if signature.parameters[0] == NULL else str(signature.parameters[0])
    return lambda _: name


register(Function("format_string", _resolve_format, _bind_format, sees_null=True), "printf")
register(Function("elt", _resolve_elt, always(_elt), sees_null=True))
register(
    Function("parse_url", takes(STRING, STRING, STRING, returns=STRING, optional=1), always(_parse_url)),
    "try_parse_url",
)
register(Function("typeof", _resolve_typeof, _bind_typeof, sees_null=True))
