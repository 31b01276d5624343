"""A place in the tokens of a condition, and the problems found so far.

The parser moves it forward; nothing else does. Problems carry their place in the text.
"""

from __future__ import annotations

from tamis.errors import Problem
from tamis.language.syntax import Span
from tamis.language.tokens import KEYWORDS, Kind, Tokens
from tamis.limits import Limits

_BAD = {
    Kind.BAD_CHARACTER: "is not part of the language",
    Kind.BAD_STRING: "begins a string that does not end",
    Kind.BAD_COMMENT: "begins a comment that does not end",
    Kind.BAD_NAME: "is not a name; a back quote needs its twin",
}
MOST_PROBLEMS = 20


class Failure(Exception):
    """Unwinds to the nearest place where reading can go on; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Cursor:
    """Tokens, and where in them we are."""

    def __init__(self, tokens: Tokens, limits: Limits) -> None:
        self.tokens = tokens
        # One END more, so that a reader may look past the end.
        self.kinds = [*tokens.kinds, int(Kind.END)]
        self.limits = limits
        self.at = 0
        self.depth = 0
        self.problems: list[Problem] = []
        self.too_deep = False

    def report(self, problem: Problem) -> None:
        """Remember a problem, unless there are enough, or one at this place."""
        is_new = not self.problems or self.problems[-1].start != problem.start
        if is_new and len(self.problems) < MOST_PROBLEMS and not self.too_deep:
            self.problems.append(problem)

    def accept(self, kind: Kind) -> bool:
        """Go past a token of this kind, if it is one."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def accept_word(self, word: str) -> bool:
        """Go past this word, if it is there."""
        if self.tokens.lowered[self.at] != word:
            return False
        self.at += 1
        return True

    def expect(self, kind: Kind, wanted: str) -> None:
        """Go past a token of this kind, or fail."""
        if not self.accept(kind):
            raise self.failure_here(wanted)

    def deeper(self, start: int) -> None:
        """One level further down; the caller goes back up."""
        self.depth += 1
        if self.depth > self.limits.depth:
            failure = self.failure(f"nested more than {self.limits.depth} deep", start)
            self.report(failure.problem)
            # Everything that is still open would be reported again on the way out.
            self.too_deep = True
            self.at = len(self.tokens.kinds) - 1
            raise failure

    def span_from(self, start: int) -> Span:
        """The text from a token up to the last one read."""
        return self.tokens.starts[start], max(self.tokens.ends[max(self.at - 1, start)], self.tokens.starts[start])

    def column(self, at: int) -> int:
        """Where a token stands in its line, counted from 1."""
        return self.tokens.starts[at] - (self.tokens.text.rfind("\n", 0, self.tokens.starts[at]) + 1) + 1

    def unexpected(self, wanted: str, hint: str | None = None) -> Problem:
        """The problem that something else stands here than was wanted."""
        kind = self.kinds[self.at]
        start, end = self.tokens.starts[self.at], self.tokens.ends[self.at]
        word = self.tokens.word(self.at)
        shown = word if len(word) <= 30 else word[:27] + "..."
        if shown == ";":
            hint = "a condition is one expression, without a semicolon"
        if kind in _BAD:
            return Problem(f"{shown!r} {_BAD[Kind(kind)]}", start, end, hint)
        if kind == Kind.END:
            return Problem(f"expected {wanted}, found the end of the condition", start, start + 1, hint)
        if kind == Kind.VARIABLE:
            hint = "a ?variable stands for a result of an operator call"
        if word.lower() in KEYWORDS and hint is None and wanted.startswith("an attribute"):
            hint = f"an attribute of that name is written `{word}`"
        return Problem(f"expected {wanted}, found {shown!r}", start, end, hint)

    def failure_here(self, wanted: str, hint: str | None = None) -> Failure:
        """A failure that says what was wanted here."""
        return Failure(self.unexpected(wanted, hint))

    def failure(self, message: str, at: int, hint: str | None = None) -> Failure:
        """A failure about the text from a token up to the last one read."""
        start, end = self.tokens.starts[at], self.tokens.ends[max(at, self.at - 1)]
        return Failure(Problem(message, start, max(end, start + 1), hint))
