"""Literals of intervals: INTERVAL '1 02:03' DAY TO MINUTE, INTERVAL 1 DAY 2 HOURS, INTERVAL '1 day 2 hours'.

They become one literal, whose type has the fields that are written. Years and months never mix with days and less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from tamis.syntax.tokens import Kind
from tamis.syntax.tree import Literal
from tamis.values.intervals import in_range, read_fields, unit_of
from tamis.values.types import INTERVAL_FIELDS, interval

if TYPE_CHECKING:
    from tamis.syntax.parser import ConditionParser

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.STRING)
_PAIRS = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s+([a-z]+)", re.IGNORECASE | re.ASCII)
_HINT = "write INTERVAL '1 02:30:00' DAY TO SECOND, INTERVAL 2 HOURS or INTERVAL '1-6' YEAR TO MONTH"


def begins_interval(parser: ConditionParser) -> bool:
    """Is the word INTERVAL, which is next, that of a literal and no attribute?"""
    at = parser.at + 1
    at += parser.kinds[at] in (Kind.MINUS, Kind.PLUS)
    if parser.kinds[at] == Kind.STRING:
        return True
    return parser.kinds[at] in _NUMBERS and unit_of(parser.tokens.lower_words[at + 1]) is not None


def interval_literal(parser: ConditionParser) -> Literal:
    """Read the literal."""
    start = parser.at
    parser.at += 1
    pairs: list[tuple[str, str]] = []
    while True:
        sign = {Kind.MINUS: "-", Kind.PLUS: "+"}.get(Kind(parser.kinds[parser.at]), "")
        quantity = parser.at + bool(sign)
        unit = parser.tokens.lower_words[quantity + 1] if parser.kinds[quantity] != Kind.END else ""
        if parser.kinds[quantity] not in _NUMBERS or (pairs and unit_of(unit) is None):
            break
        parser.at = quantity + 1
        word = parser.tokens.word(quantity)
        quoted = parser.kinds[quantity] == Kind.STRING
        text = _with_sign(sign, word[1:-1]) if quoted else sign + word
        if unit_of(unit) is None:
            if sign:
                msg = "a list of quantities has its signs inside of the quotes"
                raise parser.failure(msg, start, _HINT)
            return _whole(parser, start, _PAIRS.findall(text) if _is_list(text) else [])
        parser.at += 1
        if not pairs and parser.tokens.lower_words[parser.at] == "to":
            last = parser.tokens.lower_words[parser.at + 1]
            parser.at += 2 if last else 1
            return _fields(parser, start, text, unit, last)
        pairs.append((text, unit))
    return _whole(parser, start, [("", text, unit) for text, unit in pairs])


def _with_sign(sign: str, text: str) -> str:
    """The text in quotes after a sign: -'-1' is 1."""
    bare = text.strip()
    if sign == "-" and bare.startswith("-"):
        return bare[1:]
    return text if sign == "+" else sign + text


def _is_list(text: str) -> bool:
    return _PAIRS.sub("", text).strip() == ""


def _fields(parser: ConditionParser, start: int, text: str, first: str, last: str) -> Literal:
    """From one field to another, as `1 02:30` from DAY TO MINUTE."""
    names = [name.removesuffix("s") for name in (first, last)]
    if any(name not in INTERVAL_FIELDS for name in names):
        msg = f"{last!r} is not a field of an interval"
        raise parser.failure(msg, start, _HINT)
    places = [INTERVAL_FIELDS.index(name) for name in names]
    if places[0] >= places[1] or places[0] < 2 <= places[1]:
        msg = f"there is no interval from {first} to {last}"
        raise parser.failure(msg, start, _HINT)
    type_ = interval(*places)
    value = read_fields(text, type_)
    if value is None:
        msg = f"{text!r} is not an {type_}"
        raise parser.failure(msg, start, _HINT)
    return Literal(type_, value, parser.span_from(start))


def _whole(parser: ConditionParser, start: int, parts: Sequence[tuple[str, str, str]]) -> Literal:
    """The sum of quantities with units."""
    total, places = 0, []
    for sign, text, unit in parts:
        known = unit_of(unit)
        try:
            number = Decimal(sign + text.strip())
        except ArithmeticError:
            msg = f"{text!r} is not a number of {unit}"
            raise parser.failure(msg, start, _HINT) from None
        if known is None or (number != int(number) and unit.rstrip("s") != "second"):
            msg = f"{sign}{text} {unit} is not part of an interval"
            raise parser.failure(msg, start, _HINT)
        places.append(known[0])
        total += int(number * known[1])
    if not places or min(places) < 2 <= max(places):
        raise parser.failure("years and months do not mix with days" if places else "no interval", start, _HINT)
    type_ = interval(min(places), max(places))
    if in_range(total, type_) is None:
        msg = "the interval is too long"
        raise parser.failure(msg, start)
    return Literal(type_, total, parser.span_from(start))
