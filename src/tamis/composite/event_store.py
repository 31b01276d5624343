"""The events that somebody keeps, by number: attributes are looked at when a match needs them, and not before.

Events of a batch stay together as they came, as dicts or as an Arrow table; numbers increase. What nobody keeps is
forgotten now and then, when it is as much as what is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I64

Events: TypeAlias = "pa.Table | Sequence[Mapping[str, Any]]"
_SPARE = 10_000
"""Events that may be unused before anybody looks for them."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """Events of one batch, with their numbers in ascending order."""

    numbers: I64
    events: Events

    def take(self, places: I64) -> _Segment:
        return _Segment(self.numbers[places], _rows(self.events, places))


class StoredEvents:
    """The events of a moment, which stay readable here when they are forgotten in the store."""

    __slots__ = ("_segments",)

    def __init__(self, segments: Sequence[_Segment]) -> None:
        self._segments = segments

    def read(self, number: int) -> dict[str, Any]:
        """The attributes of an event."""
        own = self._segments[bisect_right(self._segments, number, key=lambda each: int(each.numbers[0])) - 1]
        place = int(np.searchsorted(own.numbers, number))
        if isinstance(own.events, pa.Table):
            found: dict[str, Any] = own.events.slice(place, 1).to_pylist()[0]
            return found
        return dict(own.events[place])


class EventStore:
    """Events by number."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._size = self._in_use = 0

    def add(self, numbers: I64, events: Events, rows: I64 | None = None) -> None:
        """Keep events, or those in some rows, under these numbers, which ascend and are new."""
        if len(numbers):
            self._segments.append(_Segment(numbers, events if rows is None else _rows(events, rows)))
            self._size += len(numbers)

    def keep_of_newest(self, first: int, numbers: Iterable[I64]) -> None:
        """Keep only some of the events that were added last, whose numbers begin with `first`."""
        if not self._segments or self._segments[-1].numbers[0] != first:
            return
        newest = self._segments.pop()
        is_kept = np.zeros(int(newest.numbers[-1]) - first + 1, np.bool_)
        for each in numbers:
            is_kept[each[each >= first] - first] = True
        self._size -= len(newest.numbers)
        self._append_some(newest, np.flatnonzero(is_kept[newest.numbers - first]))

    def snapshot(self) -> StoredEvents:
        """The events of this moment."""
        return StoredEvents([*self._segments])

    def get_many(self, numbers: Iterable[int], names: Sequence[str] | None = None) -> dict[int, dict[str, Any]]:
        """The events of some numbers, with all attributes or at least some."""
        wanted = np.array(sorted({*numbers}), np.int64)
        firsts = np.array([each.numbers[0] for each in self._segments], np.int64)
        segments = np.searchsorted(firsts, wanted, "right") - 1
        found: dict[int, dict[str, Any]] = {}
        for place in np.flatnonzero(np.bincount(segments)).tolist() if len(wanted) else ():
            own, some = self._segments[place], wanted[segments == place]
            events, rows = own.events, np.searchsorted(own.numbers, some)
            listed: Any
            if not isinstance(events, pa.Table):
                listed = _rows(events, rows)
            elif names is None:
                listed = events.take(pa.array(rows)).to_pylist()
            else:
                there = [name for name in names if name in events.column_names]
                columns = [events[name].take(pa.array(rows)).to_pylist() for name in there]
                listed = [dict(zip(there, values, strict=True)) for values in zip(*columns, strict=True)]
                listed = listed if there else [{} for _ in rows]
            found |= zip(some.tolist(), listed, strict=True)
        return found

    def forget_unused(self, in_use: Callable[[], Sequence[I64]]) -> None:
        """Forget the events that nobody keeps, if there are many."""
        if self._size <= 2 * self._in_use + _SPARE:
            return
        kept = np.concatenate([*in_use()])
        segments, self._segments, self._size = self._segments, [], 0
        for segment in segments:
            first, last = segment.numbers[0], segment.numbers[-1]
            is_kept = np.zeros(last - first + 1, np.bool_)
            is_kept[kept[(kept >= first) & (kept <= last)] - first] = True
            self._append_some(segment, np.flatnonzero(is_kept[segment.numbers - first]))
        self._in_use = self._size

    def _append_some(self, segment: _Segment, places: I64) -> None:
        """Add some events of a segment; if they are half of it, as it is, without a copy."""
        if not len(places):
            return
        if 2 * len(places) < len(segment.numbers):
            segment = segment.take(places)
        self._size += len(segment.numbers)
        last = self._segments[-1] if self._segments else None
        # Small tables become one: whoever looks for events looks into each.
        if last is not None and len(last.numbers) < len(places) and _are_alike(last.events, segment.events):
            whole = pa.concat_tables([last.events, segment.events]).combine_chunks()
            self._segments[-1] = _Segment(np.concatenate([last.numbers, segment.numbers]), whole)
        else:
            self._segments.append(segment)


def _are_alike(one: Events, other: Events) -> bool:
    return isinstance(one, pa.Table) and isinstance(other, pa.Table) and one.schema.equals(other.schema)


def _rows(events: Events, places: I64) -> Events:
    if isinstance(events, pa.Table):
        return events.take(pa.array(places))
    return [each if type(each) is dict else dict(each) for each in (events[place] for place in places.tolist())]
