"""Shards: the segments of a version dealt over parts, when one process cannot hold all subscriptions.

Every event visits every shard, in tasks that hold one shard each; each pair is found in the one shard that has its
subscription, so the pairs of all shards together are those of the whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tamis.snapshot import Manifest, Snapshots
from tamis.spark.worker import SHARD, Edition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def dealt(edition: Edition, shards: int) -> tuple[Edition, ...]:
    """An edition for each shard; none of them is empty, so there may be fewer."""
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


def replicated(events: DataFrame, shards: int, event_id: str) -> DataFrame:
    """Each event once for every shard, the events of a task all for one; unchanged if there is one shard."""
    if shards == 1:
        return events
    from pyspark.sql import functions as F

    copies = events.withColumn(SHARD, F.explode(F.sequence(F.lit(0), F.lit(shards - 1))))
    spread = max(1, -(-_parallelism(events) // shards))
    place = F.col(SHARD) * spread + F.pmod(F.xxhash64(F.col(f"`{event_id}`")), F.lit(spread))
    return copies.repartitionById(shards * spread, place.cast("int"))


def _parallelism(events: DataFrame) -> int:
    """Tasks that can run at once; over Connect nobody can tell."""
    context = getattr(events.sparkSession, "_sc", None)
    return 1 if context is None else int(context.defaultParallelism)
