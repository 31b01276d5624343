"""Tokens with their places, and a cursor that says what it expected."""

from __future__ import annotations

import re

import pytest

from tamis.language.dialects.tokens import TokenCursor, read_tokens
from tamis.limits import Limits
from tamis.syntax.cursor import SyntaxFailure

PATTERN = re.compile(r"\s*(?:(?P<word>\w+)|(?P<sign>[=()])|(?P<end>\Z)|(?P<bad>.))", re.DOTALL)


def cursor(text: str) -> TokenCursor:
    return TokenCursor(read_tokens(PATTERN, text, ("AND",)), Limits(depth=2))


def test_keywords_and_signs_are_kinds_of_their_own() -> None:
    tokens = read_tokens(PATTERN, "a = and ?", ("AND",))
    assert [(token.kind, token.span) for token in tokens] == [
        ("word", (0, 1)),
        ("=", (2, 3)),
        ("AND", (4, 7)),
        ("bad", (8, 9)),
        ("end", (9, 10)),
    ]


def test_reading_advances_and_the_end_stays() -> None:
    reader = cursor("a and")
    assert reader.accept("AND") is None
    assert reader.expect("a name", "word").text == "a"
    assert reader.accept("AND") is not None
    assert reader.accept("end") == reader.accept("end")
    assert reader.span(0) == (0, 5)


@pytest.mark.parametrize(
    ("text", "message", "start"),
    [("", "expected a name, found the end", 0), (" =", "expected a name, found '='", 1)],
)
def test_refusals_have_a_place(text: str, message: str, start: int) -> None:
    with pytest.raises(SyntaxFailure) as caught:
        cursor(text).expect("a name", "word")
    assert (caught.value.problem.message, caught.value.problem.start) == (message, start)


def test_nesting_has_a_limit() -> None:
    reader = cursor("a")
    reader.deeper()
    reader.deeper()
    with pytest.raises(SyntaxFailure):
        reader.deeper()
