"""The events that somebody keeps, by number: attributes are looked at when a match needs them, and not before.

Events of a batch stay together as they came, as dicts or as an Arrow table; numbers increase. What nobody keeps is
forgotten now and then, when it is as much as what is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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


class StoredEvent(NamedTuple):
    """An event, as it came with the others of its batch."""

    events: Events
    place: int

    def read(self) -> dict[str, Any]:
        """Its attributes."""
        if isinstance(self.events, pa.Table):
            found: dict[str, Any] = self.events.slice(self.place, 1).to_pylist()[0]
            return found
        return dict(self.events[self.place])


class EventStore:
    """Events by number."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self._size = self._in_use = 0

    def add(self, numbers: I64, events: Events, rows: I64) -> None:
        """Keep some rows of a batch under these numbers, which ascend and are new."""
        if len(rows):
            self._segments.append(_Segment(numbers, _rows(events, rows)))
            self._size += len(rows)

    def find_many(self, numbers: Sequence[int]) -> dict[int, StoredEvent]:
        """Where the events of some numbers are; they stay readable when they are forgotten here."""
        if not numbers:
            return {}
        wanted = np.unique(np.array(numbers, np.int64))
        segments = np.searchsorted([int(each.numbers[0]) for each in self._segments], wanted, "right") - 1
        found: dict[int, StoredEvent] = {}
        for segment in np.unique(segments).tolist():
            some, own = wanted[segments == segment], self._segments[segment]
            places = np.searchsorted(own.numbers, some).tolist()
            found |= zip(some.tolist(), [StoredEvent(own.events, place) for place in places], strict=True)
        return found

    def get_many(self, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The events of some numbers."""
        firsts = [int(each.numbers[0]) for each in self._segments]
        wanted: dict[int, list[int]] = {}
        for number in {*numbers}:
            wanted.setdefault(bisect_right(firsts, number) - 1, []).append(number)
        found: dict[int, dict[str, Any]] = {}
        for place, some in wanted.items():
            segment = self._segments[place]
            rows = _rows(segment.events, np.searchsorted(segment.numbers, some))
            listed: list[Any] = rows.to_pylist() if isinstance(rows, pa.Table) else [*rows]
            found |= zip(some, listed, strict=True)
        return found

    def forget_unused(self, in_use: Callable[[], Sequence[I64]]) -> None:
        """Forget the events that nobody keeps, if there are many."""
        if self._size <= 2 * self._in_use + _SPARE:
            return
        kept = np.unique(np.concatenate([*in_use(), [-1]]))
        segments = []
        for each in self._segments:
            at = np.minimum(np.searchsorted(kept, each.numbers), len(kept) - 1)
            segments.append(each.take(np.flatnonzero(kept[at] == each.numbers)))
        self._segments = [each for each in segments if len(each.numbers)]
        self._size = self._in_use = len(kept) - 1


def _rows(events: Events, places: I64) -> Events:
    if isinstance(events, pa.Table):
        return events.take(pa.array(places))
    return [each if type(each) is dict else dict(each) for each in (events[place] for place in places.tolist())]
