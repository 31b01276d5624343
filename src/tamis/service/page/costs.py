"""What conditions cost: the time that evaluating each alone takes, on recent events.

This compares conditions with each other. It is not what matching takes: engines share work among subscriptions and
skip most of it. Operators are not called for this; a condition that calls some costs what their calls are expected
to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from tamis import reference
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.formulas.expression import calls_in
from tamis.language.condition import Condition, compile_record
from tamis.service.names import qualified_name
from tamis.service.page.page_request import PageRequest
from tamis.store import StoredSubscription
from tamis.verification.plan import call_cost

EVENTS = 50
"""On so many of the last events of its type a condition is timed."""
_BUDGET_SECONDS = 0.5
_GOOD_SECONDS = 60.0
_RUNS = 3


def costs(request: PageRequest, subscriptions: Sequence[StoredSubscription]) -> dict[str, float]:
    """Seconds per event of each subscription; those are left out for which there was no event or no time."""
    deadline = time.monotonic() + _BUDGET_SECONDS
    found = {}
    for each in subscriptions:
        if time.monotonic() > deadline:
            break
        known = request.cached("cost", _GOOD_SECONDS, partial(_cost, request, each), each.id, each.revision)
        if known is not None:
            found[each.id] = known
    return found


def _cost(request: PageRequest, subscription: StoredSubscription) -> float | None:
    event_type, batches = request.cached(
        "sample", _GOOD_SECONDS, lambda: _sample(request, subscription.event_type), subscription.event_type
    )
    if event_type is None:
        return None
    try:
        condition = compile_record(
            subscription.condition, event_type, request.service.store.limits, subscription.dialect
        )
        calls = calls_in(condition.expression)
        if calls:
            return sum(call_cost(call.operator, None) for call in calls)
        rows = sum(batch.rows for batch in batches)
        return min(_seconds(condition, batches) for _ in range(_RUNS)) / rows if rows else None
    except TamisError:  # its event type refuses it by now
        return None


def _seconds(condition: Condition, batches: Sequence[EventBatch]) -> float:
    began = time.perf_counter()
    for batch in batches:
        reference.matches(condition, batch)
    return time.perf_counter() - began


def _sample(request: PageRequest, name: str) -> tuple[EventType | None, list[EventBatch]]:
    """Recent events of a type, read."""
    try:
        event_type = request.service.subscriptions.event_type(request.tenant, name)
    except TamisError:
        return None, []
    recent = request.service.inbox.recent(
        request.tenant, limit=EVENTS, event_type=qualified_name(request.tenant, name)
    )
    block = b"\n".join(each.value for each in recent)
    return event_type, list(read_json_lines(block, event_type)) if block else []
