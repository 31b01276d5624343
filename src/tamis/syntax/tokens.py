"""Tokens: the words of a condition, with their kinds and places.

White space and comments produce no tokens. Invalid input becomes one of the `BAD_*` kinds: a tokeniser never
fails. Words have the kind `NAME`, except the few keywords that structure a condition.

`tokenise` reads one text. `tamis.syntax.token_column` reads a column of texts by a kernel, for the bulk compiler;
the tests compare the two. One text is not worth a kernel, which takes seconds to compile where it never ran.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from unicodedata import category


class Kind(IntEnum):
    """The kind of a token. Keywords are contiguous at the end, from `AND` on."""

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
"""Words that name an attribute only in back quotes."""


OPERATORS = {
    "<=>": Kind.NULL_SAFE_EQ,
    "==": Kind.EQ,
    "<>": Kind.NE,
    "!=": Kind.NE,
    "<=": Kind.LE,
    ">=": Kind.GE,
    "->": Kind.ARROW,
    "::": Kind.CAST_COLONS,
    "||": Kind.CONCAT,
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
}
"""Operators and their kinds, longer ones first."""

SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u202f\u205f\u3000"
"""The white space of Spark beyond ASCII."""


def stand_in(character: str) -> str | None:
    """As what a character beyond ASCII is read outside of quotes: a blank, a bad one, or None for a letter."""
    if character in SPACES:
        return " "
    return None if category(character)[0] in "LMN" else _NO_LETTER


_NO_LETTER = "\x01"
# The underscore and every character beyond ASCII that has no stand-in count as letters.
_LETTER = r"A-Za-z_\x80-\U0010ffff"
_TOKEN = re.compile(
    rf"""
    (?P<space>[\t\n\v\f\r ]++ | --[^\n]*+)
    | (?P<comment>/\*)
    | (?P<raw>[rR](?: '[^']*+' | "[^"]*+" ))
    | (?P<bad_raw>[rR]['"].*+)
    | (?P<word>[{_LETTER}][{_LETTER}0-9]*+)
    | (?P<number>(?P<digits>[0-9]++(?:\.[0-9]*+)? | \.[0-9]++)(?P<exponent>[eE][+-]?+[0-9]++)?+
                 (?P<suffix>[{_LETTER}0-9]*+))
    | (?P<string>'(?: [^'\\] | \\. | '' )*+' | "(?: [^"\\] | \\. | "" )*+")
    | (?P<bad_string>['"].*+)
    | (?P<quoted>`(?: [^`] | `` )++`)
    | (?P<bad_quoted>``(?!`) | `.*+)
    | (?P<variable>\?[{_LETTER}][{_LETTER}0-9]*+)
    | (?P<operator>{"|".join(map(re.escape, OPERATORS))})
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_END = re.compile(r"\*/|/\*")
_GROUP_KINDS = {
    "raw": Kind.RAW_STRING,
    "bad_raw": Kind.BAD_STRING,
    "string": Kind.STRING,
    "bad_string": Kind.BAD_STRING,
    "quoted": Kind.QUOTED_NAME,
    "bad_quoted": Kind.BAD_NAME,
    "variable": Kind.VARIABLE,
    "bad": Kind.BAD_CHARACTER,
}


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
    def lower_words(self) -> list[str]:
        """The text of every token in lower case."""
        return [self.word(at).lower() for at in range(len(self.kinds))]


def tokenise(text: str) -> Tokens:
    """The tokens of one text, END last.

    >>> [Kind(kind).name for kind in tokenise("price < 300 -- cheap").kinds]
    ['NAME', 'LT', 'INTEGER', 'END']
    """
    kinds: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    shown = text if text.isascii() else _with_stand_ins(text)
    while (found := _TOKEN.match(shown, at)) is not None:
        start, at = found.span()
        group = found.lastgroup
        if group == "space":
            continue
        if group == "word":
            word = found[0]
            # Only ASCII letters make a keyword: the lower case of the Kelvin sign is a k.
            kind = KEYWORDS.get(word.lower(), Kind.NAME) if word.isascii() else Kind.NAME
        elif group == "operator":
            kind = OPERATORS[found[0]]
        elif group == "number":
            kind = _number_kind(found)
        elif group == "comment":
            at = _comment_end(shown, at)
            if at >= 0:
                continue
            kind, at = Kind.BAD_COMMENT, len(text)
        else:
            assert group is not None, "every alternative is a group"
            kind = _GROUP_KINDS[group]
        kinds.append(kind)
        starts.append(start)
        ends.append(at)
    kinds.append(Kind.END)
    starts.append(len(text))
    ends.append(len(text))
    return Tokens(text, kinds, starts, ends)


def _with_stand_ins(text: str) -> str:
    return text.translate({ord(each): stand_in(each) or each for each in set(text) if not each.isascii()})


def _number_kind(found: re.Match[str]) -> Kind:
    """The kind of a number, or of a name that begins with a digit."""
    digits, exponent, suffix = found["digits"], found["exponent"], found["suffix"].lower()
    is_decimal = "." in digits
    if not suffix:
        return Kind.EXPONENT if exponent else Kind.DECIMAL if is_decimal else Kind.INTEGER
    if suffix in ("f", "d", "bd") or (suffix in ("l", "s", "y") and not exponent and not is_decimal):
        return Kind.SUFFIXED
    # `1a` and `1e3x` are names in Spark; `1.5x` is invalid.
    is_word = not is_decimal and not (exponent and exponent[1] in "+-")
    return Kind.NAME if is_word else Kind.BAD_CHARACTER


def _comment_end(text: str, at: int) -> int:
    """Behind the comment that begins before `at`, in which others may be nested; -1 if it does not end."""
    depth = 1
    for found in _COMMENT_END.finditer(text, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return -1
