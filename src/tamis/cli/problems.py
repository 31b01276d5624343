"""Reports of refused subscriptions, as text and as JSON."""

from __future__ import annotations

from textwrap import indent
from typing import Any

from tamis.cli.output import JsonLines, note
from tamis.cli.subscriptions import SubscriptionEntry
from tamis.errors import ConditionError, Problem, TamisError


def report_refusal(entry: SubscriptionEntry, error: TamisError | None, lines: JsonLines | None) -> None:
    """Report a refused subscription: to `lines` as JSON, else to standard error as text."""
    if lines is None:
        note(refusal_text(entry, error))
        return
    place = {"file": entry.file, "line": entry.line, "subscription_id": entry.id or None}
    lines.write({"kind": "refused", **place, "problems": _entry_problems(entry, error)})


def _entry_problems(entry: SubscriptionEntry, error: TamisError | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"message": problem} for problem in entry.problems]
    if isinstance(error, ConditionError):
        found += condition_problems(error)
    elif error is not None:
        found.append({"message": str(error)})
    return found


def condition_problems(error: ConditionError) -> list[dict[str, Any]]:
    """The problems of a condition as JSON records."""
    return [_problem(problem, error.text) for problem in error.problems]


def _problem(problem: Problem, text: str) -> dict[str, Any]:
    line, column = problem.line_and_column(text)
    hint = {} if problem.hint is None else {"hint": problem.hint}
    return {"message": problem.message, "line": line, "column": column, **hint}


def refusal_text(entry: SubscriptionEntry, error: TamisError | None) -> str:
    """`cameras.jsonl:3: subscription 'x' is refused:`, followed by all problems."""
    subject = f"subscription {entry.id!r}" if entry.id else "this subscription"
    problems = [*entry.problems, *([] if error is None else [str(error)])]
    return "\n".join([f"{entry.place}: {subject} is refused:", *(indent(one, "  ") for one in problems)])
