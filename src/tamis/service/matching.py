"""Matching on request: which subscriptions of a tenant some events satisfy now. Nothing is written.

The matchers of the types that were asked about last are kept, each for one version of the store: after any change
of it, the next request compiles the subscriptions of its type again.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tamis.errors import EventError
from tamis.events.event_type import EventType
from tamis.events.reading import read_json_lines
from tamis.limits import Limits
from tamis.matcher import Matcher
from tamis.service.subscriptions import TenantSubscriptions
from tamis.store import Store
from tamis.verification.search import GREEDY

MOST_SUBSCRIPTIONS = 100_000
"""That one request tries: more would keep it waiting for seconds."""
_KEPT = 16


@dataclass(frozen=True, slots=True)
class RequestedMatches:
    """What events satisfy.

    Attributes:
        subscriptions: How many were tried.
        ids: Of those that each event satisfies, in the order of their ids.
        left_out: The ids of those that were not tried, in order: composite ones, and those that their event type
            refuses by now.
    """

    subscriptions: int
    ids: list[list[str]]
    left_out: list[str]


class _Held(NamedTuple):
    """The matcher of one version of the store, and the ids that it did not take."""

    version: int
    matcher: Matcher
    left_out: list[str]


class RequestMatching:
    """The matchers of requests; it may be called from several threads."""

    def __init__(self, store: Store, subscriptions: TenantSubscriptions, call_order: str = GREEDY) -> None:
        self._store = store
        self._subscriptions = subscriptions
        self._call_order = call_order
        self._matchers: OrderedDict[tuple[str, Limits], _Held] = OrderedDict()
        self._lock = threading.Lock()

    def match(self, tenant: str, event_type: EventType, events: Sequence[Any]) -> RequestedMatches:
        """The ids of the active subscriptions to a type, under its qualified name, that events of it satisfy.

        Raises:
            EventError: One of them is no event.
            QuotaExceeded: There are too many subscriptions to try.
        """
        _, matcher, left_out = self._matcher(tenant, event_type)
        lines = b"\n".join(_line(event, place) for place, event in enumerate(events))
        reading = read_json_lines(lines, event_type)
        found: list[list[str]] = [[] for _ in events]
        for batch in reading:
            pairs = matcher.match_batch(batch, sort="subscription")
            for event, id in zip(pairs["event_id"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True):
                found[event].append(id)
        for letter in reading.dead_letters:
            msg = f"event {letter.line_number}: {letter.reason}"
            raise EventError(msg)
        return RequestedMatches(len(matcher), [sorted(ids) for ids in found], left_out)

    def _matcher(self, tenant: str, event_type: EventType) -> _Held:
        """The matcher of the store as it is; two requests may build the same one, and either will do."""
        limits = self._subscriptions.limits(tenant)
        key, version = (event_type.name, limits), self._store.version()
        with self._lock:
            held = self._matchers.get(key)
        if held is None or held.version != version:
            active = self._subscriptions.active(tenant, event_type.name, limit=MOST_SUBSCRIPTIONS)
            matcher = Matcher(event_type, limits=limits, call_order=self._call_order)
            refused = matcher.add_many(
                {"id": id, "condition": each.condition, "dialect": each.dialect} for id, each in active
            )
            held = _Held(version, matcher, sorted(each.id or "" for each in refused))
        with self._lock:
            self._matchers[key] = held
            self._matchers.move_to_end(key)
            while len(self._matchers) > _KEPT:
                self._matchers.popitem(last=False)
        return held


def _line(event: Any, place: int) -> bytes:
    if not isinstance(event, dict):
        msg = f"event {place + 1}: expected an object, found {event!r}"
        raise EventError(msg)
    return json.dumps(event).encode()
