"""Patterns of Lucene: translated, or refused with the place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import PatternError
from tamis.functions.like import parse_like
from tamis.language.dialects.lucene_patterns import (
    anchor,
    like_literal,
    regex_literal,
    regexp_to_java,
    wildcard_to_like,
    wildcard_to_regex,
)
from tamis.syntax.regex import translate


@pytest.mark.parametrize(
    ("pattern", "like", "regex"),
    [
        ("a*b?", "a%b_", "a.*b."),
        ("50%_", "50\\%\\_", "50\\%_"),
        (r"\*\?\\", r"*?\\", r"\*\?\\"),
        ("a.b", "a.b", r"a\.b"),
        ("", "", ""),
    ],
)
def test_wildcards(pattern: str, like: str, regex: str) -> None:
    assert wildcard_to_like(pattern) == like
    assert wildcard_to_regex(pattern) == regex


@given(st.text())
def test_a_literal_is_found_as_a_whole(text: str) -> None:
    assert "".join(part for part in parse_like(like_literal(text)) if isinstance(part, str)) == text
    if len(text) < 50:
        assert translate(anchor(regex_literal(text)))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("ab?c", ["ac", "abc"], ["abbc", "xac"]),
        ("a.c", ["a\nc", "abc"], ["ac"]),
        ("(ab|c)+", ["ab", "cabc"], ["", "a"]),
        ("[a-c^-]{2,3}", ["a-", "^bc"], ["a", "abca", "d"]),
        ("[^a]", ["b", "\n"], ["a", "bb"]),
        ("[&[]x", ["&x", "[x"], ["]x"]),
        (r"\.\*\^\$\"\~", ['.*^$"~'], ["a"]),
        (r"\d\W", ["1-"], ["11", "a-"]),
        ("a,b c", ["a,b c"], ["abc"]),
        ("ü+", ["üü"], ["u"]),
    ],
)
def test_regular_expressions(pattern: str, matching: list[str], others: list[str]) -> None:
    java = anchor(regexp_to_java(pattern))
    assert translate(java), "our own RLIKE takes it"
    python = re.compile(java.replace(r"\z", r"\Z"))
    assert all(python.search(text) for text in matching)
    assert not any(python.search(text) for text in others)


@pytest.mark.parametrize(
    ("pattern", "at", "message"),
    [
        ("a~b", 1, "~ is the complement in Lucene"),
        ("^a", 0, "^ is itself, not an anchor, in Lucene"),
        ("a$", 1, "$ is itself, not an anchor, in Lucene"),
        ("<1-10>", 0, "< is a range of numbers in Lucene"),
        ('"a"', 0, '" is a quoted string in Lucene'),
        ("a@", 1, "@ is any string in Lucene"),
        ("a*?", 2, "a quantifier behind a quantifier"),
        ("*a", 0, "* repeats nothing"),
        ("(?i)a", 1, "? repeats nothing"),
        ("a|+", 2, "+ repeats nothing"),
        ("a{x}", 1, "expected numbers between the braces"),
        ("a}", 1, "expected a { before }"),
        ("a]", 1, "expected a [ before ]"),
        ("[]", 0, "a class needs a character and a ]"),
        ("[a", 0, "a class needs a character and a ]"),
        ("a\\", 1, "a backslash stands before"),
        (r"a\s", 1, r"\s is not the same"),
        (r"a\1", 1, r"\1 is not the same"),
    ],
)
def test_refusals(pattern: str, at: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        regexp_to_java(pattern)
    assert caught.value.message.startswith(message)
    assert caught.value.position == at


def test_a_wildcard_does_not_end_with_a_backslash() -> None:
    with pytest.raises(PatternError, match="a backslash stands before"):
        wildcard_to_like("a\\")
