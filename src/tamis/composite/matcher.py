"""The sequence matcher: composite subscriptions and events in, completed matches out.

Matching comes first: the parts of all composite subscriptions are ordinary subscriptions of one inner `Matcher`,
equal parts one subscription. What is new comes after it: for each subscription and key, the events that may still
take part.
Results depend on the order of time, never on how events are cut into batches. One thread uses it at a time.
"""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from tamis.composite.explain import EPOCH, CompositeExplanation, Ending, explain_state, moment_of
from tamis.composite.key_state import KeyState
from tamis.composite.parts import CompiledComposite, compile_composite, keys_of
from tamis.composite.saved import read_state, write_state
from tamis.composite.search import KeptEvent, Search
from tamis.errors import ConditionError, EventError, Problem, SnapshotError, SubscriptionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.matcher import Matcher

_ENDINGS_KEPT = 10
"""Of each subscription, the last matches that were not completed."""
_COUNTS = ("taken", "late", "repeated", "dropped", "abandoned")
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class CompositeMatch:
    """A completed match.

    Attributes:
        subscription_id: Of the composite subscription.
        key: The values of its BY attributes.
        time: When it was complete: the time of the last event, of THEN NOT the end of WITHIN.
        events: Those that took part, in the order of time.
    """

    subscription_id: str
    key: tuple[Any, ...]
    time: datetime
    events: tuple[dict[str, Any], ...]


@dataclass(slots=True)
class _Held:
    """A composite subscription: compiled, its place in the order of adding, its keys, and what came to nothing."""

    composite: CompiledComposite
    serial: int
    states: dict[str, KeyState] = field(default_factory=dict)
    size: int = 0
    ended: deque[tuple[str, Ending]] = field(default_factory=lambda: deque(maxlen=_ENDINGS_KEPT))


class SequenceMatcher:
    """Holds composite subscriptions to one event type and finds their matches.

    Examples:
        >>> matcher = SequenceMatcher()
        >>> matcher.add("lost", "kind = 'order' THEN NOT kind = 'payment' WITHIN INTERVAL '1' HOUR BY customer")
        >>> matcher.feed({"time": 0, "kind": "order", "customer": "ann"})
        []
        >>> [match.subscription_id for match in matcher.feed({"time": 3601, "kind": "order", "customer": "bob"})]
        ['lost']
    """

    def __init__(
        self,
        event_type: Any = None,
        *,
        lateness: timedelta = timedelta(0),
        most_per_key: int = 1000,
        most_per_subscription: int = 1_000_000,
        most_tries: int = 100_000,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """Make an empty matcher.

        Args:
            event_type: Anything that `EventType.of` takes; None for schemaless events.
            lateness: How far behind the latest event another may come; later ones are counted and set aside.
            most_per_key: Events that a subscription keeps of one key; one more is dropped and counted.
            most_per_subscription: Events that a subscription keeps of all keys.
            most_tries: Events that are tried to find the matches that one event ends; ALL, and conditions that
                refer to other parts, can need many. A search that is abandoned is counted.
            limits: What a condition may ask for.
        """
        if lateness < timedelta(0) or min(most_per_key, most_per_subscription, most_tries) < 1:
            msg = "lateness is not negative, and bounds are at least 1"
            raise ValueError(msg)
        self.event_type = EventType.of(event_type)
        self.limits = limits
        self._settings = {
            "lateness_us": lateness // _MICROSECOND,
            "most_per_key": most_per_key,
            "most_per_subscription": most_per_subscription,
            "most_tries": most_tries,
        }
        self._matcher = Matcher(self.event_type, limits=limits)
        self._held: dict[str, _Held] = {}
        self._users: dict[str, set[tuple[str, int]]] = {}
        self._serial = 0
        self._watermark_us: int | None = None
        self._number = 0
        # Heaps: events that the watermark has not reached; times and ids of events that can still be repeated;
        # deadlines, one for each state: deadline, serial and id of the subscription, key.
        self._early: list[tuple[int, int, dict[str, Any]]] = []
        self._seen: list[tuple[int, str]] = []
        self._alarms: list[tuple[int, int, str, str]] = []
        self._seen_ids: set[tuple[int, str]] = set()
        self._counts = dict.fromkeys(_COUNTS, 0)

    # --- subscriptions -----------------------------------------------------------------------------------

    def add(self, id: str, text: str) -> None:
        """Register a composite subscription under a new id; it sees events that the watermark has yet to reach.

        Raises:
            ConditionError: It is refused; the error has all problems of its parts.
            SubscriptionError: The id is taken, or no text.
        """
        if not id:
            msg = f"the id of a subscription is a text that is not empty, found {id!r}"
            raise SubscriptionError(msg)
        if id in self._held:
            raise SubscriptionError(kind="exists", id=id)
        composite = compile_composite(text, self.event_type, self.limits)
        most = min(self._settings["most_per_key"], self._settings["most_per_subscription"])
        if composite.source.count - 1 > most:
            message = f"{composite.source.count} events are more than one key keeps, which is {most}"
            raise ConditionError(text, [Problem(message, *composite.source.count_span)])
        self._held[id] = _Held(composite, self._serial)
        self._serial += 1
        for place, part in enumerate(composite.all_parts):
            shared = part.local.text
            if shared not in self._users:
                self._matcher.add(shared, part.local)
            self._users.setdefault(shared, set()).add((id, place))

    def remove(self, id: str) -> None:
        """Forget a composite subscription and everything that is open for it.

        Raises:
            SubscriptionError: There is none of that id.
        """
        held = self._find(id)
        del self._held[id]
        for place, part in enumerate(held.composite.all_parts):
            users = self._users[part.local.text]
            users.discard((id, place))
            if not users:
                del self._users[part.local.text]
                self._matcher.remove(part.local.text)
        self._alarms = [alarm for alarm in self._alarms if alarm[1] != held.serial]
        heapq.heapify(self._alarms)

    def __len__(self) -> int:
        """Number of composite subscriptions."""
        return len(self._held)

    def __contains__(self, id: object) -> bool:
        """Is there a composite subscription of that id?"""
        return id in self._held

    # --- events ------------------------------------------------------------------------------------------

    def feed(self, events: Any, *, time: str = "time", event_id: str | None = None) -> list[CompositeMatch]:
        """Take events, and give the matches that are complete now, in the order of their completion.

        Args:
            events: A dict, dicts, or an Arrow table. They are kept, so do not change them.
            time: The attribute with the time of an event: a datetime (UTC if it has no zone), its text in ISO
                8601, or seconds since 1970.
            event_id: The attribute by which an event that comes again is known.

        Raises:
            EventError: An event has no time; nothing was taken.
        """
        if hasattr(events, "to_pylist"):
            events = events.to_pylist()
        listed = [events] if isinstance(events, Mapping) else list(events)
        for row, event in enumerate(listed):
            if not isinstance(event, Mapping):
                msg = f"event {row}: expected a dict, found {type(event).__name__}"
                raise EventError(msg)
        times = [_microseconds(event.get(time), row) for row, event in enumerate(listed)]
        for time_us, event in zip(times, listed, strict=True):
            self._take(time_us, dict(event), None if event_id is None else event.get(event_id))
        return self._proceed()

    def advance(self, to: datetime | float | str) -> list[CompositeMatch]:
        """Move the watermark on, as if events up to this time had come, and give the matches that are complete."""
        moved = _microseconds(to, 0)
        self._watermark_us = moved if self._watermark_us is None else max(self._watermark_us, moved)
        return self._proceed()

    def explain(self, id: str, key: Mapping[str, Any] | None = None) -> CompositeExplanation:
        """What is open for a key and until when, and why the last matches were not completed.

        Args:
            id: Of the composite subscription.
            key: An event with the BY attributes; others are not looked at.
        """
        held = self._find(id)
        [name] = keys_of(EventBatch.of(key or {}, self.event_type), held.composite.keys)
        state = held.states.get(name or "", KeyState())
        endings = [ending for own, ending in held.ended if own == name]
        return explain_state(held.composite, state.kept, state.waiting, endings, self._settings["most_tries"])

    def stats(self) -> dict[str, int]:
        """Counts of subscriptions, distinct parts, keys and kept events; and of events, since the beginning.

        `late` and `repeated` events were set aside; `dropped` ones found a key or subscription full, and count
        once for each subscription; `abandoned` counts searches that took too many tries.
        """
        return {
            "subscriptions": len(self._held),
            "parts": len(self._users),
            "keys": sum(len(held.states) for held in self._held.values()),
            "kept": sum(held.size for held in self._held.values()),
            "early": len(self._early),
            **self._counts,
        }

    # --- state -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write subscriptions and everything that is open to a file of JSON, replacing one that is there."""
        content = {
            "settings": self._settings,
            "event_type": self.event_type.to_dict(),
            "subscriptions": [[id, held.composite.source.text] for id, held in self._held.items()],
            "watermark_us": self._watermark_us,
            "number": self._number,
            "early": sorted(self._early, key=lambda each: each[:2]),
            "seen": sorted(self._seen),
            "counts": self._counts,
            "states": [
                [
                    id,
                    key,
                    [_to_list(event) for event in state.kept],
                    [[*map(_to_list, each)] for each in state.waiting],
                ]
                for id, held in self._held.items()
                for key, state in held.states.items()
                if state.size
            ],
        }
        write_state(path, content)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> SequenceMatcher:
        """The matcher that was saved to a file.

        Raises:
            SnapshotError: The file is missing, damaged, foreign or newer.
        """
        content = read_state(path)
        try:
            settings = dict(content["settings"])
            lateness = timedelta(microseconds=settings.pop("lateness_us"))
            matcher = cls(EventType.of(content["event_type"]), lateness=lateness, limits=limits, **settings)
            for id, text in content["subscriptions"]:
                matcher.add(id, text)
            matcher._watermark_us, matcher._number = content["watermark_us"], content["number"]
            matcher._early = [(time_us, number, event) for time_us, number, event in content["early"]]
            matcher._seen = [(time_us, id) for time_us, id in content["seen"]]
            matcher._seen_ids = set(matcher._seen)
            matcher._counts |= content["counts"]
            for id, key, kept, waiting in content["states"]:
                events = [[_from_list(event) for event in each] for each in (kept, *waiting)]
                held = matcher._held[id]
                state = held.states[key] = KeyState(events[0], events[1:])
                held.size += state.size
                matcher._set_alarm(id, key, state)
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(os.fspath(path), f"not as it was written: {error!r}", "damaged") from error
        return matcher

    # --- inside: the order of events ---------------------------------------------------------------------

    def _find(self, id: str) -> _Held:
        if id not in self._held:
            raise SubscriptionError(kind="unknown", id=id)
        return self._held[id]

    def _take(self, time_us: int, event: dict[str, Any], id: Any) -> None:
        """Put an event where the watermark will find it, unless it is late or repeated."""
        if self._watermark_us is not None and time_us < self._watermark_us:
            self._counts["late"] += 1
            return
        if id is not None:
            known = (time_us, f"{type(id).__name__} {id}")
            if known in self._seen_ids:
                self._counts["repeated"] += 1
                return
            self._seen_ids.add(known)
            heapq.heappush(self._seen, known)
        self._counts["taken"] += 1
        heapq.heappush(self._early, (time_us, self._number, event))
        self._number += 1
        reached = time_us - self._settings["lateness_us"]
        self._watermark_us = reached if self._watermark_us is None else max(self._watermark_us, reached)

    def _proceed(self) -> list[CompositeMatch]:
        """Consider what the watermark has reached; deadlines before an event pass before it."""
        if self._watermark_us is None:
            return []
        due = []
        while self._early and self._early[0][0] <= self._watermark_us:
            due.append(heapq.heappop(self._early))
        while self._seen and self._seen[0][0] < self._watermark_us:
            self._seen_ids.discard(heapq.heappop(self._seen))
        matches: list[CompositeMatch] = []
        for (time_us, number, event), touched in zip(due, self._match_parts(due), strict=True):
            matches += self._pass_deadlines(time_us)
            for id, (key, parts) in touched.items():
                held = self._held[id]
                for chosen in self._consider(id, key, KeptEvent(time_us, number, event, frozenset(parts))):
                    matches.append(_match(id, held, time_us, chosen))
        return matches + self._pass_deadlines(self._watermark_us)

    def _match_parts(self, due: list[tuple[int, int, dict[str, Any]]]) -> list[dict[str, tuple[str, set[int]]]]:
        """For each event, by subscription in the order of adding, its key and the parts that it satisfies."""
        if not due:
            return []
        batch = EventBatch.of([event for _, _, event in due], self.event_type)
        rows, texts, _ = self._matcher.match_pairs(batch).columns()
        satisfied: list[dict[str, set[int]]] = [{} for _ in due]
        for row, text in zip(rows.tolist(), texts.to_pylist(), strict=True):
            for id, place in self._users[text]:
                satisfied[row].setdefault(id, set()).add(place)
        keys: dict[tuple[tuple[str, ...], ...], list[str | None]] = {}
        touched = []
        for row, parts in enumerate(satisfied):
            own: dict[str, tuple[str, set[int]]] = {}
            for id in sorted(parts, key=lambda id: self._held[id].serial):
                paths = self._held[id].composite.keys
                if paths not in keys:
                    keys[paths] = keys_of(batch, paths)
                key = keys[paths][row]
                if key is not None:
                    own[id] = key, parts[id]
            touched.append(own)
        return touched

    def _pass_deadlines(self, before_us: int) -> list[CompositeMatch]:
        """Complete what waited for a deadline before this time, and forget events that are too old."""
        matches: list[CompositeMatch] = []
        while self._alarms and self._alarms[0][0] < before_us:
            deadline = self._alarms[0][0]
            complete: list[tuple[int, int, str, list[KeptEvent]]] = []
            while self._alarms and self._alarms[0][0] == deadline:
                _, serial, id, key = heapq.heappop(self._alarms)
                held = self._held[id]
                state = held.states[key]
                before = state.size
                over, endings = state.expire(held.composite, deadline)
                complete += [(events[0].number, serial, id, events) for events in over]
                held.ended.extend((key, ending) for ending in endings)
                held.size += state.size - before
                if state.size:
                    self._set_alarm(id, key, state)
                else:
                    del held.states[key]
            complete.sort(key=lambda each: each[:2])
            matches += [_match(id, self._held[id], deadline, events) for _, _, id, events in complete]
        return matches

    def _set_alarm(self, id: str, key: str, state: KeyState) -> None:
        held = self._held[id]
        deadline = state.next_deadline(held.composite.source.within_us)
        heapq.heappush(self._alarms, (deadline, held.serial, id, key))

    def _consider(self, id: str, key: str, event: KeptEvent) -> list[list[KeptEvent]]:
        """Let an event end what it can and be kept if it can wait, within the bounds."""
        held = self._held[id]
        composite = held.composite
        state = held.states.get(key)
        is_new = state is None
        if state is None:
            if composite.source.form == "sequence" and 0 not in event.parts:
                return []  # nothing is open that it could follow: so end most events of later parts
            state = KeyState()
        before = state.size
        search = Search(composite, self._settings["most_tries"])
        held.ended.extend((key, ending) for ending in state.cancel(composite, event, search))
        ended = state.end_matches(composite, event, search)
        self._counts["abandoned"] += search.gave_up
        grown = state.size - before
        is_full = state.size > self._settings["most_per_key"]
        if grown > 0 and (is_full or held.size + grown > self._settings["most_per_subscription"]):
            self._counts["dropped"] += 1
            state.drop(event)
        held.size += state.size - before
        if is_new and state.size:
            held.states[key] = state
            self._set_alarm(id, key, state)
        return ended


def _match(id: str, held: _Held, time_us: int, events: list[KeptEvent]) -> CompositeMatch:
    first = events[0].event
    key = tuple(reduce(lambda value, step: value[step], path, first) for path in held.composite.keys)
    return CompositeMatch(id, key, moment_of(time_us), tuple(each.event for each in events))


def _microseconds(value: Any, row: int) -> int:
    """The time of an event, since 1970."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // _MICROSECOND
        if isinstance(moment, (int, float)) and not isinstance(moment, bool):
            return (moment_of(round(moment * 1_000_000)) - EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        pass
    msg = f"event {row}: expected a time, as a datetime, text or seconds since 1970; found {value!r}"
    raise EventError(msg)


def _to_list(event: KeptEvent) -> list[Any]:
    return [event.time_us, event.number, event.event, sorted(event.parts), event.begun]


def _from_list(written: list[Any]) -> KeptEvent:
    time_us, number, event, parts, begun = written
    return KeptEvent(time_us, number, event, frozenset(parts), begun)
