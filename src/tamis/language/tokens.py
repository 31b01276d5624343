"""The tokeniser: one kernel over the UTF-8 bytes of a whole column of conditions.

There is no other tokeniser. `tokenise` gives the parser the tokens of one text, `tokenise_column` gives the
bulk compiler those of many; both call the same kernel. Tokens carry a kind and a byte range, never text, so
that nothing is allocated per token. White space and comments produce no tokens. What is not a token becomes
one of the `BAD_*` kinds: the kernel never fails.

Words are one kind, `NAME`, but for the few keywords that shape a condition; a keyword is recognised by its
letters packed into 64 bits, whatever their case.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt


class Kind(IntEnum):
    """What a token is. Keywords stand together at the end, from `AND` on."""

    END = 0
    NAME = 1
    QUOTED_NAME = 2
    STRING = 3
    RAW_STRING = 4
    INTEGER = 5
    DECIMAL = 6
    EXPONENT = 7
    SUFFIXED = 8
    LEFT_PAREN = 9
    RIGHT_PAREN = 10
    LEFT_BRACKET = 11
    RIGHT_BRACKET = 12
    COMMA = 13
    DOT = 14
    PLUS = 15
    MINUS = 16
    STAR = 17
    SLASH = 18
    PERCENT = 19
    EQ = 20
    NE = 21
    LT = 22
    LE = 23
    GT = 24
    GE = 25
    NULL_SAFE_EQ = 26
    ARROW = 27
    CAST_COLONS = 28
    CONCAT = 29
    AMPERSAND = 30
    PIPE = 31
    HAT = 32
    TILDE = 33
    BANG = 34
    VARIABLE = 35
    BAD_CHARACTER = 36
    BAD_STRING = 37
    BAD_COMMENT = 38
    BAD_NAME = 39
    AND = 40
    OR = 41
    XOR = 42
    NOT = 43
    BETWEEN = 44
    IN = 45
    LIKE = 46
    ILIKE = 47
    RLIKE = 48
    REGEXP = 49
    IS = 50
    NULL = 51
    TRUE = 52
    FALSE = 53
    ESCAPE = 54
    CASE = 55
    WHEN = 56
    THEN = 57
    ELSE = 58
    END_CASE = 59
    DIV = 60


KEYWORDS = {("end" if kind is Kind.END_CASE else kind.name.lower()): kind for kind in Kind if kind >= Kind.AND}
"""Words that cannot be an attribute's name unless quoted with back quotes."""


def _packed(word: str) -> int:
    return int.from_bytes(word.encode(), "little")


_ordered = sorted(KEYWORDS.items(), key=lambda item: _packed(item[0]))
_KEYWORD_LETTERS = np.array([_packed(word) for word, _ in _ordered], np.uint64)
_KEYWORD_KINDS = np.array([kind for _, kind in _ordered], np.uint8)

# Classes of bytes: 0 other, 1 space, 2 digit, 3 letter or underscore or non-ASCII, 4 operator character.
_SPACE, _DIGIT, _LETTER, _OPERATOR = 1, 2, 3, 4
_CLASS = np.zeros(256, np.uint8)
_CLASS[[9, 10, 11, 12, 13, 32]] = _SPACE
_CLASS[48:58] = _DIGIT
_CLASS[65:91] = _CLASS[97:123] = _CLASS[95] = _LETTER
_CLASS[128:] = _LETTER

_SINGLE = np.zeros(256, np.uint8)
for _character, _kind in {
    "(": Kind.LEFT_PAREN,
    ")": Kind.RIGHT_PAREN,
    "[": Kind.LEFT_BRACKET,
    "]": Kind.RIGHT_BRACKET,
    ",": Kind.COMMA,
    ".": Kind.DOT,
    "+": Kind.PLUS,
    "-": Kind.MINUS,
    "*": Kind.STAR,
    "/": Kind.SLASH,
    "%": Kind.PERCENT,
    "=": Kind.EQ,
    "<": Kind.LT,
    ">": Kind.GT,
    "&": Kind.AMPERSAND,
    "|": Kind.PIPE,
    "^": Kind.HAT,
    "~": Kind.TILDE,
    "!": Kind.BANG,
}.items():
    _SINGLE[ord(_character)] = _kind

_PAIRS = np.zeros((256, 256), np.uint8)
for _operator, _kind in {
    "==": Kind.EQ,
    "<>": Kind.NE,
    "!=": Kind.NE,
    "<=": Kind.LE,
    ">=": Kind.GE,
    "->": Kind.ARROW,
    "::": Kind.CAST_COLONS,
    "||": Kind.CONCAT,
}.items():
    _PAIRS[ord(_operator[0]), ord(_operator[1])] = _kind


@numba.njit(cache=True, nogil=True)
def _scan(
    text: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    kinds: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int32],
    ends: npt.NDArray[np.int32],
    firsts: npt.NDArray[np.int64],
) -> None:
    """Tokenise every text `text[offsets[i]:offsets[i+1]]`; `firsts[i]` is the place of its first token.

    Token ranges are relative to the text's start. Each text ends with one END token. The three token
    arrays are at least as long as the bytes plus the texts.
    """
    at = 0
    for row in range(len(offsets) - 1):
        base = offsets[row]
        stop = offsets[row + 1]
        firsts[row] = at
        i = base
        while i < stop:
            c = text[i]
            class_ = _CLASS[c]
            if class_ == 1:
                i += 1
                continue
            start = i
            kind = 0
            if class_ == 3:
                letters = np.uint64(0)
                while i < stop and (_CLASS[text[i]] == 3 or _CLASS[text[i]] == 2):
                    if i - start < 8:
                        b = text[i]
                        if 65 <= b <= 90:
                            b = b + np.uint8(32)
                        letters |= np.uint64(b) << np.uint64(8 * (i - start))
                    i += 1
                kind = 1
                if i - start <= 8:
                    low = np.searchsorted(_KEYWORD_LETTERS, letters)
                    if low < len(_KEYWORD_LETTERS) and _KEYWORD_LETTERS[low] == letters:
                        kind = int(_KEYWORD_KINDS[low])
                    elif i - start == 1 and letters == 114 and i < stop and (text[i] == 39 or text[i] == 34):
                        quote = text[i]
                        i += 1
                        while i < stop and text[i] != quote:
                            i += 1
                        kind = 4
                        if i >= stop:
                            kind = 37
                        else:
                            i += 1
            elif class_ == 2 or (c == 46 and i + 1 < stop and _CLASS[text[i + 1]] == 2):
                kind, i = _number(text, i, stop)
            elif c == 39 or c == 34:
                i += 1
                kind = 37
                while i < stop:
                    if text[i] == 92:
                        i += 2
                    elif text[i] == c:
                        i += 1
                        if i < stop and text[i] == c:
                            i += 1
                        else:
                            kind = 3
                            break
                    else:
                        i += 1
                i = min(i, stop)
            elif c == 96:
                i += 1
                kind = 39
                while i < stop:
                    if text[i] == 96:
                        i += 1
                        if i < stop and text[i] == 96:
                            i += 1
                        else:
                            kind = 2 if i - start > 2 else 39
                            break
                    else:
                        i += 1
            elif c == 45 and i + 1 < stop and text[i + 1] == 45:
                while i < stop and text[i] != 10:
                    i += 1
                continue
            elif c == 47 and i + 1 < stop and text[i + 1] == 42:
                depth = 1
                i += 2
                while i < stop and depth > 0:
                    if text[i] == 42 and i + 1 < stop and text[i + 1] == 47:
                        depth -= 1
                        i += 2
                    elif text[i] == 47 and i + 1 < stop and text[i + 1] == 42:
                        depth += 1
                        i += 2
                    else:
                        i += 1
                if depth == 0:
                    continue
                kind = 38
                i = stop
            elif c == 63 and i + 1 < stop and _CLASS[text[i + 1]] == 3:
                i += 1
                while i < stop and (_CLASS[text[i]] == 3 or _CLASS[text[i]] == 2):
                    i += 1
                kind = 35
            else:
                pair = np.uint8(0)
                if i + 1 < stop:
                    pair = _PAIRS[c, text[i + 1]]
                if c == 60 and i + 2 < stop and text[i + 1] == 61 and text[i + 2] == 62:
                    kind = 26
                    i += 3
                elif pair != 0:
                    kind = int(pair)
                    i += 2
                else:
                    kind = int(_SINGLE[c])
                    i += 1
                    if kind == 0:
                        kind = 36
            kinds[at] = kind
            starts[at] = start - base
            ends[at] = i - base
            at += 1
        kinds[at] = 0
        starts[at] = stop - base
        ends[at] = stop - base
        at += 1
    firsts[len(offsets) - 1] = at


@numba.njit(cache=True, nogil=True)
def _number(text: npt.NDArray[np.uint8], i: int, stop: int) -> tuple[int, int]:
    """Kind and end of the number, or of the name that begins with a digit, at `i`."""
    start = i
    kind = 5
    while i < stop and _CLASS[text[i]] == 2:
        i += 1
    if i < stop and text[i] == 46:
        kind = 6
        i += 1
        while i < stop and _CLASS[text[i]] == 2:
            i += 1
    after_digits = i
    if i < stop and (text[i] == 101 or text[i] == 69):
        j = i + 1
        if j < stop and (text[j] == 43 or text[j] == 45):
            j += 1
        if j < stop and _CLASS[text[j]] == 2:
            while j < stop and _CLASS[text[j]] == 2:
                j += 1
            kind = 7
            i = j
    letters = i
    while i < stop and (_CLASS[text[i]] == 3 or _CLASS[text[i]] == 2):
        i += 1
    if i == letters:
        return kind, i
    last = text[i - 1] | np.uint8(32)
    first = text[letters] | np.uint8(32)
    if i - letters == 1 and (
        first == 102 or first == 100 or (kind == 5 and (first == 108 or first == 115 or first == 121))
    ):
        return 8, i
    if i - letters == 2 and first == 98 and last == 100:
        return 8, i
    # `1a` and `1e3x` are names in Spark; `1.5x` is nothing.
    for place in range(start, after_digits):
        if text[place] == 46:
            return 36, i
    for place in range(start, i):
        if _CLASS[text[place]] != 2 and _CLASS[text[place]] != 3:
            return 36, i
    return 1, i


class TokenColumn(NamedTuple):
    """Tokens of many texts: those of text i are `[firsts[i], firsts[i + 1])`, an END token last."""

    text: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int64]


def tokenise_column(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> TokenColumn:
    """The tokens of every text `text[offsets[i]:offsets[i + 1]]`."""
    most = int(offsets[-1] - offsets[0]) + len(offsets)
    kinds = np.empty(most, np.uint8)
    starts = np.empty(most, np.int32)
    ends = np.empty(most, np.int32)
    firsts = np.empty(len(offsets), np.int64)
    _scan(text, offsets, kinds, starts, ends, firsts)
    count = firsts[-1]
    return TokenColumn(text, offsets, kinds[:count], starts[:count], ends[:count], firsts)


@dataclass(frozen=True)
class Tokens:
    """Tokens of one text, with ranges in characters."""

    text: str
    kinds: list[int]
    starts: list[int]
    ends: list[int]

    def word(self, at: int) -> str:
        """The text of a token."""
        return self.text[self.starts[at] : self.ends[at]]

    @cached_property
    def lowered(self) -> list[str]:
        """The text of every token in lower case."""
        return [self.word(at).lower() for at in range(len(self.kinds))]


def tokenise(text: str) -> Tokens:
    """The tokens of one text, END last.

    >>> [Kind(kind).name for kind in tokenise("price < 300 -- cheap").kinds]
    ['NAME', 'LT', 'INTEGER', 'END']
    """
    data = text.encode("utf-8", "surrogatepass")
    column = tokenise_column(np.frombuffer(data, np.uint8), np.array([0, len(data)], np.int64))
    starts, ends = column.starts.tolist(), column.ends.tolist()
    if len(data) != len(text):
        # Characters begin at the bytes that are not continuation bytes.
        begins = (column.text & 0xC0) != 0x80
        characters = np.concatenate([np.cumsum(begins) - begins, [len(text)]])
        starts, ends = characters[column.starts].tolist(), characters[column.ends].tolist()
    return Tokens(text, column.kinds.tolist(), starts, ends)
