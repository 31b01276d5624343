"""What is wrong with a subscription, in words and as JSON."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from tamis.cli.subscriptions import Entry
from tamis.errors import ConditionError, Problem, TamisError


def entry_problems(entry: Entry, error: TamisError | None) -> list[dict[str, Any]]:
    """Everything that is wrong, for JSON."""
    found: list[dict[str, Any]] = [{"message": problem} for problem in entry.problems]
    if isinstance(error, ConditionError):
        found += condition_problems(error)
    elif error is not None:
        found.append({"message": str(error)})
    return found


def condition_problems(error: ConditionError) -> list[dict[str, Any]]:
    """The problems of a condition, for JSON."""
    return [_problem(problem, error.text) for problem in error.problems]


def _problem(problem: Problem, text: str) -> dict[str, Any]:
    line, column = problem.line_and_column(text)
    hint = {} if problem.hint is None else {"hint": problem.hint}
    return {"message": problem.message, "line": line, "column": column, **hint}


def refusal_text(entry: Entry, error: TamisError | None) -> str:
    """`cameras.jsonl:3: subscription 'x' is refused:` and everything that is wrong."""
    subject = f"subscription {entry.id!r}" if entry.id else "this subscription"
    problems = [*entry.problems, *([] if error is None else [str(error)])]
    return "\n".join([f"{entry.place}: {subject} is refused:", *(indent(one, "  ") for one in problems)])
