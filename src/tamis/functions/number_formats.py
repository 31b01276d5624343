"""Numbers by formats such as `S$9,990.99`: to_number reads them, to_char writes them.

A format is a constant `[S|MI] [$] digits [. digits] [S|MI|PR]`; digits are 0 and 9, with commas between groups
before the point. A group that begins with 0 has all of its digits, one that begins with 9 may have fewer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tamis.functions.date_formats import check_pattern
from tamis.functions.registry import (
    FUNCTIONS,
    Argument,
    ArgumentError,
    Function,
    Signature,
    check_count,
    register,
)
from tamis.functions.rows import Scalar
from tamis.values.casts import caster
from tamis.values.types import (
    ANY,
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    decimal,
    is_decimal,
    is_integral,
)

_FORMAT = re.compile(r"(S|MI)?(\$)?([09]+(?:,[09]+)*)?(?:(\.)([09]*))?(S|MI|PR)?")
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What a format says; `sign` is S or MI, `end` S, MI or PR, and at most one of them is there."""

    sign: str
    has_dollar: bool
    groups: tuple[str, ...]
    has_point: bool
    scale: int
    end: str

    @property
    def precision(self) -> int:
        return sum(map(len, self.groups)) + self.scale


@lru_cache(maxsize=4096)
def parse_format(text: str) -> NumberFormat | None:
    """The format that a text is, None if it is none.

    >>> parse_format("S9,990.99")
    NumberFormat(sign='S', has_dollar=False, groups=('9', '990'), has_point=True, scale=2, end='')
    """
    found = _FORMAT.fullmatch(text.upper().replace("G", ",").replace("D", "."))
    if found is None:
        return None
    sign, dollar, whole, point, fraction, end = (part or "" for part in found.groups())
    parsed = NumberFormat(
        sign, bool(dollar), tuple(whole.split(",")) if whole else (), bool(point), len(fraction), end
    )
    return parsed if 0 < parsed.precision <= _MOST_DIGITS and not (sign and end in ("S", "MI")) else None


def read_number(text: str, form: NumberFormat) -> int | None:
    """The unscaled number of a text, None if it does not fit the format; blanks among the digits do not count."""
    at, negative, bracket = 0, False, False

    def accept(signs: str) -> str:
        nonlocal at
        found = text[at : at + 1]
        if not found or found not in signs:
            return ""
        at += 1
        return found

    if form.end == "PR":
        bracket = bool(accept("<"))
    if form.sign:
        negative = accept("+-" if form.sign == "S" else "-") == "-"
    if form.has_dollar and not accept("$"):
        return None
    start = at
    while accept("0123456789, \t\n\r\f\v"):
        pass
    groups = "".join(text[start:at].split()).split(",")
    if not _fit(groups, form.groups):
        return None
    fraction = ""
    if form.has_point and accept("."):
        start = at
        while accept("0123456789 \t\n\r\f\v"):
            pass
        fraction = "".join(text[start:at].split())
    if form.end in ("S", "MI"):
        negative = accept("+-" if form.end == "S" else "-") == "-"
    if bracket and not accept(">"):
        return None
    digits = "".join(groups)
    if at < len(text) or len(fraction) > form.scale or not digits + fraction:
        return None
    number = int((digits + fraction.ljust(form.scale, "0")) or "0")
    return -number if negative or bracket else number


def _fit(groups: list[str], wanted: tuple[str, ...]) -> bool:
    """Groups are aligned at the point; those that are missing must begin with 9."""
    if len(groups) > max(1, len(wanted)):
        return False
    padded = [""] * (len(wanted) - len(groups)) + groups
    if not wanted:
        return padded == [""]
    return all(
        len(found) == len(form) if form[0] == "0" else len(found) <= len(form)
        for found, form in zip(padded, wanted, strict=True)
    )


def write_number(value: int, scale: int, form: NumberFormat) -> str:
    """A number with `scale` digits after the point as text; `#` instead of digits if it does not fit."""
    digits = str(abs(value)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale].lstrip("0"), digits[len(digits) - scale :].rstrip("0")
    places = sum(map(len, form.groups))
    fits = len(whole) <= places and len(fraction) <= form.scale
    is_negative = value < 0
    lead = {"S": "-" if is_negative else "+", "MI": "-" if is_negative else " "}.get(form.sign, "")
    lead = "<" if form.end == "PR" and is_negative else lead
    body = _write_whole(whole.rjust(places, "0"), form) if fits else " ".join("#" * len(g) for g in form.groups)
    blanks = len(body) - len(body.lstrip(" "))
    # Blanks stand before the sign, but after a currency sign.
    text = f"{lead}${body}" if form.has_dollar else f"{' ' * blanks}{lead}{body[blanks:]}"
    if form.has_point:
        text = f"{text[:-1]}0" if text.endswith(" ") else text
        text += ("." if form.scale else " ") + (fraction.ljust(form.scale, "0") if fits else "#" * form.scale)
    end = {"S": "-" if is_negative else "+", "MI": "-" if is_negative else " "}.get(form.end, "")
    if form.end == "PR":
        end = ">" if is_negative else "  "
    kept = text.rstrip(" ")
    return f"{kept}{end}{text[len(kept) :]}" if form.scale == 0 and not form.has_point else text + end


def _write_whole(digits: str, form: NumberFormat) -> str:
    out: list[str] = []
    at, is_significant = 0, False
    for number, group in enumerate(form.groups):
        if number:
            out.append("," if out and out[-1] != " " else " ")
        for _ in group:
            is_significant |= digits[at] != "0"
            out.append(digits[at] if is_significant or group[0] == "0" else " ")
            at += 1
    return "".join(out)


def _check_format(arguments: Sequence[Argument]) -> NumberFormat | None:
    check_count(arguments, 2, 2)
    given = arguments[1]
    if not given.is_constant or given.type not in (STRING, NULL):
        msg = f"expected a constant format (string), found {given.type}"
        raise ArgumentError(msg, 1)
    if given.value is None:
        return None
    found = parse_format(given.value)
    if found is None:
        msg = f"{given.value!r} is not a format of numbers"
        raise ArgumentError(msg, 1, "write [S|MI] [$] 0, 9 and commas, a point and digits, [S|MI|PR]: S$9,990.99")
    return found


def _resolve_to_number(arguments: Sequence[Argument], zone: str) -> Signature:
    found = _check_format(arguments)
    returns = decimal(10, 0) if found is None else decimal(found.precision, found.scale)
    return Signature((STRING, STRING), returns, zone)


def _read(text: str, form: str) -> int | None:
    parsed = parse_format(form)
    return None if parsed is None else read_number(text, parsed)


def _resolve_to_char(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    given = arguments[0].type
    if given in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        check_pattern(arguments[1], 1, reading=False)
        return FUNCTIONS["date_format"].resolve(arguments, zone)
    if given == BINARY:
        if not arguments[1].is_constant or str(arguments[1].value).lower() not in _OF_BYTES:
            msg = f"expected one of {', '.join(_OF_BYTES)}"
            raise ArgumentError(msg, 1)
        return Signature((BINARY, STRING), STRING, zone)
    if given == ANY:
        msg = "a value of a schemaless event has a type of its own in every event"
        raise ArgumentError(msg, 0, "cast it: try_cast(x AS decimal(10,2))")
    _check_format(arguments)
    return Signature((_decimal_of(given), STRING), STRING, zone)


def _decimal_of(given: Type) -> Type:
    """The decimal that Spark casts a number to."""
    if is_decimal(given):
        return given
    if is_integral(given):
        return decimal({"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}[given.name], 0)
    return decimal(14, 7) if given == FLOAT else decimal(30, 15) if given == DOUBLE else decimal(38, 18)


_OF_BYTES = {"hex": "hex", "base64": "base64", "utf-8": "decode"}


def _bind_to_char(signature: Signature) -> Scalar:
    given = signature.parameters[0]
    if given == BINARY:
        to_text = caster(BINARY, STRING, signature.zone)

        def of_bytes(value: bytes, form: str) -> str | None:
            name = _OF_BYTES[form.lower()]
            if name == "decode":
                text: str | None = to_text(value)
                return text
            function = FUNCTIONS[name]
            found: str | None = function.bind(Signature((BINARY,), STRING))(value)
            return found

        return of_bytes
    if not is_decimal(given):
        return FUNCTIONS["date_format"].bind(signature)

    def write(value: int, form: str) -> str | None:
        parsed = parse_format(form)
        return None if parsed is None else write_number(value, given.scale, parsed)

    return write


register(Function("to_number", _resolve_to_number, lambda _: _read), "try_to_number")
register(Function("to_char", _resolve_to_char, _bind_to_char), "to_varchar")
