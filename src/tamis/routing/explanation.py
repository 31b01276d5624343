"""Why an event visits a shard: the routing entries that admit it, and the subscriptions that it matches there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.matchers import Matchers
from tamis.routing.entries import shards_of
from tamis.routing.shards import ShardAssignment
from tamis.segments.files import open_segment
from tamis.snapshot import Snapshots


@dataclass(frozen=True, slots=True)
class Admission:
    """An entry that admits an event to a shard.

    Attributes:
        entry: Its formula as text.
        subscriptions: How many subscriptions it stands for.
        example: The id of one of them, which may be removed by now.
    """

    entry: str
    subscriptions: int
    example: str


@dataclass(frozen=True, slots=True)
class ShardVisit:
    """A visit of an event to a shard.

    Attributes:
        shard: Its number.
        admissions: The entries that admit it.
        found: The ids of the subscriptions that it satisfies there.
    """

    shard: int
    admissions: tuple[Admission, ...]
    found: tuple[str, ...]

    @property
    def is_in_vain(self) -> bool:
        """Is the visit a false positive of the entries?"""
        return not self.found

    def to_dict(self) -> dict[str, Any]:
        return {
            "shard": self.shard,
            "in_vain": self.is_in_vain,
            "found": list(self.found),
            "admitted_by": [
                {"entry": each.entry, "subscriptions": each.subscriptions, "example": each.example}
                for each in self.admissions
            ],
        }


def explain_route(assignment: ShardAssignment, batch: EventBatch, row: int = 0) -> list[ShardVisit]:
    """The visits of an event, in the order of shards.

    Args:
        assignment: A version on its shards.
        batch: Holds the event, whose type the snapshot has.
        row: Which event it is.
    """
    admissions: dict[int, list[Admission]] = {}
    snapshots = Snapshots(assignment.url)
    frame = BatchFrame(batch).take(np.array([row]))
    manifest = snapshots.manifest(assignment.version)
    of_type = {entry.segment for entry in manifest.entries if entry.event_type == batch.event_type.name}
    for name in sorted(assignment.routes & of_type):
        table = open_segment(snapshots.segment(name), ENGINES[MAPPED_ENGINE])
        slots = np.sort(table.index.match(frame).slots)
        shards = shards_of(table.records.ids.take(pa.array(slots)))
        for slot, shard in zip(slots.tolist(), shards.tolist(), strict=True):
            entry = table.records[slot]
            admission = Admission(table.forest[slot].describe(), entry.priority, str(entry.owner))
            admissions.setdefault(shard, []).append(admission)
    visits = []
    for shard in sorted(admissions):
        matchers = Matchers.open(assignment.url, assignment.version, segments=assignment.shards[shard])
        at, ids, _ = matchers[batch.event_type.name].match_pairs(batch).columns()
        found = tuple(sorted(ids.filter(pa.array(at == row)).to_pylist()))
        visits.append(ShardVisit(shard, tuple(admissions[shard]), found))
    return visits
