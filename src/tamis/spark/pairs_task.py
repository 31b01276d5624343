"""The task of `tamis.spark.match`, which runs in Spark's Python workers: events in, pairs out, as Arrow batches.

A worker reads nothing but the snapshot that its task refers to, and the operators that its conditions call, and
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, RowIndices
from tamis.events.batch import EventBatch
from tamis.matcher import MatchedPart, Matcher
from tamis.schedule.scheduler import Schedule
from tamis.spark.event_tables import event_rows, regroup, tables_by_shard
from tamis.spark.snapshot_ref import SnapshotRef


@dataclass(frozen=True, slots=True)
class PairsTask:
    """Finds the pairs of events that are columns.

    Attributes:
        shards: The subscriptions of each shard.
        event_type: Its name.
        event_id: The column that names an event.
        keep: Columns of events to carry along.
        grouped: One row an event, with the ids of its subscriptions as an array, instead of one row a pair.
        schedule: The order in which the events of a batch are matched.
        is_routed: Do events come from a `RouteTask`?
        by_owner: One row an event and owner, with the ids of its subscriptions as an array.
        apart: By owner: ids of subscriptions that stand alone.
    """

    shards: tuple[SnapshotRef, ...]
    event_type: str
    event_id: str
    keep: tuple[str, ...] = ()
    grouped: bool = False
    schedule: Schedule = "arrival"
    is_routed: bool = False
    by_owner: bool = False
    apart: frozenset[str] = frozenset()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for several in regroup(batches):
            for ref, given in tables_by_shard(self.shards, several):
                events = event_rows(given) if self.is_routed else given
                yield from self._pairs(ref.matchers()[self.event_type], events)

    def _pairs(self, matcher: Matcher, events: pa.Table) -> Iterator[pa.RecordBatch]:
        carried = events.select(list(dict.fromkeys((self.event_id, *self.keep)))).combine_chunks()
        for part in matcher.match_rows(EventBatch.of(events, matcher.event_type), self.schedule):
            at, columns = self._columns(part)
            taken = carried.take(pa.array(at))
            values = [taken[self.event_id], *columns.values(), *(taken[name] for name in self.keep)]
            table = pa.Table.from_arrays(values, ["event_id", *columns, *self.keep])
            yield from table.combine_chunks().to_batches()

    def _columns(self, part: MatchedPart) -> tuple[RowIndices, dict[str, pa.Array]]:
        """The rows of a part that have pairs, one for each row of the result, and what is found in them."""
        if self.by_owner:
            rows, owners, lists = part.pairs.by_owner(self.apart)
            return part.rows[rows], {"owner": owners, "subscription_id": _sorted_lists(lists)}
        rows, ids, _ = part.pairs.columns()
        if self.grouped:
            return part.rows, {"subscription_id": _ids_by_row(rows, ids, len(part.rows))}
        return part.rows[rows], {"subscription_id": ids}


def _sorted_lists(lists: pa.ListArray) -> pa.ListArray:
    """Lists of ids, each in the order of ids, whatever the priorities."""
    parents, ids = lists.value_parent_indices(), lists.values
    order = pc.sort_indices(pa.table({"list": parents, "id": ids}), [("list", "ascending"), ("id", "ascending")])
    return pa.ListArray.from_arrays(lists.offsets, ids.take(order))


def _ids_by_row(rows: I32, ids: pa.StringArray, count: int) -> pa.ListArray:
    """The ids of each row as a list."""
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=count), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), ids.take(pa.array(np.argsort(rows, kind="stable"))))
