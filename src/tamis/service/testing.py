"""Conditions before they are subscribed: what is wrong with them, what they would match, and why."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from tamis import reference
from tamis.composite.parts import compile_composite
from tamis.composite.trial import Trial, try_composite
from tamis.errors import ConditionError, EventError, Problem
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.explain import Explanation, explain
from tamis.language.condition import compile_condition
from tamis.language.dialects import SQL, has_state
from tamis.language.lint import SeenAttributes, lint
from tamis.limits import Limits

_SHOWN = 20
_ID, _TIME = "tamis id", "tamis time"
"""Attributes that no condition can ask for, with what events are called and when they happened."""
_NEVER: Mapping[str, datetime] = MappingProxyType({})
"""When events were accepted that were not."""
_MOST_BYTES = 4 << 20
"""Of recent events, when a condition is checked."""


@dataclass(frozen=True, slots=True)
class MatchCount:
    """What a condition would have matched.

    Attributes:
        events: How many were tried.
        matched: How many of them satisfy it.
        ids: Of the first of these.
        unknown: For how many it is NULL, which is an error in some dialects.
    """

    events: int
    matched: int
    ids: list[str]
    unknown: int = 0


def problems_of(text: str, problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Problems with their places, for JSON."""
    found = []
    for each in problems:
        line, column = each.line_and_column(text)
        place = {"start": each.start, "end": each.end, "line": line, "column": column}
        found.append({"message": each.message, **place, "hint": each.hint})
    return found


def findings(
    text: str, event_type: EventType, limits: Limits, recent: Sequence[bytes] = (), dialect: str = SQL
) -> list[dict[str, Any]]:
    """Everything there is to say about a condition, for JSON.

    Args:
        text: The condition.
        event_type: What it is about.
        limits: Of conditions.
        recent: The last events as JSON texts, to find misspelt attributes of schemaless ones.
        dialect: Of the condition.
    """
    try:
        if has_state(dialect):
            compile_composite(text, event_type, limits)
            return []
        compile_condition(text, event_type, limits, dialect)
    except ConditionError as error:
        return [{"severity": "error", "code": "syntax", **each} for each in problems_of(text, error.problems)]
    seen = seen_attributes(recent, event_type)
    return [
        {**each.to_dict(), "start": _offset(text, each.line, each.column), "end": len(text)}
        for each in lint(text, event_type, limits=limits, seen=seen, dialect=dialect)
    ]


def unseen_attributes(
    text: str, event_type: EventType, limits: Limits, seen: SeenAttributes | None, dialect: str = SQL
) -> list[dict[str, Any]]:
    """The warnings that no recent event has an attribute of a valid condition, for JSON."""
    if seen is None or has_state(dialect):
        return []
    return [
        {**each.to_dict(), "start": _offset(text, each.line, each.column), "end": len(text)}
        for each in lint(text, event_type, limits=limits, seen=seen, dialect=dialect)
        if each.code == "unseen"
    ]


def seen_attributes(recent: Sequence[bytes], event_type: EventType) -> SeenAttributes | None:
    """The attributes of the last events, given as JSON texts; None without any."""
    return SeenAttributes.of(read_json_lines(_few(recent), event_type)) if recent else None


def _few(recent: Sequence[bytes]) -> bytes:
    """As many of the events as are read in no time, as JSON lines."""
    ends = itertools.accumulate(map(len, recent))
    return b"\n".join(line for line, end in zip(recent, ends, strict=True) if end <= _MOST_BYTES)


def _offset(text: str, line: int, column: int) -> int:
    before = text.split("\n")[: line - 1]
    return sum(len(each) + 1 for each in before) + column - 1


def count_matches(
    text: str,
    event_type: EventType,
    limits: Limits,
    events: Sequence[tuple[str, bytes]],
    dialect: str = SQL,
    *,
    accepted: Mapping[str, datetime] = _NEVER,
) -> MatchCount:
    """How many of some events, given as id and JSON text, a condition matches; see `try_events` for the last.

    Raises:
        ConditionError: The condition is refused.
    """
    if has_state(dialect):
        trial = try_composite(text, _with_times(events, accepted), event_type, time=_TIME, limits=limits)
        names = [str(match.events[-1][_ID]) for match in trial.matches]
        return MatchCount(len(events), len(names), names[:_SHOWN])
    condition = compile_condition(text, event_type, limits, dialect)
    ids: list[int] = []
    tried = unknown = 0
    block = b"\n".join(value for _, value in events)
    if block:
        for batch in read_json_lines(block, event_type):
            tried += batch.rows
            verdicts = reference.evaluate(condition, batch)
            unknown += verdicts.count(None)
            ids += [int(line) for line, verdict in zip(batch.ids.to_pylist(), verdicts, strict=True) if verdict]
    names = [events[line][0] for line in ids]
    return MatchCount(tried, len(names), names[:_SHOWN], unknown)


def try_events(
    text: str,
    event_type: EventType,
    limits: Limits,
    events: Sequence[tuple[str, bytes]],
    key: str,
    *,
    accepted: Mapping[str, datetime] = _NEVER,
) -> Trial:
    """What a composite subscription finds in events, given as id and JSON text, of the key of one of them.

    As in the stream, an event without a time has the time at which it was accepted, by its id in `accepted`; one
    that was not has the epoch.

    Raises:
        ConditionError: The subscription is refused.
    """
    timed = _with_times(events, accepted)
    [own] = [each for each in timed if each[_ID] == key][:1] or [{}]
    return try_composite(text, timed, event_type, time=_TIME, limits=limits, key=own)


def _with_times(events: Sequence[tuple[str, bytes]], accepted: Mapping[str, datetime]) -> list[dict[str, Any]]:
    """Events with their ids and times."""
    epoch = datetime.fromtimestamp(0, UTC)
    read = [(id, json.loads(value)) for id, value in events]
    return [
        {
            **event,
            _ID: id,
            _TIME: event["time"] if _is_time(event.get("time")) else accepted.get(id, epoch).isoformat(),
        }
        for id, event in read
    ]


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, (int, float)) or bool(isinstance(value, str) and datetime.fromisoformat(value))
    except ValueError:
        return False


def explain_event(
    text: str,
    event_type: EventType,
    limits: Limits,
    event: Any,
    *,
    subscription_id: str | None = None,
    dialect: str = SQL,
) -> Explanation:
    """Why an event satisfies a condition, or why not.

    Raises:
        ConditionError: The condition is refused.
        EventError: That is no event.
    """
    condition = compile_condition(text, event_type, limits, dialect)
    return explain(condition, batch_of_one(event, event_type), subscription_id=subscription_id)


def batch_of_one(event: Any, event_type: EventType) -> EventBatch:
    """One event, read as the stream reads it.

    Raises:
        EventError: That is none.
    """
    if not isinstance(event, dict):
        msg = f"expected an event, an object, found {event!r}"
        raise EventError(msg)
    reading = read_json_lines(json.dumps(event).encode(), event_type)
    batches = list(reading)
    if not batches:
        msg = f"expected an event, found {'; '.join(each.reason for each in reading.dead_letters)}"
        raise EventError(msg)
    return batches[0]
