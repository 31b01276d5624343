"""LIKE, ILIKE, RLIKE: golden matches, errors, no explosion; batches equal single rows."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tamis.errors import PatternError
from tamis.functions import FUNCTIONS, like
from tamis.functions.like import Wildcard, compile_like, parse_like
from tamis.functions.registry import Argument, ArgumentError
from tamis.syntax.regex import translate
from tamis.values.column import column_of
from tamis.values.types import INT, STRING

ONE, MANY = Wildcard.ONE, Wildcard.MANY


def text(value: str | None) -> Argument:
    return Argument(STRING, is_constant=True, value=value)


def applied(name: str, rows: list[tuple[Any, ...]]) -> list[Any]:
    function = FUNCTIONS[name]
    signature = function.resolve([Argument(STRING), text(rows[0][1]), *map(text, rows[0][2:])], "UTC")
    results = [function.scalar(signature)(*row) for row in rows]
    columns = [column_of(STRING, list(values)) for values in zip(*rows, strict=True)]
    assert function.apply(signature, columns, len(rows)).to_list() == results
    return results


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("", ()),
        ("abc", ("abc",)),
        ("abc%", ("abc", MANY)),
        ("%abc", (MANY, "abc")),
        ("%%a%%", (MANY, "a", MANY)),
        ("a_b", ("a", ONE, "b")),
        (r"50\%\_\\", ("50%_\\",)),
    ],
)
def test_parts_of_a_pattern(pattern: str, parts: tuple[Any, ...]) -> None:
    assert parse_like(pattern) == parts


@pytest.mark.parametrize(("pattern", "position"), [("ab\\", 2), ("a\\b", 1)])
def test_an_escape_stands_before_something_special(pattern: str, position: int) -> None:
    with pytest.raises(PatternError) as found:
        parse_like(pattern)
    assert found.value.position == position


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("a", "a%", True),
        ("A\nB", "a_b", False),
        ("a\nb", "%b", True),
        ("😀", "_", True),
        ("a%", r"a\%", True),
        ("ab", r"a\%", False),
        ("", "%", True),
        ("", "_", False),
        ("aXbXc", "a%b%c", True),
        ("ab", "ab%b", False),
        ("aaaa", "aaa%aa", False),
        ("abcabd", "%ab_", True),
        (None, "%", None),
    ],
)
def test_like(value: str | None, pattern: str, expected: bool | None) -> None:
    assert applied("like", [(value, pattern), ("other", pattern)])[0] == expected


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [("A\nB", "a_b", True), ("é", "É", True), ("ß", "SS", False), ("ẞ", "ß", True), ("Σ", "ς", False)],
)
def test_ilike_compares_lower_case(value: str, pattern: str, expected: bool) -> None:
    assert applied("ilike", [(value, pattern)]) == [expected]


def test_another_escape_character() -> None:
    assert applied("like", [("a%", "a/%", "/"), ("ab", "a/%", "/")]) == [True, False]
    assert applied("like", [("a%b", "a%%b", "%")]) == [True]
    with pytest.raises(ArgumentError, match="one character"):
        FUNCTIONS["like"].resolve([Argument(STRING), text("a"), text("//")], "UTC")


def test_a_bad_constant_pattern_is_refused() -> None:
    with pytest.raises(ArgumentError) as found:
        FUNCTIONS["like"].resolve([Argument(STRING), text("a\\b")], "UTC")
    assert found.value.argument == 1


def test_a_bad_pattern_of_an_event_gives_null() -> None:
    signature = FUNCTIONS["like"].resolve([Argument(STRING), Argument(STRING)], "UTC")
    columns = [column_of(STRING, ["a", "a", "a", None]), column_of(STRING, ["a\\", "a%", None, "%"])]
    assert FUNCTIONS["like"].apply(signature, columns, 4).to_list() == [None, True, None, None]
    assert FUNCTIONS["like"].scalar(signature)("a", "a\\") is None


def _as_regex(pattern: str) -> re.Pattern[str]:
    parts = [".*" if each == "%" else "." if each == "_" else re.escape(each) for each in pattern]
    return re.compile("".join(parts), re.DOTALL)


@given(st.text("ab", max_size=12), st.text("ab%_", max_size=8))
def test_like_matches_what_its_regular_expression_matches(value: str, pattern: str) -> None:
    assert compile_like(pattern)(value) == (_as_regex(pattern).fullmatch(value) is not None)


def test_like_does_not_backtrack() -> None:
    assert not compile_like("%a" * 200 + "%b")("a" * 20_000)


def test_rlike_finds_a_match_anywhere() -> None:
    assert applied("rlike", [("xaby", "a[bc]"), ("abc", "a[bc]"), ("b", "a[bc]"), (None, "a[bc]")]) == [
        True,
        True,
        False,
        None,
    ]
    assert FUNCTIONS["regexp"] is FUNCTIONS["regexp_like"] is FUNCTIONS["rlike"]


def test_rlike_takes_a_constant_pattern() -> None:
    for pattern in (Argument(STRING), Argument(INT, is_constant=True, value=1)):
        with pytest.raises(ArgumentError, match="expected a constant pattern"):
            FUNCTIONS["rlike"].resolve([Argument(STRING), pattern], "UTC")


def test_a_bad_regular_expression_is_refused() -> None:
    with pytest.raises(ArgumentError) as found:
        FUNCTIONS["rlike"].resolve([Argument(STRING), text("a(")], "UTC")
    assert found.value.argument == 1


_PIECES = (
    "word",
    "été",
    "ab",
    "-",
    " ",
    "1",
    ".*",
    ".",
    "+",
    "?",
    "*",
    "(",
    ")",
    "|",
    "^",
    "$",
    "[a-z]",
    "[",
    "]",
)
_RARE_PIECES = ("{2}", "{999}", "(?i)", r"\d", r"\b", "(?=a)", "++", "[[a]b]", r"\Qword\E")


@given(st.lists(st.sampled_from(_PIECES * 4 + _RARE_PIECES), max_size=10).map("".join))
@example("(word$)a")
@example("word" * 240 + "$")
def test_a_pattern_of_a_known_shape_is_supported(pattern: str) -> None:
    like._shape_cost.cache_clear()
    if like._has_known_shape(pattern):
        found = pc.match_substring_regex(pa.array(["word"]), translate(pattern))
        assert found.to_pylist() in ([True], [False])


def test_shapes_are_checked_once() -> None:
    like._shape_cost.cache_clear()
    words = ("alpha", "omega", "brême", "été")
    assert all(like._has_known_shape(f"^{word} .*{word[:3]}( {word})?[0-9]+$") for word in words)
    assert like._shape_cost.cache_info().misses == 1
    assert not like._has_known_shape("(word")
    assert not like._has_known_shape("(abc$)def")
