"""The work of shards: what each takes for the events that visit it."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from tamis import EventBatch, Matcher
from tamis.arrays import F64
from tamis.events.event_type import EventType
from tamis.lab.workloads import Workload
from tamis.matchers import Matchers
from tamis.routing.entries import shards_of
from tamis.routing.shards import Routing, ShardAssignment, ShardAssignments

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ShardWork:
    """Of an assignment.

    Attributes:
        seconds: float64[shards]: of a core, for the events that visit the shard.
        subscriptions: Of each shard.
        visits: Of an event.
    """

    seconds: F64
    subscriptions: list[int]
    visits: float

    @property
    def hottest(self) -> float:
        """The work of the hottest shard against the mean."""
        return float(self.seconds.max() / self.seconds.mean())

    @property
    def largest(self) -> float:
        """The subscriptions of the largest shard against the mean."""
        return max(self.subscriptions) * len(self.subscriptions) / max(1, sum(self.subscriptions))


def shard_work(data: Workload, folder: Path, shards: int, routing: Routing | None = None) -> ShardWork:
    """Assign the subscriptions of a workload by the first half of its events, and measure with the others."""
    half = data.events.num_rows // 2
    matcher = Matcher(data.event_type)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    sample = EventBatch.of(data.events.slice(0, half), data.event_type)
    try:
        assignments = ShardAssignments(str(folder), shards, routing)
        assignments.observe([sample])
        assignment = assignments.assign(matcher.publish(folder))
        return measure_shards(assignment, data.events.slice(half), data.event_type)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(f"{folder}.shards", ignore_errors=True)


def measure_shards(assignment: ShardAssignment, events: pa.Table, event_type: EventType) -> ShardWork:
    """Match the events that visit each shard, one shard after the other."""
    routes = Matchers.open(assignment.url, assignment.version, segments=assignment.routes).only
    rows, ids, _ = routes.match_pairs(EventBatch.of(events, event_type)).columns()
    visits = np.unique(shards_of(ids).astype(np.int64) << 32 | rows)
    seconds = np.zeros(len(assignment.shards))
    sizes = []
    for shard, names in enumerate(assignment.shards):
        here = visits[visits >> 32 == shard] & 0xFFFFFFFF
        matchers = Matchers.open(assignment.url, assignment.version, segments=names)
        sizes.append(len(matchers))
        if not len(here) or not len(matchers):
            continue
        visiting, matcher = EventBatch.of(events.take(pa.array(here)), event_type), matchers.only
        matcher.match_pairs(visiting)
        times = []
        for _ in range(_ROUNDS):
            start = time.process_time()
            matcher.match_pairs(visiting)
            times.append(time.process_time() - start)
        seconds[shard] = median(times)
    return ShardWork(seconds, sizes, len(visits) / events.num_rows)
