"""Shards: subscriptions are partitioned when one process cannot hold them all, and events are sent to the parts.

Without routing, the segments of a version are assigned to shards by size, and every event visits every shard. With
routing, subscriptions are assigned by similarity, and an event visits the shards that may match it. Either way a
task holds one shard, and a pair is found in the one shard that has its subscription: so the pairs of all shards
together are those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.events.batch import EventBatch
from tamis.progress import BatchReport
from tamis.routing.load import Load, LoadCutOff
from tamis.routing.shards import Routing, ShardAssignment, ShardAssignments
from tamis.snapshot import Manifest, Snapshots
from tamis.spark.event_tables import COUNTED, MISFITS, ROUTING_NS, SHARD
from tamis.spark.route_task import RouteTask
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.workers import map_in_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROUNDS = 5
"""Batches that are measured with each budget."""
_EVENT_SECONDS = 15e-6
"""To read an event and to write its matches, besides finding them."""
_HIGHEST = 10
"""How often a budget is halved at most."""


class ShardPlan(NamedTuple):
    """The shards of a version, the table that routes events to them, if there is one, and the bytes of that."""

    shards: tuple[SnapshotRef, ...]
    routes: SnapshotRef | None = None
    entry_bytes: int = 0


class Sharding:
    """Assigns versions of a snapshot to shards.

    Attributes:
        shards: The number of shards, to begin with.
        routing: How subscriptions are assigned, if events are routed.
    """

    def __init__(
        self, shards: int = 1, routing: Routing | None = None, retention_seconds: float | None = None
    ) -> None:
        """Assign nothing yet.

        Args:
            shards: The number of shards.
            routing: How subscriptions are assigned; None to assign whole segments by size.
            retention_seconds: How long an assignment stays that is no longer the newest; None for ever.
        """
        self.shards = shards
        self.routing = routing
        self._retention_seconds = retention_seconds
        self._assignments: dict[str, ShardAssignments] = {}
        self._newest: ShardAssignment | None = None
        self._search = LoadCutOff(_EVENT_SECONDS, rounds=_ROUNDS, highest=_HIGHEST)
        self._unhalved_bytes = 0  # of the entries, before any halving
        self._done = Load()
        self._passed = 0  # events

    @property
    def entry_budget(self) -> int:
        """Bytes that routing entries may take; 0 without routing.

        It is what entries take that is halved: half of a budget that they do not fill would change nothing.
        """
        if self.routing is None:
            return 0
        step, budget = self._search.step, self.routing.budget
        return min(budget, self._unhalved_bytes) >> step if step else budget

    def observe(self, report: BatchReport) -> None:
        """Take what a batch cost, if entries are to be generalised as far as that pays.

        Filtering is to find the shards of events and their matches there. A visit in vain counts like another
        event: it takes a place on another machine, which times of a machine with time to spare do not show.
        The first batch with new entries does not count: workers open them.
        """
        self._passed += report.events
        if self.routing is None or not self.routing.adapts or report.shards <= 1 or not report.events:
            return
        visits, vain = report.visits, report.visits - report.useful_visits
        self._done += Load(report.events, report.filter_seconds, visits, visits, vain)
        self._search.observe(self._done)

    def plan(self, ref: SnapshotRef, sample: Callable[[int], Iterable[EventBatch]]) -> ShardPlan:
        """Assign a version to shards.

        Args:
            ref: The version.
            sample: Gives so many events, by which similarity is estimated; called before
                entries are made.
        """
        if self.routing is None or (self.shards <= 1 and self._fits_in_one(ref, self.routing.shard_limit)):
            return ShardPlan(shard_refs(ref, self.shards))
        assignments = self._assignments.setdefault(ref.url, ShardAssignments(ref.url, self.shards, self.routing))
        budget = self.entry_budget
        if assignments.wants_sample(ref.version, budget, self._passed):
            assignments.observe(sample(self.routing.sample), self._passed)
        assignments.generalise_again(budget)
        found = assignments.assign(ref.version)
        if self._retention_seconds is not None and found != self._newest:
            assignments.forget(self._retention_seconds)
            self._newest = found
        if self._search.step == 0:
            self._unhalved_bytes = found.entry_bytes
        part = replace(ref, url=found.url, version=found.version)
        shards = tuple(replace(part, segments=names) for names in found.shards)
        return ShardPlan(shards, replace(part, segments=found.routes), found.entry_bytes)

    def _fits_in_one(self, ref: SnapshotRef, limit: int | None) -> bool:
        if limit is None or ref.url in self._assignments:
            return limit is None
        return sum(entry.slots for entry in Snapshots(ref.url).manifest(ref.version).entries) <= limit


def shard_refs(ref: SnapshotRef, shards: int) -> tuple[SnapshotRef, ...]:
    """A reference for each shard; none of them is empty, so there may be fewer."""
    if shards <= 1:
        return (ref,)
    manifest = Snapshots(ref.url).manifest(ref.version)
    return tuple(replace(ref, segments=names) for names in assign_segments(manifest, shards)) or (ref,)


def assign_segments(manifest: Manifest, shards: int) -> list[frozenset[str]]:
    """The names of the segments of each shard: about as many bytes in each, and the same in every process."""
    loads = [0] * shards
    names: list[set[str]] = [set() for _ in range(shards)]
    for entry in sorted(manifest.entries, key=lambda entry: (-entry.bytes, entry.segment)):
        least = loads.index(min(loads))
        loads[least] += entry.bytes
        names[least].add(entry.segment)
    return [frozenset(each) for each in names if each]


def send_to_shards(events: DataFrame, shards: int, event_id: str, route: RouteTask | None) -> DataFrame:
    """Repartition events so that each task gets those of one shard; unchanged if there is one shard.

    Args:
        events: Any events.
        shards: The number of shards.
        event_id: The column that spreads the events of a shard over tasks.
        route: Decides which shards an event visits; without it, every event visits all of them.
    """
    if shards == 1:
        return events
    from pyspark.sql import functions as F

    if route is None:
        copies = events.withColumn(SHARD, F.explode(F.sequence(F.lit(0), F.lit(shards - 1))))
    else:
        copies = map_in_workers(events, route, _routed_schema(events))
    spread = max(1, -(-_parallelism(events) // shards))
    place = F.col(SHARD) * spread + F.pmod(F.xxhash64(F.col(f"`{event_id}`")), F.lit(spread))
    return copies.repartitionById(shards * spread, place.cast("int"))


def _routed_schema(events: DataFrame) -> Any:
    """The columns of events, which may all be NULL, and four more."""
    from pyspark.sql.types import IntegerType, LongType, StructField, StructType

    columns = [StructField(field.name, field.dataType) for field in events.schema]
    counts = [StructField(name, LongType()) for name in (COUNTED, MISFITS, ROUTING_NS)]
    return StructType([*columns, StructField(SHARD, IntegerType()), *counts])


def _parallelism(events: DataFrame) -> int:
    """The number of tasks that run at once; over Spark Connect it is unknown, and 1."""
    context = getattr(events.sparkSession, "_sc", None)
    return 1 if context is None else int(context.defaultParallelism)
