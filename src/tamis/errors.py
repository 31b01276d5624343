"""Every exception that tamis raises on purpose, under one base class.

A message names the subscription or event, the place, what was found and what was expected.
Validation collects all problems of an input before it raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias


class TamisError(Exception):
    """Base class of all errors raised by tamis."""


class EventTypeError(TamisError):
    """An event type, or an event checked against one, is not what it should be."""


class EventError(TamisError):
    """Events could not be read: the message names the file, the line or the row."""


class SubscriptionError(TamisError):
    """A subscription id is unknown, or already there."""


class PatternError(TamisError):
    """A `RLIKE` or `LIKE` pattern is malformed or outside the supported subset.

    Attributes:
        message: What is wrong, without the position.
        position: Offset in the pattern, in characters.
    """

    def __init__(self, message: str, position: int) -> None:
        """Keep the message and the place apart, so that a condition's error can point at it."""
        super().__init__(f"{message} (at offset {position} of the pattern)")
        self.message = message
        self.position = position


SnapshotProblem: TypeAlias = Literal["missing", "damaged", "foreign", "newer", "conflict", "busy"]


class SnapshotError(TamisError):
    """A snapshot cannot be read or published: the message names the file and what is wrong with it.

    Attributes:
        file: The file, folder or URL.
        message: What is wrong, without the file.
        kind: "missing": not there; "damaged": not as it was written; "foreign": not written by tamis; "newer":
            written by a newer tamis; "conflict": somebody else published meanwhile; "busy": somebody else holds
            the snapshot for too long.
    """

    def __init__(self, file: str, message: str, kind: SnapshotProblem) -> None:
        """Keep the parts, so that a program can tell what to do; all of them survive pickling."""
        super().__init__(file, message, kind)
        self.file = file
        self.message = message
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a condition, and where.

    Attributes:
        message: What was found and what was expected, one sentence.
        start: First character of the offending text.
        end: One past its last character.
        hint: What to write instead, when we have a guess.
    """

    message: str
    start: int
    end: int
    hint: str | None = None

    def line_and_column(self, text: str) -> tuple[int, int]:
        """Place in `text`, both counted from 1."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1

    def render(self, text: str) -> str:
        """The problem with its line of `text` and carets under the place."""
        line, column = self.line_and_column(text)
        first = self.start - (column - 1)
        last = text.find("\n", first)
        source = text[first:] if last < 0 else text[first:last]
        width = max(1, min(self.end - self.start, len(source) - (column - 1)))
        source, shift = _window(source, column - 1)
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        before = column - 1 - shift
        caret = " " * before + "^" * max(1, min(width, len(source) - before))
        return f"line {line}, column {column}: {self.message}\n  {source}\n  {caret}{hint}"


def _window(source: str, at: int, *, width: int = 120) -> tuple[str, int]:
    """The part of a long line around `at`, and how many characters were cut before it."""
    source = source.replace("\t", " ")
    if len(source) <= width:
        return source, 0
    shift = max(0, at - width // 2)
    return source[shift : shift + width], shift


class ConditionError(TamisError):
    """A condition is refused.

    Attributes:
        text: The condition.
        problems: Everything that is wrong with it, in the order of the text.
    """

    def __init__(self, text: str, problems: Sequence[Problem]) -> None:
        """Collect `problems` of `text`; there is at least one."""
        self.text = text
        self.problems = tuple(sorted(problems, key=lambda problem: problem.start))
        super().__init__("\n".join(problem.render(text) for problem in self.problems))
