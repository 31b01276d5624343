"""Tables of events as tasks take them: enough rows to match at once, and of one shard.

Where events are routed, an event is in the table once for every shard that it visits, or not at all. So a
`RouteTask` adds rows that are not events, and hold the number of events that it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tamis.spark.snapshot_ref import SnapshotRef

BATCH_ROWS = 8_192
"""Events that are matched at once, if Spark's own batches are smaller."""
SHARD = "tamis shard"
"""The column with the shard that this copy of an event is sent to."""
COUNTED = "tamis counted"
"""The column that is NULL for an event; in a row that is not an event, it counts events."""
MISFITS = "tamis misfits"
"""The column that counts, beside them, events with a value that does not fit their type, and is NULL."""
ROUTING_NS = "tamis routing ns"
"""The column with the nanoseconds of the processor that it took to look them up in the routing table."""


def regroup(batches: Iterable[pa.RecordBatch], rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
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


def tables_by_shard(shards: Sequence[SnapshotRef], events: pa.Table) -> Iterator[tuple[SnapshotRef, pa.Table]]:
    """The events of each shard; as a rule, all events of a task are for one."""
    if len(shards) == 1:
        yield shards[0], events
        return
    for shard in pc.unique(events[SHARD]).to_pylist():
        yield shards[shard], events.filter(pc.equal(events[SHARD], shard)).drop_columns([SHARD])


def event_count(table: pa.Table) -> int:
    """How many events a `RouteTask` read to give these rows."""
    return int(pc.sum(table[COUNTED]).as_py() or 0)


def misfit_count(table: pa.Table) -> int:
    """How many of them have a value that does not fit their type, and is NULL."""
    return int(pc.sum(table[MISFITS]).as_py() or 0)


def routing_ns(table: pa.Table) -> int:
    """Nanoseconds of the processor that a `RouteTask` took to find where they go."""
    return int(pc.sum(table[ROUTING_NS]).as_py() or 0)


def event_rows(table: pa.Table) -> pa.Table:
    """The events among the rows of a `RouteTask`."""
    return table.filter(pc.is_null(table[COUNTED])).drop_columns([COUNTED, MISFITS, ROUTING_NS])
