"""Conditions before they are subscribed: what is wrong with them, what they would match, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tamis import reference
from tamis.errors import ConditionError, EventError, Problem
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.explain import Explanation, explain
from tamis.language.condition import Condition, compile_condition
from tamis.language.lint import lint
from tamis.limits import Limits

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Tried:
    """What a condition would have matched.

    Attributes:
        events: How many were tried.
        matched: How many of them satisfy it.
        ids: Of the first of these.
    """

    events: int
    matched: int
    ids: list[str]


def problems_of(text: str, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems with their places, for JSON."""
    found = []
    for each in problems:
        line, column = each.line_and_column(text)
        place = {"start": each.start, "end": each.end, "line": line, "column": column}
        found.append({"message": each.message, **place, "hint": each.hint})
    return found


def findings(text: str, event_type: EventType, limits: Limits) -> list[dict[str, Any]]:
    """Everything there is to say about a condition, for JSON."""
    try:
        compile_condition(text, event_type, limits)
    except ConditionError as error:
        return [{"severity": "error", "code": "syntax", **each} for each in problems_of(text, error.problems)]
    return [
        {**each.to_dict(), "start": _offset(text, each.line, each.column), "end": len(text)}
        for each in lint(text, event_type, limits=limits)
    ]


def _offset(text: str, line: int, column: int) -> int:
    before = text.split("\n")[: line - 1]
    return sum(len(each) + 1 for each in before) + column - 1


def try_condition(text: str, event_type: EventType, limits: Limits, events: Sequence[tuple[str, bytes]]) -> Tried:
    """How many of some events, given as id and JSON text, a condition matches.

    Raises:
        ConditionError: The condition is refused.
    """
    condition = compile_condition(text, event_type, limits)
    ids, tried = [], 0
    block = b"\n".join(value for _, value in events)
    if block:
        for batch in read_json_lines(block, event_type):
            tried += batch.rows
            ids += _matching(condition, batch)
    names = [events[row][0] for row in ids]
    return Tried(tried, len(names), names[:_SHOWN])


def _matching(condition: Condition, batch: EventBatch) -> list[int]:
    """The lines, counted from 0, of the events that satisfy it."""
    numbers = batch.ids.to_pylist()
    return [int(numbers[row]) for row in reference.matches(condition, batch)]


def explained(
    text: str, event_type: EventType, limits: Limits, event: Any, *, subscription_id: str | None = None
) -> Explanation:
    """Why an event satisfies a condition, or why not.

    Raises:
        ConditionError: The condition is refused.
        EventError: That is no event.
    """
    condition = compile_condition(text, event_type, limits)
    if not isinstance(event, dict):
        msg = f"expected an event, an object, found {event!r}"
        raise EventError(msg)
    return explain(condition, single(event, event_type), subscription_id=subscription_id)


def single(event: dict[str, Any], event_type: EventType) -> EventBatch:
    """One event, read as the stream reads it."""
    reading = read_json_lines(json.dumps(event).encode(), event_type)
    batches = list(reading)
    if not batches:
        msg = f"expected an event, found {'; '.join(bad.reason for bad in reading.bad)}"
        raise EventError(msg)
    return batches[0]
