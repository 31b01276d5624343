"""Why an event was sent to a shard: the entries that let it in, and whether it found anything there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tamis.engines.choosing import MAPPED
from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.matchers import Matchers
from tamis.routing.entries import shards_of
from tamis.routing.shards import Dealt, building
from tamis.segments.files import opened
from tamis.snapshot import Snapshots


@dataclass(frozen=True, slots=True)
class Admission:
    """An entry that let an event in.

    Attributes:
        entry: What it asks.
        subscriptions: How many subscriptions were generalised to it.
        example: The id of one of them; it may be gone by now.
    """

    entry: str
    subscriptions: int
    example: str


@dataclass(frozen=True, slots=True)
class Visit:
    """An event in a shard.

    Attributes:
        shard: Its number.
        admissions: What let it in.
        found: The ids of the subscriptions that it satisfies there.
    """

    shard: int
    admissions: tuple[Admission, ...]
    found: tuple[str, ...]

    @property
    def is_in_vain(self) -> bool:
        """Did it find nothing?"""
        return not self.found

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "shard": self.shard,
            "in_vain": self.is_in_vain,
            "found": list(self.found),
            "admitted_by": [
                {"entry": each.entry, "subscriptions": each.subscriptions, "example": each.example}
                for each in self.admissions
            ],
        }


def explain_route(dealt: Dealt, batch: EventBatch, row: int = 0) -> list[Visit]:
    """The visits of an event, in the order of shards.

    Args:
        dealt: The version and its shards.
        batch: With the event, of a type that the snapshot has.
        row: Which event it is.
    """
    admissions: dict[int, list[Admission]] = {}
    snapshots = Snapshots(dealt.url)
    frame = BatchFrame(batch).chosen(np.array([row]))
    manifest = snapshots.manifest(dealt.version)
    of_type = {entry.segment for entry in manifest.entries if entry.event_type == batch.event_type.name}
    for name in sorted(dealt.routes & of_type):
        table = opened(snapshots.segment(name), MAPPED, building(None))
        slots = np.sort(table.index.match(frame).slots)
        shards = shards_of(table.records.ids.take(pa.array(slots)))
        for slot, shard in zip(slots.tolist(), shards.tolist(), strict=True):
            entry = table.records[slot]
            told = Admission(table.forest[slot].describe(), entry.priority, str(entry.owner))
            admissions.setdefault(shard, []).append(told)
    visits = []
    for shard in sorted(admissions):
        matchers = Matchers.open(dealt.url, dealt.version, segments=dealt.shards[shard])
        at, ids, _ = matchers[batch.event_type.name].found(batch).columns()
        found = tuple(sorted(ids.filter(pa.array(at == row)).to_pylist()))
        visits.append(Visit(shard, tuple(admissions[shard]), found))
    return visits
