"""Every exception that tamis raises on purpose, under one base class.

A message names the subscription or event, the place, what was found and what was expected.
Validation collects all problems of an input before it raises.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias


def install_command(extra: str) -> str:
    """How to install an optional part of tamis, for a message: tamis is installed from a clone."""
    return f"pip install '.[{extra}]' in a clone of tamis"


class TamisError(Exception):
    """Base class of all errors raised by tamis."""


class EventTypeError(TamisError):
    """An event type, or an event checked against one, is not what it should be."""


class EventError(TamisError):
    """Events could not be read: the message names the file, the line or the row."""


class MisfitError(EventError):
    """An event does not fit its type, where such events are refused.

    Attributes:
        event: The name of the event.
        attribute: The name, or the path within a struct: `author.born`.
        expected: The declared type.
        found: The value as a short text; None if there is none, and one is required.
    """

    def __init__(self, event: str, attribute: str, expected: str, found: str | None) -> None:
        super().__init__(event, attribute, expected, found)  # all parts survive pickling
        self.event = event
        self.attribute = attribute
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        found = "nothing, and it is required" if self.found is None else self.found
        return f"event {self.event!r}: {self.attribute}: expected {self.expected}, found {found}"


SubscriptionProblem: TypeAlias = Literal["unknown", "exists", "unknown event type", "event type in use", "invalid"]


class SubscriptionError(TamisError):
    """A subscription, or a request for one, is not what it should be.

    The message is made of the parts when it is shown, so that programs decide by `kind` and may show names as
    their users know them: see `renamed`.

    Attributes:
        detail: What is wrong, without names of subscriptions and event types; of "unknown" and "exists", what else
            there is to say.
        kind: "unknown": no subscription has the id; "exists": one has it already; "unknown event type": no event
            type of that name is declared; "event type in use": subscriptions need it; "invalid": anything else.
        id: The subscription, if it is about one.
        event_type: The event type that is unknown or in use.
        known: The event types that are declared, if one is unknown.
    """

    def __init__(
        self,
        detail: str = "",
        kind: SubscriptionProblem = "invalid",
        id: str | None = None,
        event_type: str | None = None,
        known: Sequence[str] = (),
    ) -> None:
        super().__init__(detail, kind, id, event_type, tuple(known))  # all parts survive pickling
        self.detail = detail
        self.kind: SubscriptionProblem = kind
        self.id = id
        self.event_type = event_type
        self.known = tuple(known)

    def __str__(self) -> str:
        match self.kind:
            case "unknown":
                said = f"there is no subscription {self.id!r}"
            case "exists":
                said = f"there is already a subscription {self.id!r}"
            case "unknown event type":
                said = f"there is no event type {self.event_type!r}"
                if self.known:
                    said += f"; declared are {', '.join(self.known)}"
            case "event type in use":
                return f"event type {self.event_type!r} {self.detail}"
            case _:
                return self.detail if self.id is None else f"subscription {self.id!r}: {self.detail}"
        return f"{said}; {self.detail}" if self.detail else said

    def with_names(self, rename: Callable[[str], str | None]) -> SubscriptionError:
        """The same error with other names; a declared event type that `rename` has no name for is left out."""
        known = [name for each in self.known if (name := rename(each)) is not None]
        id, event_type = (None if name is None else rename(name) for name in (self.id, self.event_type))
        return SubscriptionError(self.detail, self.kind, id, event_type, known)


class MergeError(TamisError):
    """Segments could not be merged beside the threads that use them.

    Every subscription is still there, in more segments than necessary; the next change tries again. The cause is
    what was raised, for example a `MemoryError`.
    """

    def __str__(self) -> str:
        return f"segments could not be merged: {self.args[0]}; no subscription is lost"


class EngineError(TamisError, ValueError):
    """There is no such engine, or it cannot be given such settings."""


class DialectError(TamisError, ValueError):
    """There is no such dialect of conditions.

    Attributes:
        name: What was asked for.
        known: The dialects that there are.
        close: The one that was meant, when we have a guess.
    """

    def __init__(self, name: str, known: tuple[str, ...], close: str | None = None) -> None:
        """Keep the parts; all of them survive pickling."""
        super().__init__(name, known, close)
        self.name = name
        self.known = known
        self.close = close

    def __str__(self) -> str:
        guess = f"; did you mean {self.close!r}?" if self.close else ""
        return f"there is no dialect {self.name!r}; known are {', '.join(self.known)}{guess}"


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


WriteProblem: TypeAlias = Literal["full", "read-only", "denied", "failed"]
_WRITE_PROBLEMS: dict[int | None, WriteProblem] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
}


class WriteError(TamisError):
    """A file or folder cannot be written; what was there before is as it was.

    Attributes:
        path: Which one.
        kind: "full": there is no space left, or a quota or limit is reached; "read-only": the file system is;
            "denied": this user may not; "failed": anything else.
        detail: What the operating system says.
    """

    def __init__(self, path: str, kind: WriteProblem, detail: str) -> None:
        """Keep the parts, so that a program can tell what to do; all of them survive pickling."""
        super().__init__(path, kind, detail)
        self.path = path
        self.kind: WriteProblem = kind
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.path} cannot be written: {self.detail}"


@contextmanager
def naming_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of the operating system within, which seldom names a file, into one that names the path.

    Raises:
        WriteError: Something within raised an `OSError`.
    """
    try:
        yield
    except OSError as error:
        kind = _WRITE_PROBLEMS.get(error.errno, "failed")
        raise WriteError(os.fspath(path), kind, error.strerror or str(error)) from error


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
