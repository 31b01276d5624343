"""The one error of the client, with a kind for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamis.errors import TamisError

CONNECTION = "connection"
"""The kind of an error without an answer: the service cannot be reached, or the connection broke."""

UNEXPECTED = "unexpected"
"""The kind of an answer that is not the service's, or not of the form that this version knows."""

INVALID = "invalid"
"""The kind of a request that is wrong as it stands; the service says so, or the client before it asks."""


@dataclass(frozen=True, slots=True)
class ConditionProblem:
    """One thing wrong with a condition, and where.

    Attributes:
        message: What was found and what was expected.
        start: First character of the offending text.
        end: One past its last character.
        line: Of the first character, from 1.
        column: Of the first character, from 1.
        hint: What to write instead, when there is a guess.
    """

    message: str
    start: int
    end: int
    line: int
    column: int
    hint: str | None = None

    def __str__(self) -> str:
        hint = f" (hint: {self.hint})" if self.hint else ""
        return f"line {self.line}, column {self.column}: {self.message}{hint}"


class ClientError(TamisError):
    """The service refused a request, answered in a way that makes no sense, or could not be reached.

    Attributes:
        status: The HTTP status; None if there was no answer.
        kind: What it is about, for programs: "condition", "not-found", "conflict", "unauthorized", "forbidden",
            "quota", "rate", "invalid", "unavailable", "full", "internal" as the service says; "connection" without
            an answer; "unexpected" if the answer is not one of the service.
        detail: What is wrong, for people.
        problems: Of a refused condition, everything that is wrong with it, with places.
    """

    def __init__(
        self, status: int | None, kind: str, detail: str, problems: Sequence[ConditionProblem] = ()
    ) -> None:
        """Keep the parts, so that a program can tell what to do; all of them survive pickling."""
        super().__init__(status, kind, detail, tuple(problems))
        self.status = status
        self.kind = kind
        self.detail = detail
        self.problems = tuple(problems)

    def __str__(self) -> str:
        said = self.detail if self.status is None else f"{self.detail} ({self.status} {self.kind})"
        more = [str(problem) for problem in self.problems if problem.message not in self.detail]
        return "\n  ".join([said, *more])
