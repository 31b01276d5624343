"""Routing of events to shards: an event goes only where an entry of the routing table matches it.

A task reads events exactly as the task that matches them, looks them up in the routing table, and gives a row for
each visit. Dead letters, and events that are refused, go to the first shard, which reports them. A row of its own
counts the events of each table, since an event without a visit leaves no other trace, and the misfits among them,
since an event may visit several shards, and tells how long it took to find them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, Bools
from tamis.events.batch import EventBatch
from tamis.events.dead_letters import DeadLetter
from tamis.matcher import Matcher
from tamis.routing.entries import shards_of
from tamis.segments.pairs import Pairs
from tamis.spark.event_reading import Reading
from tamis.spark.event_tables import COUNTED, MISFITS, ROUTING_NS, SHARD, regroup
from tamis.spark.snapshot_ref import SnapshotRef


@dataclass(frozen=True, slots=True)
class RouteTask:
    """Sends events to the shards that may have something for them.

    Attributes:
        routes: The routing table.
        reading: How events are read; None if attributes are columns of one type, and there are no dead letters.
        event_type: The name of that type.
        keeps_all: Does an event go to the first shard if no entry matches it?
    """

    routes: SnapshotRef
    reading: Reading | None = None
    event_type: str = ""
    keeps_all: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for table in regroup(batches):
            counts = {COUNTED: table.num_rows, MISFITS: 0, ROUTING_NS: 0}
            rows, shards = self._visits(table, counts)
            visits = table.take(pa.array(rows))
            visits = visits.append_column(SHARD, pa.array(shards.astype(np.int32)))
            for name in counts:
                visits = visits.append_column(name, pa.nulls(len(rows), pa.int64()))
            counted = pa.concat_tables([visits, _count_row(visits.schema, counts)])
            yield from counted.combine_chunks().to_batches()

    def _visits(self, table: pa.Table, counts: dict[str, int]) -> tuple[I64, I64]:
        """Rows and the shards that they visit, each pair once, in the order of the rows; adds to the counts.

        A pair is one number meanwhile, the row above 32 bits of the shard, so that one sort finds duplicates.
        """
        matchers = self.routes.matchers()
        first = np.ones(table.num_rows, np.bool_)
        visits = [np.empty(0, np.int64)]
        if self.reading is None:
            matcher = matchers[self.event_type]
            found = _look_up(matcher, EventBatch.of(table, matcher.event_type), counts)
            visits.append(_pairs(found, np.arange(table.num_rows), ~first))
            first &= self.keeps_all
        else:
            dead: list[DeadLetter] = []
            refuses = self.reading.on_misfit == "refuse"  # which is for the task that reports it
            reading = replace(self.reading, on_misfit="dead letter") if refuses else self.reading
            for read in reading.read(matchers, table, dead):
                _, good, count = reading.check_events(read, reading.originals(table), dead)
                counts[MISFITS] += count
                first[read.rows[good]] = self.keeps_all
                visits.append(_pairs(_look_up(read.matcher, read.batch, counts), read.rows, ~good))
        both = np.unique(np.concatenate(visits))
        first[both >> 32] = False
        every = np.sort(np.concatenate([both, np.flatnonzero(first) << 32]))
        return every >> 32, every & 0xFFFFFFFF


def _look_up(matcher: Matcher, batch: EventBatch, counts: dict[str, int]) -> Pairs:
    """The pairs of events and entries."""
    began = time.process_time_ns()
    found = matcher.match_pairs(batch)
    counts[ROUTING_NS] += time.process_time_ns() - began
    return found


def _pairs(found: Pairs, rows: I64, left_out: Bools) -> I64:
    """Rows and shards of the matches, as `row << 32 | shard`."""
    at, ids, _ = found.columns()
    kept = ~left_out[at]
    return rows[at[kept]] << 32 | shards_of(ids)[kept]


def _count_row(schema: pa.Schema, counts: dict[str, int]) -> pa.Table:
    """A row that counts events, misfits among them, and the time to find where they go."""
    values = {name: pa.nulls(1, schema.field(name).type) for name in schema.names}
    values |= {name: pa.array([count], pa.int64()) for name, count in counts.items()}
    values[SHARD] = pa.array([0], pa.int32())
    return pa.table([values[name] for name in schema.names], schema=schema)
