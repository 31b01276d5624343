"""Shards: subscriptions dealt over parts, when one process cannot hold them all, and events sent to these parts.

Without routing, the segments of a version are dealt by their size, and every event visits every shard. With
routing, subscriptions are dealt by similarity, and an event visits the shards that may have something for it.
Either way a task holds one shard, and each pair is found in the one shard that has its subscription: so the pairs
of all shards together are those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.events.batch import EventBatch
from tamis.routing.shards import Deals, Dealt, Routing
from tamis.snapshot import Manifest, Snapshots
from tamis.spark.routing import RouteTask
from tamis.spark.worker import COUNTED, SHARD, Edition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Plan(NamedTuple):
    """A version on its shards, and the table that leads events there, if there is one."""

    editions: tuple[Edition, ...]
    routes: Edition | None = None


class Sharding:
    """Deals versions of a snapshot to shards.

    Attributes:
        shards: How many.
        routing: How, if events are to be routed.
    """

    def __init__(
        self, shards: int = 1, routing: Routing | None = None, retention_seconds: float | None = None
    ) -> None:
        """Nothing is dealt yet; what was dealt and is no longer the newest stays for so long, or for ever."""
        self.shards = shards
        self.routing = routing
        self._retention_seconds = retention_seconds
        self._deals: dict[str, Deals] = {}
        self._newest: Dealt | None = None

    def plan(self, edition: Edition, sample: Callable[[int], Iterable[EventBatch]]) -> Plan:
        """A version on its shards.

        Args:
            edition: The version.
            sample: Gives so many events, by which similarity is told; asked before the first deal.
        """
        if self.routing is None or self.shards <= 1:
            return Plan(dealt(edition, self.shards))
        deals = self._deals.setdefault(edition.url, Deals(edition.url, self.shards, self.routing))
        if deals.wants_sample:
            deals.observe(sample(self.routing.sample))
        found = deals.deal(edition.version)
        if self._retention_seconds is not None and found != self._newest:
            deals.forget(self._retention_seconds)
            self._newest = found
        part = replace(edition, url=found.url, version=found.version)
        shards = tuple(replace(part, segments=names) for names in found.shards)
        return Plan(shards, replace(part, segments=found.routes))


def dealt(edition: Edition, shards: int) -> tuple[Edition, ...]:
    """An edition for each shard, by size; none of them is empty, so there may be fewer."""
    if shards <= 1:
        return (edition,)
    manifest = Snapshots(edition.url).manifest(edition.version)
    return tuple(replace(edition, segments=names) for names in deal(manifest, shards)) or (edition,)


def deal(manifest: Manifest, shards: int) -> list[frozenset[str]]:
    """The names of the segments of each shard: about as many bytes in each, the same whoever computes it."""
    loads = [0] * shards
    names: list[set[str]] = [set() for _ in range(shards)]
    for entry in sorted(manifest.entries, key=lambda entry: (-entry.bytes, entry.segment)):
        least = loads.index(min(loads))
        loads[least] += entry.bytes
        names[least].add(entry.segment)
    return [frozenset(each) for each in names if each]


def sent(events: DataFrame, shards: int, event_id: str, route: RouteTask | None) -> DataFrame:
    """Events on their way to shards, those of a task all for one; unchanged if there is one shard.

    Args:
        events: To be sent.
        shards: How many there are.
        event_id: The column that spreads the events of a shard over tasks.
        route: Tells which shards an event visits, and how many events there were; without it, every event visits
            all of them.
    """
    if shards == 1:
        return events
    from pyspark.sql import functions as F

    if route is None:
        copies = events.withColumn(SHARD, F.explode(F.sequence(F.lit(0), F.lit(shards - 1))))
    else:
        copies = events.mapInArrow(route, _routed_schema(events))
    spread = max(1, -(-_parallelism(events) // shards))
    place = F.col(SHARD) * spread + F.pmod(F.xxhash64(F.col(f"`{event_id}`")), F.lit(spread))
    return copies.repartitionById(shards * spread, place.cast("int"))


def _routed_schema(events: DataFrame) -> Any:
    """The columns of events, which may all be NULL, and two more."""
    from pyspark.sql.types import IntegerType, LongType, StructField, StructType

    columns = [StructField(field.name, field.dataType) for field in events.schema]
    return StructType([*columns, StructField(SHARD, IntegerType()), StructField(COUNTED, LongType())])


def _parallelism(events: DataFrame) -> int:
    """Tasks that can run at once; over Connect nobody can tell."""
    context = getattr(events.sparkSession, "_sc", None)
    return 1 if context is None else int(context.defaultParallelism)
