"""Published subscriptions: those of all event types make a version of a snapshot, and are opened from it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from tamis.arrays import I32
from tamis.events.event_type import EventType
from tamis.snapshot import Manifest, Segment, SnapshotPart, Snapshots
from tamis.statistics import Statistics

PARTS = "composite_parts"
"""Under this name the `extra` of a version has the number of records that are parts of composite subscriptions,
and no subscriptions themselves: an id, `PART_MARK` and the place of the part. Whoever keeps no state of composite
subscriptions leaves them out."""
PART_MARK = "\0"
"""It stands in no other id."""
EXPIRED = "expired"
"""Under this name the `extra` of a version has subscriptions that it holds though they have expired, and when they
did, in microseconds: they meet events that were accepted before. Whoever opens the version for other events leaves
them out."""


class Publishable(Protocol):
    """The subscriptions of one event type, as a matcher holds them."""

    event_type: EventType
    statistics: Statistics

    def __len__(self) -> int:
        """Number of subscriptions."""

    def segments(self) -> list[SnapshotPart]:
        """The subscriptions in segments."""


class PublishedSubscriptions(NamedTuple):
    """The subscriptions of one event type in a version of a snapshot.

    Attributes:
        event_type: The event type.
        segments: Each segment with its dead slots.
        statistics: What was known of events; None if nothing was.
    """

    event_type: EventType
    segments: list[tuple[Segment, I32]]
    statistics: Statistics | None


def publish_subscriptions(
    given: Mapping[str, Publishable],
    snapshots: Snapshots,
    parent: int | None,
    extra: Mapping[str, Any] | None = None,
) -> Manifest:
    """Publish subscriptions, by the names of their event types, as the version after `parent`.

    Raises:
        SnapshotError: Another version follows `parent` already, or the snapshot cannot be written.
    """
    parts = [part for each in given.values() for part in each.segments()]
    learned = {name: each.statistics.to_json() for name, each in given.items() if len(each.statistics)}
    return snapshots.publish(
        parts,
        parent=parent,
        event_types={name: each.event_type.to_dict() for name, each in given.items()},
        extra={"subscriptions": sum(map(len, given.values())), **(extra or {})},
        statistics=learned or None,
    )


def open_subscriptions(
    snapshots: Snapshots, manifest: Manifest, event_types: Iterable[str], segments: Container[str] | None = None
) -> dict[str, PublishedSubscriptions]:
    """The subscriptions of event types in a published version; of some of its segments if these are named."""
    known = {} if manifest.statistics is None else snapshots.statistics(manifest.version) or {}
    entries = [entry for entry in manifest.entries if segments is None or entry.segment in segments]
    return {
        name: PublishedSubscriptions(
            EventType.of(dict(manifest.event_types[name])),
            [
                (snapshots.segment(entry.segment), snapshots.tombstones(entry))
                for entry in entries
                if entry.event_type == name
            ],
            Statistics.from_json(known[name]) if name in known else None,
        )
        for name in event_types
    }
