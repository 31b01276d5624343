"""Case, by the values that ICU gives (through Spark's lower, upper and initcap)."""

from __future__ import annotations

import pytest

from tamis.values import letter_case


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ΟΔΟΣ", "οδος"),
        ("ΣΑΣ Σ", "\u03c3\u03b1ς \u03c3"),
        ("AΣ'B", "a\u03c3'b"),
        ("İ", "i̇"),
        ("İΣ", "i̇ς"),
        ("\ua7dc", "\u019b"),
        ("\u0295Σ", "\u0295\u03c3"),
        ("\ua7dcΣ", "\u019bς"),
        ("a\u0897Σ", "a\u0897ς"),
    ],
)
def test_lower(text: str, wanted: str) -> None:
    assert letter_case.lower(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("ßﬁŉ", "SSFI\u02bcN"), ("\u019b", "\ua7dc"), ("ǆ", "Ǆ"), ("i", "I")]
)
def test_upper(text: str, wanted: str) -> None:
    assert letter_case.upper(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("áBC dEF\tx", "Ábc Def\tx"),
        (" a  b ", " A  B "),
        ("x-ray o'NEIL", "X-ray O'neil"),
        ("ǆa ΣΑΣ ςα", "ǅa Σας Σα"),
        ("", ""),
    ],
)
def test_title(text: str, wanted: str) -> None:
    assert letter_case.title(text) == wanted
