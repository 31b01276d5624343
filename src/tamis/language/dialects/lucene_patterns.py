r"""Patterns of Lucene, for `wildcard` and `regexp`: as LIKE and as RLIKE, exactly, or refused.

A pattern of Lucene is held against a whole value. A wildcard pattern has `*`, `?` and the backslash. Of regular
expressions, only what Java writes and means alike is taken: characters, `.`, groups, alternatives, one quantifier
at a time, classes, and a backslash before a sign, `\d`, `\D`, `\w` and `\W`.
"""

from __future__ import annotations

import re

from tamis.errors import PatternError

_COUNTS = re.compile(r"\{[0-9]{1,4}(?:,[0-9]{0,4})?\}")
_ALIKE = "dDwW"
_REFUSED = {
    "~": "the complement",
    "<": "a range of numbers",
    ">": "a range of numbers",
    "&": "the intersection",
    "@": "any string",
    "#": "no string",
    '"': "a quoted string",
    "^": "itself, not an anchor,",
    "$": "itself, not an anchor,",
}
"""What means something else in Java, or nothing, and what Lucene means by it."""


def wildcard_to_like(pattern: str) -> str:
    r"""The pattern of LIKE with the same meaning.

    >>> wildcard_to_like(r"50%*\*?")
    '50\\%%*_'

    Raises:
        PatternError: A backslash stands at the end.
    """
    out, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
            if at == len(pattern):
                message = "a backslash stands before the character that it escapes"
                raise PatternError(message, at - 1)
        out.append({"*": "%", "?": "_"}.get(sign) or like_literal(pattern[at]))
        at += 1
    return "".join(out)


def like_literal(text: str) -> str:
    """The pattern of LIKE that only this text matches."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def regex_literal(text: str) -> str:
    """The regular expression that only this text matches."""
    return "".join(_escape(character) for character in text)


def wildcard_to_regex(pattern: str) -> str:
    r"""The regular expression with the same meaning, as `wildcard_to_like`.

    >>> wildcard_to_regex("a?*")
    'a..*'
    """
    like = wildcard_to_like(pattern)
    parts = re.findall(r"\\(.)|(.)", like, re.DOTALL)
    return "".join(
        _escape(escaped) if escaped else {"%": ".*", "_": "."}.get(sign, _escape(sign)) for escaped, sign in parts
    )


def anchor(pattern: str, *, ignore_case: bool = False) -> str:
    """The regular expression that finds in a text what is all of it; case concerns ASCII only, as in Lucene."""
    return rf"\A(?{'si' if ignore_case else 's'}:{pattern})\z"


def regexp_to_java(pattern: str) -> str:
    r"""The regular expression of Java with the same meaning, without anchors.

    >>> regexp_to_java(r"ab?[^c-e]{2}\.x")
    'ab?[^c-e]{2}\\.x'

    Raises:
        PatternError: Lucene or Java refuses the pattern, or they differ.
    """
    out: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign in _REFUSED:
            message = (
                f"{sign} is {_REFUSED[sign]} in Lucene, which is not supported; write \\{sign} for the character"
            )
            raise PatternError(message, at)
        if (sign in "|)" and _is_empty(out)) and not (sign == ")" and out[-1:] == ["("]):
            message = "expected something before this sign; write () for the empty text"
            raise PatternError(message, at)
        if sign in "?*+{":
            at = _quantifier(pattern, at, out)
        elif sign == "[":
            at = _character_class(pattern, at, out)
        elif sign == "\\":
            out.append(_quote_text(pattern, at))
            at += 2
        elif sign in "]}":
            message = f"expected a {'[' if sign == ']' else '{'} before {sign}"
            raise PatternError(message, at)
        else:
            out.append(sign if sign in ".|()" else _escape(sign))
            at += 1
    if out and _is_empty(out):
        message = "expected something at the end; write () for the empty text"
        raise PatternError(message, len(pattern))
    return "".join(out)


def _is_empty(out: list[str]) -> bool:
    """Does nothing stand before this place in its alternative?"""
    return not out or out[-1] in "(|"


def _quantifier(pattern: str, at: int, out: list[str]) -> int:
    counts = _COUNTS.match(pattern, at)
    text = counts[0] if counts else pattern[at]
    if text == "{":
        message = "expected numbers between the braces: {2}, {2,} or {2,5}"
        raise PatternError(message, at)
    if _is_empty(out):
        message = f"{text} repeats nothing"
        raise PatternError(message, at)
    following = pattern[at + len(text) : at + len(text) + 1]
    if following and following in "?*+{":
        message = "a quantifier behind a quantifier means something else to others; write parentheses between them"
        raise PatternError(message, at + len(text))
    out.append(text)
    return at + len(text)


def _character_class(pattern: str, start: int, out: list[str]) -> int:
    at = start + 1
    inner: list[str] = []
    negated = pattern.startswith("^", at)
    at += negated
    while at < len(pattern) and pattern[at] != "]":
        if pattern[at] == "\\":
            inner.append(_quote_text(pattern, at))
            at += 2
        else:
            is_range = pattern[at] == "-" and inner and pattern[at + 1 : at + 2] not in ("]", "")
            inner.append("-" if is_range else _escape(pattern[at]))
            at += 1
    if at == len(pattern) or not inner:
        message = "a class needs a character and a ]"
        raise PatternError(message, start)
    out.append(f"[{'^' if negated else ''}{''.join(inner)}]")
    return at + 1


def _quote_text(pattern: str, at: int) -> str:
    character = pattern[at + 1 : at + 2]
    if character == "":
        message = "a backslash stands before the character that it escapes"
        raise PatternError(message, at)
    if character in _ALIKE:
        return f"\\{character}"
    if character.isalnum():
        message = f"\\{character} is not the same in all versions of Lucene and in Java"
        raise PatternError(message, at)
    return _escape(character)


def _escape(character: str) -> str:
    is_plain = character.isalnum() or character in " _" or not character.isascii()
    return character if is_plain else f"\\x{{{ord(character):x}}}" if character < " " else f"\\{character}"
