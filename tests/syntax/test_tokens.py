"""The tokeniser: kinds and ranges of tokens."""

from __future__ import annotations

import pytest

from tamis.syntax.tokens import KEYWORDS, SPACES, Kind, tokenise


def kinds(text: str) -> list[str]:
    return [Kind(kind).name for kind in tokenise(text).kinds[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1 _b Straße 1a 1e3x", ["NAME"] * 5),
        ("`a``b`", ["QUOTED_NAME"]),
        ("'a''b' \"c\\\"d\" r'\\'", ["STRING", "STRING", "RAW_STRING"]),
        ("1 1.5 .5 1e3 1.5E-3", ["INTEGER", "DECIMAL", "DECIMAL", "EXPONENT", "EXPONENT"]),
        ("1L 2y 3.5d 4bd 1.5x", ["SUFFIXED"] * 4 + ["BAD_CHARACTER"]),
        ("<=> <= <> != == = ->", ["NULL_SAFE_EQ", "LE", "NE", "NE", "EQ", "EQ", "ARROW"]),
        ("a::int || b", ["NAME", "CAST_COLONS", "NAME", "CONCAT", "NAME"]),
        ("and AND aNd android", ["AND", "AND", "AND", "NAME"]),
        ("a -- rest\nb /* x /* y */ z */ c", ["NAME", "NAME", "NAME"]),
        ("?p ?", ["VARIABLE", "BAD_CHARACTER"]),
        ("'open", ["BAD_STRING"]),
        ("/* open", ["BAD_COMMENT"]),
        ("`` `open", ["BAD_NAME", "BAD_NAME"]),
        ("", []),
    ],
)
def test_kinds_of_tokens(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(("word", "kind"), KEYWORDS.items())
def test_every_keyword_is_recognised_in_any_case(word: str, kind: Kind) -> None:
    assert tokenise(word).kinds[0] == tokenise(word.upper()).kinds[0] == kind


def test_ranges_count_characters_not_bytes() -> None:
    tokens = tokenise("é = 'ü😀' ")
    assert [tokens.word(at) for at in range(len(tokens.kinds))] == ["é", "=", "'ü😀'", ""]
    assert tokens.lower_words[0] == "é"


def test_a_keyword_has_ascii_letters_only() -> None:
    assert kinds("li\u212ae like") == ["NAME", "LIKE"], "the lower case of the Kelvin sign is a k"


@pytest.mark.parametrize("space", SPACES)
def test_white_space_beyond_ascii_separates_tokens(space: str) -> None:
    tokens = tokenise(f"price{space}<{space}5")
    assert [tokens.word(at) for at in range(4)] == ["price", "<", "5", ""]


def test_letters_marks_and_digits_of_any_script_make_names_and_signs_do_not() -> None:
    assert [Kind(kind).name for kind in tokenise("größe हिन्दी").kinds] == ["NAME", "NAME", "END"]
    assert [Kind(kind).name for kind in tokenise("price≤5").kinds] == ["NAME", "BAD_CHARACTER", "INTEGER", "END"]
    assert [Kind(kind).name for kind in tokenise("'≤\u00a0' `a≤b`").kinds] == ["STRING", "QUOTED_NAME", "END"]
