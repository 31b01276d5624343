"""Calls with a grammar of their own: CAST(x AS t), EXTRACT(f FROM x), TRIM(BOTH x FROM y) and the like.

Each function starts after the opening parenthesis and reads the closing one. A new form is a function and a line
in `SPECIAL_FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tamis.syntax.tokens import Kind
from tamis.syntax.tree import TESTS, Cast, Expression, FunctionCall, Literal
from tamis.values.types import STRING

if TYPE_CHECKING:
    from tamis.syntax.parser import ConditionParser

COMPARISON = 6
"""The precedence of comparisons; `tamis.syntax.parser` has the whole order."""


def ordinary_call(parser: ConditionParser, start: int, word: str, first: Expression | None = None) -> Expression:
    """An ordinary call; the caller may have read the first argument."""
    arguments = tuple(parser.comma_separated(first))
    if word in TESTS:
        raise parser.failure(f"there is no function {word!r}", start, f"write x {word.replace('_', ' ').upper()}")
    return FunctionCall(word, arguments, parser.span_from(start))


def _cast(parser: ConditionParser, start: int, _word: str) -> Expression:
    operand = parser.condition(0)
    if not parser.accept_word("as"):
        raise parser.failure_here("AS and a type")
    type_ = parser.type_name()
    parser.expect(Kind.RIGHT_PAREN, ")")
    return Cast(operand, type_, parser.span_from(start))


def _extract(parser: ConditionParser, start: int, _word: str) -> Expression:
    field_start = parser.at
    field = parser.part_of_name().lower()
    literal = Literal(STRING, field, parser.span_from(field_start))
    if not parser.accept_word("from"):
        raise parser.failure_here("FROM")
    source = parser.condition(0)
    parser.expect(Kind.RIGHT_PAREN, ")")
    return FunctionCall("date_part", (literal, source), parser.span_from(start))


def _with_unit(function: str) -> Callable[[ConditionParser, int, str], Expression]:
    """timestampadd(MONTH, 1, x): the first argument may be the bare name of a unit."""

    def form(parser: ConditionParser, start: int, word: str) -> Expression:
        unit = parser.tokens.lower_words[parser.at]
        if parser.kinds[parser.at] != Kind.NAME or unit not in _UNITS or parser.kinds[parser.at + 1] != Kind.COMMA:
            return ordinary_call(parser, start, word)
        unit_start = parser.at
        parser.at += 2
        literal = Literal(STRING, unit, (parser.tokens.starts[unit_start], parser.tokens.ends[unit_start]))
        arguments = (literal, *parser.comma_separated())
        called = function if len(arguments) == 3 else word
        return FunctionCall(called, arguments, parser.span_from(start))

    return form


_UNITS = (
    *("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond"),
    "microsecond",
)


def _substring(parser: ConditionParser, start: int, word: str) -> Expression:
    arguments = [parser.condition(0)]
    if not parser.accept_word("from"):
        return ordinary_call(parser, start, word, arguments[0])
    arguments.append(parser.condition(0))
    if parser.accept_word("for"):
        arguments.append(parser.condition(0))
    parser.expect(Kind.RIGHT_PAREN, ")")
    return FunctionCall(word, tuple(arguments), parser.span_from(start))


def _overlay(parser: ConditionParser, start: int, word: str) -> Expression:
    arguments = [parser.condition(0)]
    if not parser.accept_word("placing"):
        return ordinary_call(parser, start, word, arguments[0])
    arguments.append(parser.condition(0))
    for between in ("from", "for"):
        if parser.accept_word(between):
            arguments.append(parser.condition(0))
    parser.expect(Kind.RIGHT_PAREN, ")")
    return FunctionCall(word, tuple(arguments), parser.span_from(start))


def _trim(parser: ConditionParser, start: int, word: str) -> Expression:
    side = parser.tokens.lower_words[parser.at]
    following = parser.kinds[parser.at + 1]
    if side in ("both", "leading", "trailing") and following not in (Kind.RIGHT_PAREN, Kind.COMMA, Kind.DOT):
        parser.at += 1
    else:
        side = "both"
    characters = None if parser.tokens.lower_words[parser.at] == "from" else parser.condition(0)
    if not parser.accept_word("from"):
        return ordinary_call(parser, start, word, characters)
    source = parser.condition(0)
    parser.expect(Kind.RIGHT_PAREN, ")")
    function = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[side]
    if characters is None:
        return FunctionCall(function, (source,), parser.span_from(start))
    # Called as functions, the one-sided ones take the characters first and btrim takes them last.
    arguments = (source, characters) if side == "both" else (characters, source)
    return FunctionCall(function, arguments, parser.span_from(start))


def _position(parser: ConditionParser, start: int, word: str) -> Expression:
    sought = parser.value(COMPARISON)
    if not parser.accept(Kind.IN):
        return ordinary_call(parser, start, word, sought)
    source = parser.value(COMPARISON)
    parser.expect(Kind.RIGHT_PAREN, ")")
    return FunctionCall(word, (sought, source), parser.span_from(start))


SPECIAL_FORMS: dict[str, Callable[[ConditionParser, int, str], Expression]] = {
    "cast": _cast,
    "try_cast": _cast,
    "extract": _extract,
    "substring": _substring,
    "substr": _substring,
    "trim": _trim,
    "overlay": _overlay,
    "position": _position,
    **dict.fromkeys(("timestampadd", "dateadd", "date_add"), _with_unit("timestampadd")),
    **dict.fromkeys(("timestampdiff", "datediff", "date_diff", "timediff"), _with_unit("timestampdiff")),
}
FUNCTION_KEYWORDS = (Kind.LIKE, Kind.ILIKE, Kind.RLIKE, Kind.REGEXP, Kind.DIV)
"""Keywords that may also be called as functions."""
