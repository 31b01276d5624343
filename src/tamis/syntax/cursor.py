"""The position of the parser in the tokens of a condition, and the problems found so far.

Only the parser moves it. Problems carry their place in the text.
"""

from __future__ import annotations

from tamis.errors import Problem
from tamis.limits import Limits
from tamis.syntax.tokens import KEYWORDS, Kind, Tokens
from tamis.syntax.tree import Span

_BAD = {
    Kind.BAD_CHARACTER: "is not part of the language",
    Kind.BAD_STRING: "begins a string that does not end",
    Kind.BAD_COMMENT: "begins a comment that does not end",
    Kind.BAD_NAME: "is not a name; a back quote needs its twin",
}
_MEANT = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **{"\u2264": "<=", "\u2265": ">=", "\u2260": "<>", "\u00d7": "*", "\u00f7": "/"},
}
"""Characters that editors put in place of those of the language."""
MOST_PROBLEMS = 20


class SyntaxFailure(Exception):
    """A syntax error; the parser catches it where it can resume."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Cursor:
    """A list of tokens with a current position."""

    def __init__(self, tokens: Tokens, limits: Limits) -> None:
        self.tokens = tokens
        # More ENDs, so that looking a few tokens ahead never fails.
        self.kinds = [*tokens.kinds, *[int(Kind.END)] * 3]
        self.limits = limits
        self.at = 0
        self.depth = 0
        self.problems: list[Problem] = []
        self.too_deep = False

    def report(self, problem: Problem) -> None:
        """Record a problem, unless there are enough, or the last one is at the same place."""
        is_new = not self.problems or self.problems[-1].start != problem.start
        if is_new and len(self.problems) < MOST_PROBLEMS and not self.too_deep:
            self.problems.append(problem)

    def accept(self, kind: Kind) -> bool:
        """Advance past a token of this kind, if it is next."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def accept_word(self, word: str) -> bool:
        """Advance past this word, if it is next."""
        if self.tokens.lower_words[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, kind: Kind, wanted: str) -> None:
        """Advance past a token of this kind, or fail."""
        if not self.accept(kind):
            raise self.failure_here(wanted)

    def deeper(self, start: int) -> None:
        """Enter a nesting level, which the caller leaves by decrementing `depth`."""
        self.depth += 1
        if self.depth > self.limits.depth:
            failure = self.failure(f"nested more than {self.limits.depth} deep", start)
            self.report(failure.problem)
            # Every open construct would be reported again while the parser unwinds.
            self.too_deep = True
            self.at = len(self.tokens.kinds) - 1
            raise failure

    def span_from(self, start: int) -> Span:
        """The text from a token up to the last one read."""
        return self.tokens.starts[start], max(self.tokens.ends[max(self.at - 1, start)], self.tokens.starts[start])

    def column(self, at: int) -> int:
        """The column of a token in its line, counted from 1."""
        return self.tokens.starts[at] - (self.tokens.text.rfind("\n", 0, self.tokens.starts[at]) + 1) + 1

    def unexpected_token(self, wanted: str, hint: str | None = None) -> Problem:
        """The problem that the next token is not what was expected."""
        kind = self.kinds[self.at]
        start, end = self.tokens.starts[self.at], self.tokens.ends[self.at]
        word = self.tokens.word(self.at)
        shown = word if len(word) <= 30 else word[:27] + "..."
        if shown == ";":
            hint = "a condition is one expression, without a semicolon"
        if kind == Kind.BAD_CHARACTER and len(word) == 1 and not word.isascii():
            meant = _MEANT.get(word)
            hint = f"write {meant}" if meant else "a name with such a character needs back quotes"
            if not word.isprintable():
                shown, hint = f"U+{ord(word):04X}", "remove it: it does not show"
        if kind in _BAD:
            return Problem(f"{shown!r} {_BAD[Kind(kind)]}", start, end, hint)
        if kind == Kind.END:
            return Problem(f"expected {wanted}, found the end of the condition", start, start + 1, hint)
        if kind == Kind.VARIABLE:
            hint = "a ?variable stands for a result of an operator call"
        return Problem(f"expected {wanted}, found {shown!r}", start, end, hint)

    def failure_here(self, wanted: str, hint: str | None = None) -> SyntaxFailure:
        """A failure because the next token is not what was expected."""
        return SyntaxFailure(self.unexpected_token(wanted, hint))

    def operand_failure(self) -> SyntaxFailure:
        """A failure because no value begins here; a keyword may be meant as an attribute."""
        word = self.tokens.word(self.at)
        hint = f"an attribute of that name is written `{word}`" if word.lower() in KEYWORDS else None
        return self.failure_here("an attribute, a constant, a function or (", hint)

    def failure(self, message: str, at: int, hint: str | None = None) -> SyntaxFailure:
        """A failure about the text from a token up to the last one read."""
        start, end = self.tokens.starts[at], self.tokens.ends[max(at, self.at - 1)]
        return SyntaxFailure(Problem(message, start, max(end, start + 1), hint))
