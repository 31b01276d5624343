"""Tokens of dialects that are text, and a cursor over them, with the place of every mistake."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from tamis.errors import Problem
from tamis.limits import Limits
from tamis.syntax.cursor import SyntaxFailure
from tamis.syntax.tree import Span


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is the name of the group that matched; of a sign or a keyword (in upper case) it is the text."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Its place, never empty."""
        return self.start, max(self.end, self.start + 1)


def read_tokens(pattern: re.Pattern[str], text: str, keywords: Collection[str]) -> list[Token]:
    """All tokens of a text, the end included.

    Args:
        pattern: Of one token, with groups `sign`, `word`, `end`, `bad` (any other character) and others.
        text: What to read.
        keywords: Words that are kinds of their own, whatever their case, if they are in upper case here.
    """
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != "end":
        match = pattern.match(text, at)
        assert match is not None and match.lastgroup is not None, "the last alternatives match anything"
        kind, value = match.lastgroup, match[match.lastgroup]
        word = value if value in keywords else value.upper()
        if kind == "sign" or (kind == "word" and word in keywords):
            kind = value if kind == "sign" else word
        start, at = match.span(match.lastgroup)
        found.append(Token(kind, value, start, at))
    return found


def fail(message: str, span: Span, hint: str | None = None) -> NoReturn:
    """Give up on a text."""
    raise SyntaxFailure(Problem(message, span[0], max(span[1], span[0] + 1), hint))


class TokenCursor:
    """A place in the tokens of a text; methods of parsers start at it and move it past what they read."""

    def __init__(self, tokens: list[Token], limits: Limits) -> None:
        self.tokens = tokens
        self.limits = limits
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.at]

    def accept(self, *kinds: str) -> Token | None:
        """Read the next token if it is of one of these kinds."""
        token = self.next
        if token.kind not in kinds:
            return None
        self.at += token.kind != "end"
        return token

    def expect(self, what: str, *kinds: str) -> Token:
        """Read the next token, which must be of one of these kinds."""
        return self.accept(*kinds) or self.refuse(what)

    def refuse(self, expected: str, hint: str | None = None) -> NoReturn:
        """Give up, because the next token is not what is expected."""
        token = self.next
        if token.kind == "bad" and token.text in "'\"":
            fail("this begins a string that does not end", token.span)
        found = repr(token.text if len(token.text) < 60 else "...") if token.text else "the end"
        fail(f"expected {expected}, found {found}", token.span, hint)

    def deeper(self) -> None:
        """Count one more level of nesting."""
        self.depth += 1
        if self.depth > self.limits.depth:
            fail(f"nested more than {self.limits.depth} deep", self.next.span)

    def span(self, start: int) -> Span:
        """From a character to the end of the last token that was read."""
        return start, max(start, self.tokens[max(self.at - 1, 0)].end)
