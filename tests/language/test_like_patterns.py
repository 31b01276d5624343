"""LIKE patterns: prefixes and exact strings are ranges, the others have one spelling."""

from __future__ import annotations

import pytest

from tamis.functions.like import parse_like
from tamis.language.like_patterns import canonical_like, escape_like, like_ranges
from tamis.values.ranges import comparison_ranges, starting_with
from tamis.values.types import STRING


@pytest.mark.parametrize(
    ("pattern", "ranges"),
    [
        ("", comparison_ranges(STRING, "=", "")),
        ("abc", comparison_ranges(STRING, "=", "abc")),
        (r"a\%c", comparison_ranges(STRING, "=", "a%c")),
        ("%", starting_with("")),
        ("ab%%", starting_with("ab")),
        ("%b", None),
        ("a_", None),
        ("a%b", None),
    ],
)
def test_the_ranges_of_a_pattern(pattern: str, ranges: object) -> None:
    assert like_ranges(parse_like(pattern)) == ranges


@pytest.mark.parametrize(("pattern", "escape"), [("50!%%!_", "!"), (r"50\%%\_", "\\")])
def test_the_escape_character_makes_no_difference(pattern: str, escape: str) -> None:
    assert canonical_like(parse_like(pattern, escape)) == r"50\%%\_"


@pytest.mark.parametrize("text", ["", "a%b_c", "\\", "100%"])
def test_an_escaped_text_is_itself(text: str) -> None:
    assert parse_like(escape_like(text)) == ((text,) if text else ())
