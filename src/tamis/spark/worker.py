"""What runs in Spark's Python workers: events in, pairs out, as Arrow batches.

A worker reads nothing but the snapshot that its task names, and the operators that its conditions call, and writes
nothing. A process opens a version once, for all the tasks that it gets: a task is a small value with the place of
the snapshot, never the subscriptions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.events.batch import EventBatch
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.operators.finding import INSTALLED, OperatorSettings, check_known
from tamis.schedule.scheduler import Schedule

BATCH_ROWS = 8_192
"""Events that are matched at once, if Spark's own batches are smaller."""
_KEPT = 4
"""Editions that a process keeps open: of the newest version and of the one that a late task may still need, its
shard and the routing table."""
SHARD = "tamis shard"
"""The column that tells the shard that a copy of an event is for."""
COUNTED = "tamis counted"
"""The column that is NULL for an event, and a number of events in a row that tells of them."""


class _Opened(NamedTuple):
    """A version that is open, and the operators that its conditions call."""

    matchers: Matchers
    operators: frozenset[str]


_opened: OrderedDict[Edition, _Opened] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Edition:
    """The subscriptions of a task: a version of a snapshot, or some segments of it.

    Attributes:
        url: Where the snapshot is, as workers reach it.
        version: Of the snapshot.
        engine: That matches.
        segments: The names of the segments; None for all.
        operators: Where operators come from; loaded if a condition calls one.
    """

    url: str
    version: int
    engine: str = "auto"
    segments: frozenset[str] | None = None
    operators: OperatorSettings = INSTALLED

    def matchers(self) -> Matchers:
        """The matchers of this process, with all the operators that they need.

        Raises:
            OperatorError: An operator that conditions call cannot be loaded, or is not known here.
        """
        found = _opened.pop(self, None)
        if found is None:
            opened = Matchers.open(self.url, self.version, segments=self.segments, engine=self.engine)
            found = _Opened(opened, frozenset(name for each in opened for name in opened[each].operators()))
        if found.operators:  # each time: a task of another query may have loaded others of the same names
            self.operators.load()
            check_known(found.operators)
        _opened[self] = found
        while len(_opened) > _KEPT:
            _opened.popitem(last=False)
        return found.matchers


def regrouped(batches: Iterable[pa.RecordBatch], rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """The same rows in tables of at least so many, the last one aside."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def by_shard(editions: Sequence[Edition], events: pa.Table) -> Iterator[tuple[Edition, pa.Table]]:
    """The events of each shard among those of a task, which are all for one as a rule."""
    if len(editions) == 1:
        yield editions[0], events
        return
    for shard in pc.unique(events[SHARD]).to_pylist():
        yield editions[shard], events.filter(pc.equal(events[SHARD], shard)).drop_columns([SHARD])


def counted_in(table: pa.Table) -> int:
    """How many events the rows of a `RouteTask` tell of."""
    return int(pc.sum(table[COUNTED]).as_py() or 0)


def events_in(table: pa.Table) -> pa.Table:
    """The events among the rows of a `RouteTask`."""
    return table.filter(pc.is_null(table[COUNTED])).drop_columns([COUNTED])


@dataclass(frozen=True, slots=True)
class PairsTask:
    """Finds the pairs of events that are columns.

    Attributes:
        editions: The subscriptions, those of each shard.
        event_type: Its name.
        event_id: The column that names an event.
        keep: Columns of events to carry along.
        grouped: One row an event, with the ids of its subscriptions as an array, instead of one row a pair.
        schedule: In which order the events of a batch are worked off.
        is_routed: Were events sent by a `RouteTask`?
    """

    editions: tuple[Edition, ...]
    event_type: str
    event_id: str
    keep: tuple[str, ...] = ()
    grouped: bool = False
    schedule: Schedule = "arrival"
    is_routed: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for several in regrouped(batches):
            for edition, given in by_shard(self.editions, several):
                events = events_in(given) if self.is_routed else given
                yield from self._pairs(edition.matchers()[self.event_type], events)

    def _pairs(self, matcher: Matcher, events: pa.Table) -> Iterator[pa.RecordBatch]:
        carried = events.select(list(dict.fromkeys((self.event_id, *self.keep)))).combine_chunks()
        for part in matcher.found_parts(EventBatch.of(events, matcher.event_type), self.schedule):
            rows, ids, _ = part.found.columns()
            if self.grouped:
                at, ids = part.rows, _grouped(rows, ids, len(part.rows))
            else:
                at = part.rows[rows]
            taken = carried.take(pa.array(at))
            columns = [taken[self.event_id], ids, *(taken[name] for name in self.keep)]
            table = pa.Table.from_arrays(columns, ["event_id", "subscription_id", *self.keep])
            yield from table.combine_chunks().to_batches()


@dataclass(frozen=True, slots=True)
class NoTask:
    """Passes as many rows as `PairsTask` would, without matching: what Spark itself takes, for benchmarks.

    Attributes:
        event_id: The column that names an event.
        pairs: Rows that leave per event that comes.
    """

    event_id: str
    pairs: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for events in regrouped(batches):
            rows = np.sort(np.arange(round(self.pairs * events.num_rows)) % events.num_rows)
            taken = events[self.event_id].combine_chunks().take(pa.array(rows))
            ids = pa.array(rows).cast(pa.string())
            yield from pa.table({"event_id": taken, "subscription_id": ids}).combine_chunks().to_batches()


def _grouped(rows: np.ndarray[tuple[int], np.dtype[np.int32]], ids: pa.StringArray, count: int) -> pa.ListArray:
    """The ids of each row as a list."""
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=count), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), ids.take(pa.array(np.argsort(rows, kind="stable"))))
