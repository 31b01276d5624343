"""The sequence matcher: composite subscriptions and events in, completed matches out.

Matching comes first: the parts of all composite subscriptions are ordinary subscriptions of one inner `Matcher`,
equal parts one subscription. What is new comes after it: for each subscription and key, the events that may still
take part (`open_matches.py`). Results depend on the order of time, never on how events are cut into batches, if no
bound of a subscription or group is reached. One thread uses it at a time.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I32, I64, Bools, Mask
from tamis.composite.event_store import EventStore, StoredEvents
from tamis.composite.explain import EPOCH, CompositeExplanation, moment_of
from tamis.composite.key_numbers import KeyNumbers
from tamis.composite.key_state import KeyState
from tamis.composite.open_matches import (
    KEY_BITS,
    Bounds,
    Completions,
    OpenMatches,
    Rows,
    are_few,
    rows_of_state,
)
from tamis.composite.parts import CompiledComposite, compile_composite
from tamis.composite.saved import read_state, write_state
from tamis.composite.search import KeptEvent
from tamis.errors import ConditionError, EventError, Problem, SnapshotError, SubscriptionError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.interpretation import unless_few
from tamis.kernels import kernel
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.matcher import Matcher
from tamis.segments.pairs import Owner, Pairs
from tamis.segments.records import Records
from tamis.verification.search import GREEDY, check_order

Keys: TypeAlias = tuple[tuple[str, ...], ...]
"""The paths of BY."""
_MICROSECOND = timedelta(microseconds=1)
_EVENTS_PER_PART = 4
"""Once so many events were matched, it pays to make one segment of parts that were added one by one."""
_KEY = (1 << KEY_BITS) - 1


class _Found(NamedTuple):
    """Completed matches of one call, and what is needed to tell of them."""

    done: Completions
    users: _Users
    events: StoredEvents


class CompositeMatch:
    """A completed match; what it tells is read when somebody asks for it."""

    __slots__ = ("_found", "_place")

    def __init__(self, found: _Found, place: int) -> None:
        self._found = found
        self._place = place

    @property
    def _slot(self) -> int:
        return int(self._found.done.code[self._place]) >> KEY_BITS

    @property
    def subscription_id(self) -> str:
        """Of the composite subscription."""
        return self._found.users.ids[self._slot]

    @property
    def time(self) -> datetime:
        """When it was complete: the time of the last event, of THEN NOT the end of WITHIN."""
        return moment_of(int(self._found.done.time_us[self._place]))

    @property
    def events(self) -> tuple[dict[str, Any], ...]:
        """Those that took part, in the order of time."""
        done, events = self._found.done, self._found.events
        start = 0 if self._place == 0 else done.ends[self._place - 1]
        return tuple(map(events.read, done.numbers[start : done.ends[self._place]].tolist()))

    @property
    def key(self) -> tuple[Any, ...]:
        """The values of its BY attributes."""
        first: Any = self.events[0]
        paths = self._found.users.keys[self._slot]
        return tuple(reduce(lambda value, step: value[step], path, first) for path in paths)

    def __repr__(self) -> str:
        return f"CompositeMatch({self.subscription_id!r}, {self.key!r}, {self.time!r}, {self.events!r})"


@dataclass(frozen=True, slots=True)
class _Held:
    """A composite subscription: compiled, its slot, and the number of its list of BY attributes."""

    composite: CompiledComposite
    slot: int
    paths: int


class _Uses(NamedTuple):
    """The subscriptions that use each part: those of part p are `starts[p]` to `starts[p + 1]`.

    uses: int32[uses, 3], side by side since all are read at once: the slot of the subscription, the bit of the
    part, the number of the subscription's list of BY attributes.
    """

    starts: I32
    uses: I32


class _Users:
    """The subscriptions that use parts; made anew when they change, so that earlier matches can go on to read it.

    Attributes:
        ids: Of the subscriptions, by slot.
        keys: Their paths of BY.
    """

    def __init__(self, parts: int, held: Mapping[str, _Held], numbers: Mapping[str, int]) -> None:
        listed = sorted(
            (numbers[part.local.text], each.slot, 1 << place, each.paths)
            for each in held.values()
            for place, part in enumerate(each.composite.all_parts)
        )
        columns = np.array(listed, np.int64).reshape(-1, 4)
        self.ids = {each.slot: id for id, each in held.items()}
        self.keys = {each.slot: each.composite.keys for each in held.values()}
        starts = np.searchsorted(columns[:, 0], np.arange(parts + 1)).astype(np.int32)
        self.uses = _Uses(starts, columns[:, 1:].astype(np.int32))
        self._parts: dict[int, tuple[Owner, I64]] = {}

    def parts(self, found: Pairs) -> tuple[I32, I64]:
        """Row and part of each pair of an event and a part."""
        rows, parts = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for owner, (at, slots) in found.groups:
            rows.append(at)
            parts.append(self._part_numbers(owner, slots))
        return np.concatenate(rows), np.concatenate(parts)

    def _part_numbers(self, owner: Owner, slots: I32) -> I64:
        """The parts in some slots of the inner matcher."""
        if not isinstance(owner, Records):
            return np.array([int(owner[slot].subscription.id) for slot in slots.tolist()], np.int64)
        known = self._parts.get(id(owner))
        if known is None or known[0] is not owner:
            known = self._parts[id(owner)] = owner, owner.ids.cast(pa.int64()).to_numpy()
        return known[1][slots]


@kernel
def order_parts(rows: I32, parts: I64, uses: _Uses, needed: Mask) -> tuple[I32, I64]:
    """The parts of each row in turn, and where those of each row end.

    Sets for each list of BY attributes the rows that need a key.
    """
    starts, is_single = uses.starts, len(needed) == 1
    ends = np.zeros(needed.shape[1] + 1, np.int64)
    for row in rows:
        ends[row + 1] += 1
    for row in range(needed.shape[1]):
        ends[row + 1] += ends[row]
    ordered = np.empty(len(rows), np.int32)
    for pair in range(len(rows)):
        row, part = rows[pair], parts[pair]
        ordered[ends[row]] = part
        ends[row] += 1
        if is_single:
            needed[0, row] = True
            continue
        for use in range(starts[part], starts[part + 1]):
            needed[uses.uses[use, 2], row] = True
    return ordered, ends


@kernel
def list_uses(
    ordered: I32, ends: I64, uses: _Uses, keys: I64, times: I64, numbers: I64
) -> tuple[I64, I64, I64, I32]:
    """The columns of `Rows` for each use of the part of each pair, in the order of rows; code -1 without a key."""
    starts, size = uses.starts, 0
    for part in ordered:
        size += starts[part + 1] - starts[part]
    code, time_us, number = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    bits = np.empty(size, np.int32)
    at = pair = 0
    for row in range(keys.shape[1]):
        while pair < ends[row]:
            part = ordered[pair]
            for use in range(starts[part], starts[part + 1]):
                slot = np.int64(uses.uses[use, 0])
                code[at] = slot << KEY_BITS | keys[uses.uses[use, 2], row]
                time_us[at], number[at], bits[at] = times[row], numbers[row], uses.uses[use, 1]
                at += 1
            pair += 1
    return code, time_us, number, bits


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
        most_per_group: int = 10_000_000,
        most_tries: int = 100_000,
        limits: Limits = DEFAULT_LIMITS,
        call_order: str = GREEDY,
    ) -> None:
        """Make an empty matcher.

        Args:
            event_type: Anything that `EventType.of` takes; None for schemaless events.
            lateness: How far behind the latest event another may come; later ones are counted and set aside.
            most_per_key: Events that a subscription keeps of one key; one more is dropped and counted.
            most_per_subscription: Events that a subscription keeps of all keys.
            most_per_group: Events that all subscriptions of a group keep. The group of a subscription is what its
                id has before the first slash.
            most_tries: Events that are tried to find the matches that one event ends; ALL, and conditions that
                refer to other parts, can need many. A search that is abandoned is counted.
            limits: What a condition may ask for.
            call_order: Which call of an operator is made next, as for `Matcher`.
        """
        bounds = Bounds(most_per_key, most_per_subscription, most_per_group, most_tries)
        if lateness < timedelta(0) or min(bounds) < 1:
            msg = "lateness is not negative, and bounds are at least 1"
            raise ValueError(msg)
        self.event_type = EventType.of(event_type)
        self.limits = limits
        self._lateness_us = lateness // _MICROSECOND
        self._matcher = Matcher(self.event_type, limits=limits, call_order=call_order)
        self._events = EventStore()
        self._open = OpenMatches(bounds, self._events.get_many)
        self._keys = KeyNumbers()
        self._held: dict[str, _Held] = {}
        self._ids: dict[int, str] = {}
        self._paths: dict[tuple[tuple[str, ...], ...], int] = {}
        self._parts: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        self._next_part = 0
        self._users: _Users | None = None
        self._is_scattered, self._since_added = False, 0
        self._watermark_us: int | None = None
        self._number = 0
        # A heap: times and ids of events that can still be repeated.
        self._seen: list[tuple[int, str]] = []
        self._seen_ids: set[tuple[int, str]] = set()
        self._counts = dict.fromkeys(("taken", "late", "repeated"), 0)

    # --- subscriptions -----------------------------------------------------------------------------------

    def add(self, id: str, text: str) -> None:
        """Register a composite subscription under a new id; it sees events that come after it.

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
        check_count(composite, self._open.bounds)
        slot = self._open.add(composite, group_of(id))
        self._held[id] = _Held(composite, slot, self._paths.setdefault(composite.keys, len(self._paths)))
        self._ids[slot] = id
        self._users = None
        for part in composite.all_parts:
            shared = part.local.text
            self._uses[shared] = self._uses.get(shared, 0) + 1
            if shared not in self._parts:
                self._parts[shared] = self._next_part
                self._matcher.add(str(self._next_part), part.local)
                self._is_scattered, self._since_added = True, 0
                self._next_part += 1

    def remove(self, id: str) -> None:
        """Forget a composite subscription and everything that is open for it.

        Raises:
            SubscriptionError: There is none of that id.
        """
        held = self._find(id)
        del self._held[id], self._ids[held.slot]
        self._open.remove(held.slot)
        self._users = None
        for part in held.composite.all_parts:
            shared = part.local.text
            self._uses[shared] -= 1
            if not self._uses[shared]:
                del self._uses[shared]
                self._matcher.remove(str(self._parts.pop(shared)))

    def __len__(self) -> int:
        """Number of composite subscriptions."""
        return len(self._held)

    def __contains__(self, id: object) -> bool:
        """Is there a composite subscription of that id?"""
        return id in self._held

    def __iter__(self) -> Iterator[str]:
        """The ids of the composite subscriptions, in the order of adding."""
        return iter([*self._held])

    def composite(self, id: str) -> CompiledComposite:
        """A composite subscription as it was compiled.

        Raises:
            SubscriptionError: There is none of that id.
        """
        return self._find(id).composite

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
        given = events if isinstance(events, pa.Table) or isinstance(events, Mapping) else [*events]
        batch = EventBatch.of(given, self.event_type)
        listed = given if isinstance(given, pa.Table) else [given] if isinstance(given, Mapping) else given
        times = event_times(listed, time)
        taken = self._take(times, None if event_id is None else _values(listed, event_id))
        first, numbers = self._number, self._number - 1 + np.cumsum(taken)
        self._number += int(np.count_nonzero(taken))
        rows = None if taken.all() else np.flatnonzero(taken)
        self._events.add(np.arange(first, self._number), listed, rows)
        return self._apply(self._match_parts(batch, times, numbers, taken), first)

    def advance(self, to: datetime | float | str) -> list[CompositeMatch]:
        """Move the watermark on, as if events up to this time had come, and give the matches that are complete."""
        moved = _microseconds(to, 0)
        self._watermark_us = moved if self._watermark_us is None else max(self._watermark_us, moved)
        return self._apply(Rows.of([]))

    def explain(self, id: str, key: Mapping[str, Any] | None = None) -> CompositeExplanation:
        """What is open for a key and until when, and why the last matches were not completed.

        Args:
            id: Of the composite subscription.
            key: An event with the BY attributes; others are not looked at.
        """
        held = self._find(id)
        event = EventBatch.of(key or {}, self.event_type)
        [number] = self._keys.of_rows(event, held.composite.keys, np.zeros(1, np.int64)).tolist()
        return self._open.explain(held.slot, None if number < 0 else held.slot << KEY_BITS | number)

    def stats(self) -> dict[str, int]:
        """Counts of subscriptions, distinct parts, keys and kept events; and of events, since the beginning.

        `early` events wait for the watermark. `late` and `repeated` events were set aside; `dropped` ones found a
        key, subscription or group full, and count once for each subscription; `abandoned` counts searches that
        took too many tries.
        """
        return {
            "subscriptions": len(self._held),
            "parts": len(self._parts),
            "keys": len(np.unique(self._open.held.code)),
            "kept": len(self._open.held),
            "early": len(self._open.early),
            **self._counts,
            "dropped": self._open.dropped,
            "abandoned": self._open.abandoned,
        }

    # --- state -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write subscriptions and everything that is open to a file of JSON, replacing one that is there."""
        keys = self._keys.texts()
        opened, early = self._open, self._open.early
        numbers = np.unique(np.concatenate([opened.held.number, early.number])).tolist()
        events = self._events.get_many(numbers)
        write_state(
            path,
            {
                "settings": {"lateness_us": self._lateness_us, **opened.bounds._asdict()},
                "event_type": self.event_type.to_dict(),
                "subscriptions": [[id, held.composite.source.text] for id, held in self._held.items()],
                "watermark_us": self._watermark_us,
                "number": self._number,
                "seen": sorted(self._seen),
                "counts": {**self._counts, "dropped": opened.dropped, "abandoned": opened.abandoned},
                "states": [
                    [
                        self._ids[code >> KEY_BITS],
                        keys[code & _KEY],
                        [_to_list(event) for event in state.kept],
                        [[*map(_to_list, each)] for each in state.waiting],
                    ]
                    for code in np.unique(opened.held.code).tolist()
                    for state in [opened.state_of(code)]
                ],
                "early": [
                    [self._ids[code >> KEY_BITS], keys[code & _KEY], *values]
                    for code, *values in zip(
                        *(getattr(early, name).tolist() for name in ("code", "time_us", "number", "parts")),
                        strict=True,
                    )
                ],
                "events": [[number, events[number]] for number in numbers],
            },
        )

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS, call_order: str = GREEDY
    ) -> SequenceMatcher:
        """The matcher that was saved to a file; limits and the order of calls are not in it.

        Raises:
            SnapshotError: The file is missing, damaged, foreign or newer.
            ValueError: There is no such order of calls.
        """
        check_order(call_order)
        content = read_state(path)
        try:
            settings = dict(content["settings"])
            lateness = timedelta(microseconds=settings.pop("lateness_us"))
            bounds = {f"most_{name}": most for name, most in settings.items()}
            given = {"lateness": lateness, "limits": limits, "call_order": call_order, **bounds}
            matcher = cls(EventType.of(content["event_type"]), **given)
            for id, text in content["subscriptions"]:
                matcher.add(id, text)
            matcher._watermark_us, matcher._number = content["watermark_us"], content["number"]
            matcher._seen = [(time_us, id) for time_us, id in content["seen"]]
            matcher._seen_ids = set(matcher._seen)
            counts, opened = dict(content["counts"]), matcher._open
            opened.dropped, opened.abandoned = counts.pop("dropped"), counts.pop("abandoned")
            matcher._counts |= counts
            held = [Rows.of([])]
            for id, key, kept, waiting in content["states"]:
                events = [[KeptEvent(*event) for event in each] for each in (kept, *waiting)]
                held.append(rows_of_state(matcher._code(id, key), KeyState(events[0], events[1:])))
            rows = Rows.join(held)
            opened.held = rows.take(np.argsort(rows.code, kind="stable"))
            opened.early = Rows.of(
                [
                    (matcher._code(id, key), time_us, number, parts)
                    for id, key, time_us, number, parts in content["early"]
                ]
            )
            numbers = np.array([number for number, _ in content["events"]], np.int64)
            matcher._events.add(numbers, [event for _, event in content["events"]], np.arange(len(numbers)))
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotError(os.fspath(path), f"not as it was written: {error!r}", "damaged") from error
        return matcher

    # --- inside ------------------------------------------------------------------------------------------

    def _find(self, id: str) -> _Held:
        if id not in self._held:
            raise SubscriptionError(kind="unknown", id=id)
        return self._held[id]

    def _code(self, id: str, key: str) -> int:
        return self._held[id].slot << KEY_BITS | int(self._keys.of_texts([key])[0])

    def _take(self, times: I64, ids: Sequence[Any] | None) -> Bools:
        """Which events are taken: they are neither late nor repeated. The watermark moves on."""
        if not len(times):
            return np.zeros(0, np.bool_)
        # Late events are earlier than the greatest time, so it makes no difference that they are in the maximum.
        reached = np.maximum.accumulate(times) - self._lateness_us
        before = np.append(reached[0], reached[:-1])
        if self._watermark_us is not None:
            before = np.maximum(before, self._watermark_us)
        taken = times >= before
        self._counts["late"] += int(np.count_nonzero(~taken))
        self._watermark_us = max(int(reached[-1]), int(before[0]))
        if ids is not None:
            for row in np.flatnonzero(taken).tolist():
                if ids[row] is not None:
                    known = (int(times[row]), f"{type(ids[row]).__name__} {ids[row]}")
                    taken[row] = known not in self._seen_ids
                    if taken[row]:
                        self._seen_ids.add(known)
                        heapq.heappush(self._seen, known)
                    self._counts["repeated"] += not taken[row]
        self._counts["taken"] += int(np.count_nonzero(taken))
        return taken

    def _apply(self, arrived: Rows, first: int | None = None) -> list[CompositeMatch]:
        """Consider rows; the events of their batch have the numbers from `first` on."""
        if self._watermark_us is None:
            return []
        while self._seen and self._seen[0][0] < self._watermark_us:
            self._seen_ids.discard(heapq.heappop(self._seen))
        done = self._open.apply(arrived, self._watermark_us)
        # A segment that is half in use stays as it is: nobody needs to look how many of so many are.
        if first is not None and 2 * len(arrived) < self._number - first:
            self._events.keep_of_newest(first, [done.numbers, *self._open.numbers()])
        found = _Found(done, self._part_users, self._events.snapshot())
        matches = [*map(CompositeMatch, repeat(found), range(len(done)))]
        self._keys.forget_unused(self._open.keys)
        self._events.forget_unused(self._open.numbers)
        return matches

    @property
    def _part_users(self) -> _Users:
        if self._users is None:
            self._users = _Users(self._next_part, self._held, self._parts)
        return self._users

    def _match_parts(self, batch: EventBatch, times: I64, numbers: I64, taken: Bools) -> Rows:
        """For each event that is taken, the subscriptions of which it satisfies a part."""
        if not self._held or not batch.rows:
            return Rows.of([])
        users = self._part_users
        self._since_added += batch.rows
        if self._is_scattered and self._since_added > _EVENTS_PER_PART * len(self._parts):
            self._matcher.merge()
            self._is_scattered = False
        rows, parts = users.parts(self._matcher.match_pairs(batch))
        if not taken.all():
            keep = taken[rows]
            rows, parts = rows[keep], parts[keep]
        is_few = are_few(len(rows))
        needed = np.zeros((len(self._paths), batch.rows), np.bool_)
        ordered, ends = unless_few(order_parts, is_few)(rows, parts, users.uses, needed)
        keys = np.empty(needed.shape, np.int64)
        for paths, number in self._paths.items():
            keys[number] = self._keys.of_rows(batch, paths, np.flatnonzero(needed[number]))
        columns = unless_few(list_uses, is_few)(ordered, ends, users.uses, keys, times, numbers)
        found = Rows(*columns)
        is_known = found.code >= 0
        return found if is_known.all() else found.take(is_known)


def group_of(id: str) -> str:
    """The group of a subscription: what its id has before the first slash."""
    group, slash, _ = id.partition("/")
    return group if slash else ""


def check_count(composite: CompiledComposite, bounds: Bounds) -> None:
    """Refuse what asks for more events than are kept.

    Raises:
        ConditionError: It does.
    """
    source, most = composite.source, min(bounds[:3])
    if source.count - 1 > most:
        message = f"{source.count} events are more than one key keeps, which is {most}"
        raise ConditionError(source.text, [Problem(message, *source.count_span)])


def _values(events: Any, name: str) -> Sequence[Any]:
    if isinstance(events, pa.Table):
        return events[name].to_pylist() if name in events.column_names else [None] * len(events)
    return [event.get(name) for event in events]


def event_times(events: Any, name: str) -> I64:
    """The times of events, in microseconds since 1970.

    Raises:
        EventError: One has none.
    """
    if isinstance(events, pa.Table) and name in events.column_names:
        column = events[name].combine_chunks()
        if pa.types.is_timestamp(column.type) and not column.null_count:
            return np.asarray(column.cast(pa.timestamp("us")).cast(pa.int64()))
    return np.array([_microseconds(value, row) for row, value in enumerate(_values(events, name))], np.int64)


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
    return [event.time_us, event.number, event.parts, event.begun]
