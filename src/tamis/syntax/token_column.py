"""The tokeniser of a whole column of conditions: one kernel over their UTF-8 bytes.

It finds the tokens that `tamis.syntax.tokens.tokenise` finds in each text. A token is a kind and a byte range,
never text, so that nothing is allocated per token. A keyword is recognised by its letters, in lower case, packed
into 64 bits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tamis.arrays import I32, I64, U8
from tamis.kernels import kernel
from tamis.syntax.tokens import KEYWORDS, OPERATORS, Kind, stand_in


def _pack_letters(word: str) -> int:
    return int.from_bytes(word.encode(), "little")


_ordered = sorted(KEYWORDS.items(), key=lambda item: _pack_letters(item[0]))
_KEYWORD_LETTERS = np.array([_pack_letters(word) for word, _ in _ordered], np.uint64)
_KEYWORD_KINDS = np.array([kind for _, kind in _ordered], np.uint8)

# Classes of bytes; the underscore and every byte beyond ASCII count as letters, see `_with_stand_ins`.
_OTHER, _SPACE, _DIGIT, _LETTER = 0, 1, 2, 3
_CLASS = np.zeros(256, np.uint8)
_CLASS[[9, 10, 11, 12, 13, 32]] = _SPACE
_CLASS[48:58] = _DIGIT
_CLASS[65:91] = _CLASS[97:123] = _CLASS[95] = _LETTER
_CLASS[128:] = _LETTER

_SINGLE = np.zeros(256, np.uint8)
_PAIRS = np.zeros((256, 256), np.uint8)
for _operator, _kind in OPERATORS.items():
    if len(_operator) == 1:
        _SINGLE[ord(_operator)] = _kind
    elif len(_operator) == 2:
        _PAIRS[ord(_operator[0]), ord(_operator[1])] = _kind

# Kernels need the kinds of tokens, and characters, as plain integers.
_K_END, _K_NAME, _K_QUOTED_NAME = int(Kind.END), int(Kind.NAME), int(Kind.QUOTED_NAME)
_K_STRING, _K_RAW_STRING = int(Kind.STRING), int(Kind.RAW_STRING)
_K_INTEGER, _K_DECIMAL, _K_EXPONENT, _K_SUFFIXED = (
    int(Kind.INTEGER),
    int(Kind.DECIMAL),
    int(Kind.EXPONENT),
    int(Kind.SUFFIXED),
)
_K_NULL_SAFE_EQ, _K_VARIABLE = int(Kind.NULL_SAFE_EQ), int(Kind.VARIABLE)
_K_BAD_CHARACTER, _K_BAD_STRING = int(Kind.BAD_CHARACTER), int(Kind.BAD_STRING)
_K_BAD_COMMENT, _K_BAD_NAME = int(Kind.BAD_COMMENT), int(Kind.BAD_NAME)
_NEWLINE, _QUOTE, _DOUBLE_QUOTE, _BACK_QUOTE, _BACKSLASH = 10, 39, 34, 96, 92
_STAR, _SLASH, _PLUS, _MINUS, _POINT, _QUESTION, _LESS, _EQUAL, _GREATER = 42, 47, 43, 45, 46, 63, 60, 61, 62
_B, _D, _E, _F, _L, _R, _S, _Y, _UPPER_A, _UPPER_Z, _TO_LOWER = 98, 100, 101, 102, 108, 114, 115, 121, 65, 90, 32


@kernel
def _scan(
    text: U8,
    offsets: I64,
    kinds: U8,
    starts: I32,
    ends: I32,
    firsts: I64,
) -> None:
    """Tokenise every text `text[offsets[i]:offsets[i+1]]`; `firsts[i]` is the index of its first token.

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
            if class_ == _SPACE:
                i += 1
                continue
            start = i
            kind = 0
            if class_ == _LETTER:
                letters = np.uint64(0)
                while i < stop and _CLASS[text[i]] >= _DIGIT:
                    if i - start < 8:
                        b = text[i]
                        if _UPPER_A <= b <= _UPPER_Z:
                            b = b + np.uint8(_TO_LOWER)
                        letters |= np.uint64(b) << np.uint64(8 * (i - start))
                    i += 1
                kind = _K_NAME
                if i - start <= 8:
                    low = np.searchsorted(_KEYWORD_LETTERS, letters)
                    if low < len(_KEYWORD_LETTERS) and _KEYWORD_LETTERS[low] == letters:
                        kind = int(_KEYWORD_KINDS[low])
                    elif (
                        i - start == 1
                        and letters == _R
                        and i < stop
                        and (text[i] == _QUOTE or text[i] == _DOUBLE_QUOTE)
                    ):
                        quote = text[i]
                        i += 1
                        while i < stop and text[i] != quote:
                            i += 1
                        kind = _K_RAW_STRING
                        if i >= stop:
                            kind = _K_BAD_STRING
                        else:
                            i += 1
            elif class_ == _DIGIT or (c == _POINT and i + 1 < stop and _CLASS[text[i + 1]] == _DIGIT):
                kind, i = _number(text, i, stop)
            elif c == _QUOTE or c == _DOUBLE_QUOTE:
                i += 1
                kind = _K_BAD_STRING
                while i < stop:
                    if text[i] == _BACKSLASH:
                        i += 2
                    elif text[i] == c:
                        i += 1
                        if i < stop and text[i] == c:
                            i += 1
                        else:
                            kind = _K_STRING
                            break
                    else:
                        i += 1
                i = min(i, stop)
            elif c == _BACK_QUOTE:
                i += 1
                kind = _K_BAD_NAME
                while i < stop:
                    if text[i] == _BACK_QUOTE:
                        i += 1
                        if i < stop and text[i] == _BACK_QUOTE:
                            i += 1
                        else:
                            kind = _K_QUOTED_NAME if i - start > 2 else _K_BAD_NAME
                            break
                    else:
                        i += 1
            elif c == _MINUS and i + 1 < stop and text[i + 1] == _MINUS:
                while i < stop and text[i] != _NEWLINE:
                    i += 1
                continue
            elif c == _SLASH and i + 1 < stop and text[i + 1] == _STAR:
                depth = 1
                i += 2
                while i < stop and depth > 0:
                    if text[i] == _STAR and i + 1 < stop and text[i + 1] == _SLASH:
                        depth -= 1
                        i += 2
                    elif text[i] == _SLASH and i + 1 < stop and text[i + 1] == _STAR:
                        depth += 1
                        i += 2
                    else:
                        i += 1
                if depth == 0:
                    continue
                kind = _K_BAD_COMMENT
                i = stop
            elif c == _QUESTION and i + 1 < stop and _CLASS[text[i + 1]] == _LETTER:
                i += 1
                while i < stop and _CLASS[text[i]] >= _DIGIT:
                    i += 1
                kind = _K_VARIABLE
            else:
                pair = np.uint8(0)
                if i + 1 < stop:
                    pair = _PAIRS[c, text[i + 1]]
                if c == _LESS and i + 2 < stop and text[i + 1] == _EQUAL and text[i + 2] == _GREATER:
                    kind = _K_NULL_SAFE_EQ
                    i += 3
                elif pair != 0:
                    kind = int(pair)
                    i += 2
                else:
                    kind = int(_SINGLE[c])
                    i += 1
                    if kind == 0:
                        kind = _K_BAD_CHARACTER
            kinds[at] = kind
            starts[at] = start - base
            ends[at] = i - base
            at += 1
        kinds[at] = _K_END
        starts[at] = stop - base
        ends[at] = stop - base
        at += 1
    firsts[len(offsets) - 1] = at


@kernel
def _number(text: U8, i: int, stop: int) -> tuple[int, int]:
    """Kind and end of the number, or of the name that begins with a digit, at `i`."""
    start = i
    kind = _K_INTEGER
    while i < stop and _CLASS[text[i]] == _DIGIT:
        i += 1
    if i < stop and text[i] == _POINT:
        kind = _K_DECIMAL
        i += 1
        while i < stop and _CLASS[text[i]] == _DIGIT:
            i += 1
    after_digits = i
    if i < stop and (text[i] | _TO_LOWER) == _E:
        j = i + 1
        if j < stop and (text[j] == _PLUS or text[j] == _MINUS):
            j += 1
        if j < stop and _CLASS[text[j]] == _DIGIT:
            while j < stop and _CLASS[text[j]] == _DIGIT:
                j += 1
            kind = _K_EXPONENT
            i = j
    letters = i
    while i < stop and _CLASS[text[i]] >= _DIGIT:
        i += 1
    if i == letters:
        return kind, i
    last = text[i - 1] | _TO_LOWER
    first = text[letters] | _TO_LOWER
    if i - letters == 1 and (
        first == _F or first == _D or (kind == _K_INTEGER and (first == _L or first == _S or first == _Y))
    ):
        return _K_SUFFIXED, i
    if i - letters == 2 and first == _B and last == _D:
        return _K_SUFFIXED, i
    # `1a` and `1e3x` are names in Spark; `1.5x` is invalid.
    for place in range(start, after_digits):
        if text[place] == _POINT:
            return _K_BAD_CHARACTER, i
    for place in range(start, i):
        if _CLASS[text[place]] < _DIGIT:
            return _K_BAD_CHARACTER, i
    return _K_NAME, i


class TokenColumn(NamedTuple):
    """Tokens of many texts: those of text i have the indices `[firsts[i], firsts[i + 1])`; the last is END."""

    text: U8
    offsets: I64
    kinds: U8
    starts: I32
    ends: I32
    firsts: I64


def tokenise_column(text: U8, offsets: I64) -> TokenColumn:
    """The tokens of every text `text[offsets[i]:offsets[i + 1]]`."""
    most = int(offsets[-1] - offsets[0]) + len(offsets)
    kinds = np.empty(most, np.uint8)
    starts = np.empty(most, np.int32)
    ends = np.empty(most, np.int32)
    firsts = np.empty(len(offsets), np.int64)
    shown = _with_stand_ins(text)
    _scan(shown, offsets, kinds, starts, ends, firsts)
    count = firsts[-1]
    if shown is not text:
        _widen_bad_characters(text, np.repeat(offsets[:-1], np.diff(firsts)), kinds[:count], starts, ends)
    return TokenColumn(text, offsets, kinds[:count], starts[:count], ends[:count], firsts)


def _with_stand_ins(text: U8) -> U8:
    """The text with a stand-in of equal length for every character that is no letter; most texts have none."""
    beyond = text[text >= 128]
    characters = set(beyond.tobytes().decode("utf-8", "surrogatepass"))
    pairs = {each.encode("utf-8", "surrogatepass"): stand_in(each) for each in characters}
    shown = {each: found.encode().ljust(len(each)) for each, found in pairs.items() if found is not None}
    if not shown:
        return text
    found = re.compile(b"|".join(map(re.escape, shown)))
    return np.frombuffer(found.sub(lambda match: shown[match[0]], text.tobytes()), np.uint8)


def _widen_bad_characters(text: U8, bases: I64, kinds: U8, starts: I32, ends: I32) -> None:
    """Let each bad character beyond ASCII end with its last byte: its stand-in is one byte and blanks."""
    bad = np.flatnonzero(kinds == _K_BAD_CHARACTER)
    leads = text[bases[bad] + starts[bad]]
    ends[bad] += (leads >= 0xC0).astype(np.int32) + (leads >= 0xE0) + (leads >= 0xF0)
