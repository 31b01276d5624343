"""Upper, lower and title case of text, as ICU 78 (Unicode 17) defines them in its root locale.

Python's own mappings follow the same rules, but an older version of Unicode. What was added after Unicode 14
(that of Python 3.11) is listed here; on a newer Python the tables repeat what it knows.
"""

from __future__ import annotations

from collections.abc import Iterable

_SIGMA = "Σ"

# First and last capital, and the distance to its small letter.
_NEW_CAPITALS = (
    (0x1C89, 0x1C89, 1),
    (0xA7CB, 0xA7CB, 0x264 - 0xA7CB),
    (0xA7CC, 0xA7CC, 1),
    (0xA7CE, 0xA7CE, 1),
    (0xA7D2, 0xA7D2, 1),
    (0xA7D4, 0xA7D4, 1),
    (0xA7DA, 0xA7DA, 1),
    (0xA7DC, 0xA7DC, 0x19B - 0xA7DC),
    (0x10D50, 0x10D65, 0x20),
    (0x16EA0, 0x16EB8, 0x1B),
)
# Additions to the properties `Cased` and `Case_Ignorable`, on which only the form of a small sigma depends.
_NEW_CASED = (
    (0x1C89, 0x1C8A),
    (0xA7CB, 0xA7CF),
    (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4),
    (0xA7DA, 0xA7DC),
    (0x10D50, 0x10D65),
    (0x10D70, 0x10D85),
    (0x16EA0, 0x16EB8),
    (0x16EBB, 0x16ED3),
    (0x1DF25, 0x1DF2A),
)
_NEW_IGNORABLE = (
    (0x897, 0x897),
    (0xECE, 0xECE),
    (0x1ACF, 0x1ADD),
    (0x1AE0, 0x1AEB),
    (0xA7F1, 0xA7F1),
    (0x10D4E, 0x10D4E),
    (0x10D69, 0x10D6D),
    (0x10D6F, 0x10D6F),
    (0x10EC5, 0x10EC5),
    (0x10EFA, 0x10EFF),
    (0x11241, 0x11241),
    (0x113BB, 0x113C0),
    (0x113CE, 0x113CE),
    (0x113D0, 0x113D0),
    (0x113D2, 0x113D2),
    (0x113E1, 0x113E2),
    (0x11B60, 0x11B60),
    (0x11B62, 0x11B64),
    (0x11B66, 0x11B66),
    (0x11DD9, 0x11DD9),
    (0x11F00, 0x11F01),
    (0x11F36, 0x11F3A),
    (0x11F40, 0x11F40),
    (0x11F42, 0x11F42),
    (0x11F5A, 0x11F5A),
    (0x13439, 0x13440),
    (0x13447, 0x13455),
    (0x1611E, 0x16129),
    (0x1612D, 0x1612F),
    (0x16D40, 0x16D42),
    (0x16D6B, 0x16D6C),
    (0x16FF2, 0x16FF3),
    (0x1E030, 0x1E06D),
    (0x1E08F, 0x1E08F),
    (0x1E4EB, 0x1E4EF),
    (0x1E5EE, 0x1E5EF),
    (0x1E6E3, 0x1E6E3),
    (0x1E6E6, 0x1E6E6),
    (0x1E6EE, 0x1E6EF),
    (0x1E6F5, 0x1E6F5),
    (0x1E6FF, 0x1E6FF),
)
_NO_LONGER_SPECIAL = ((0x295, 0x295), (0x1171E, 0x1171E))


def _each(ranges: Iterable[tuple[int, int]]) -> Iterable[int]:
    return (point for first, last in ranges for point in range(first, last + 1))


_TO_SMALL = {
    point: point + distance for first, last, distance in _NEW_CAPITALS for point in range(first, last + 1)
}
_TO_CAPITAL = {small: capital for capital, small in _TO_SMALL.items()}

# Substitutes of the same property and length that every version of Python knows: cased, ignorable, neither.
_SUBSTITUTES = {
    **dict.fromkeys(_each(_NEW_CASED), "a"),
    **dict.fromkeys(_each(_NEW_IGNORABLE), "'"),
    **dict.fromkeys(_each(_NO_LONGER_SPECIAL), "-"),
    ord("İ"): "a",  # the one letter whose lower case is two
}


def lower(text: str) -> str:
    """`text` in lower case.

    >>> lower("ΟΔΟΣ")
    'οδος'
    """
    if text.isascii():
        return text.lower()
    return _small_sigmas(text).translate(_TO_SMALL).lower()


def upper(text: str) -> str:
    """`text` in upper case.

    >>> upper("straße")
    'STRASSE'
    """
    return text.upper() if text.isascii() else text.translate(_TO_CAPITAL).upper()


def title(text: str) -> str:
    """First letters in title case and the others in lower case; only the blank U+0020 separates words.

    >>> title("o'NEIL x-RAY")
    "O'neil X-ray"
    """
    words = _small_sigmas(text).split(" ")
    return " ".join(
        word[:1].translate(_TO_CAPITAL).title() + word[1:].translate(_TO_SMALL).lower() for word in words
    )


def _small_sigmas(text: str) -> str:
    """`text` with small sigmas for capital ones, in the final form at the end of a word."""
    if _SIGMA not in text:
        return text
    lowered = text.translate(_SUBSTITUTES).lower()
    return "".join(small if letter == _SIGMA else letter for letter, small in zip(text, lowered, strict=True))
