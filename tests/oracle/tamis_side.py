"""tamis' answers: the reference evaluation, and the pairs of an engine.

An error is an answer too: a refusal (`ConditionError`) may be right, anything else is a finding to report.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import tamis
from tamis import reference
from tamis.errors import ConditionError
from tamis.events import EventBatch, EventType
from tamis.language.condition import compile_condition


def refusal(event_type: EventType, text: str) -> ConditionError | None:
    """Why the condition is refused; None if it is not."""
    try:
        compile_condition(text, event_type)
    except ConditionError as error:
        return error
    return None


def outcomes(event_type: EventType, batch: EventBatch, text: str) -> list[bool | None] | Exception:
    """TRUE, FALSE or NULL for each row, or the error."""
    try:
        return reference.evaluate(compile_condition(text, event_type), batch)
    except Exception as error:
        return error


def kept(event_type: EventType, table: pa.Table, texts: Sequence[str], engine: str) -> list[list[int] | Exception]:
    """The rows that each condition keeps, in order, as `engine` finds them for all conditions together."""
    try:
        return [*_kept(event_type, table, texts, engine)]
    except Exception as error:
        if len(texts) == 1:
            return [error]
        middle = len(texts) // 2
        return [
            *kept(event_type, table, texts[:middle], engine),
            *kept(event_type, table, texts[middle:], engine),
        ]


def _kept(event_type: EventType, table: pa.Table, texts: Sequence[str], engine: str) -> list[list[int]]:
    matcher = tamis.Matcher(event_type=event_type, engine=engine)
    for place, text in enumerate(texts):
        matcher.add(str(place), text)
    rows: list[list[int]] = [[] for _ in texts]
    pairs = matcher.match_batch(table)
    events = pairs.column("event_id").to_pylist()
    for event, place in zip(events, pairs.column("subscription_id").to_pylist(), strict=True):
        rows[int(place)].append(int(event))
    return [sorted(found) for found in rows]
