"""Events on their way to shards: each goes only where an entry of the routing table lets it in.

A task reads events as the one that matches them will, asks the routing table, and gives a row for each visit.
Events that are bad go to the first shard, which tells why. How many events there were is told by a row of its own
for each lot, since an event without a visit leaves no other trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.events.batch import EventBatch
from tamis.routing.entries import shards_of
from tamis.segments.pairs import Pairs
from tamis.spark.event_reading import Dead, Reading
from tamis.spark.worker import COUNTED, SHARD, Edition, regrouped

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RouteTask:
    """Sends events to the shards that may have something for them.

    Attributes:
        routes: The routing table.
        reading: How events are read, if bad ones are to be told; else attributes are columns, of one type.
        event_type: The name of that type.
        keeps_all: Does an event go to the first shard if no entry lets it in anywhere?
    """

    routes: Edition
    reading: Reading | None = None
    event_type: str = ""
    keeps_all: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        for table in regrouped(batches):
            rows, shards = self._visits(table)
            sent = table.take(pa.array(rows))
            sent = sent.append_column(SHARD, pa.array(shards.astype(np.int32)))
            sent = sent.append_column(COUNTED, pa.nulls(len(rows), pa.int64()))
            yield from pa.concat_tables([sent, _told(sent.schema, table.num_rows)]).combine_chunks().to_batches()

    def _visits(self, table: pa.Table) -> tuple[Ints, Ints]:
        """Rows and the shards that they visit, each pair once."""
        matchers = self.routes.matchers()
        first = np.ones(table.num_rows, np.bool_)
        visits = [np.empty(0, np.int64)]
        if self.reading is None:
            matcher = matchers[self.event_type]
            found = matcher.found(EventBatch.of(table, matcher.event_type))
            visits.append(_pairs(found, np.arange(table.num_rows), ~first))
            first &= self.keeps_all
        else:
            dead: list[Dead] = []
            for read in self.reading.read(matchers, table, dead):
                _, good = self.reading.judged(read, self.reading.originals(table), dead)
                first[read.rows[good]] = self.keeps_all
                visits.append(_pairs(read.matcher.found(read.batch), read.rows, ~good))
        both = np.unique(np.concatenate(visits))
        first[both >> 32] = False
        every = np.sort(np.concatenate([both, np.flatnonzero(first) << 32]))
        return every >> 32, every & 0xFFFFFFFF


def _pairs(found: Pairs, rows: Ints, left_out: npt.NDArray[np.bool_]) -> Ints:
    """Rows and shards of what was found, as one number each."""
    at, ids, _ = found.columns()
    kept = ~left_out[at]
    return rows[at[kept]] << 32 | shards_of(ids)[kept]


def _told(schema: pa.Schema, events: int) -> pa.Table:
    """A row that tells how many events there were."""
    values = {name: pa.nulls(1, schema.field(name).type) for name in schema.names}
    values[SHARD], values[COUNTED] = pa.array([0], pa.int32()), pa.array([events], pa.int64())
    return pa.table([values[name] for name in schema.names], schema=schema)
