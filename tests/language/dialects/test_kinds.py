"""Operands by their kinds: readings, comparisons of several kinds, and what is not equal because kinds differ."""

from __future__ import annotations

from tamis.language.dialects.kinds import (
    ANY_KIND,
    NUMBER,
    TEXT,
    TRUTH,
    Operand,
    by_kinds,
    connect,
    is_plain,
    otherwise,
)
from tamis.syntax.printing import to_text
from tamis.syntax.tree import FunctionCall, Literal, Name
from tamis.values.types import INT

SPAN = (0, 1)
A, B = Operand(Name(("a",), SPAN), ANY_KIND), Operand(Name(("b",), SPAN), ANY_KIND)
FIVE = Operand(Literal(INT, 5, SPAN), NUMBER)


def test_an_attribute_is_read_as_the_kind_that_is_asked_for() -> None:
    assert to_text(A.as_kind(TEXT)) == "text_of(a)"
    assert to_text(FIVE.as_kind(NUMBER)) == "5"
    both = Operand(A.tree, ANY_KIND, {TEXT: B.tree})
    assert both.as_kind(TEXT) == B.tree
    assert (A.kinds(), both.kinds(), FIVE.kinds()) == ((TEXT, NUMBER, TRUTH), (TEXT,), (NUMBER,))
    assert (is_plain(A), is_plain(FIVE), is_plain(both)) == (True, True, False)


def test_comparisons_by_several_kinds() -> None:
    assert to_text(by_kinds("=", A, FIVE, (NUMBER,), SPAN)) == "number_of(a) = 5"
    found = by_kinds("<", A, B, (NUMBER, TEXT), SPAN)
    assert to_text(found) == "coalesce(number_of(a) < number_of(b), text_of(a) < text_of(b))"


def test_another_kind_is_not_equal_but_what_is_missing_is_unknown() -> None:
    test = by_kinds("=", A, FIVE, (NUMBER,), SPAN)
    found = otherwise(test, (A, FIVE), False, SPAN)
    assert to_text(found) == "coalesce(number_of(a) = 5, if(a IS NULL, NULL, FALSE))"
    assert otherwise(test, (FIVE,), False, SPAN) is test


def test_runs_are_flat() -> None:
    inner = FunctionCall("and", (A.tree, B.tree), SPAN)
    assert to_text(connect("and", [inner, A.tree], SPAN)) == "a AND b AND a"
