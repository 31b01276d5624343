"""A manifest: what one version of a snapshot is made of.

Plain immutable values, and their form as a sealed JSON document. Files are named by the sha256 of their content,
so a manifest covers everything that a version is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tamis.errors import SnapshotError
from tamis.snapshot.documents import seal, unseal

KIND = "tamis.snapshot.version"
FORMAT = 1
_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One segment of a version.

    Attributes:
        segment: Its name.
        slots: How many subscriptions it has, the dead ones included.
        bytes: The bytes of its arrays.
        dead: How many of its slots are dead in this version.
        tombstones: The name of the file with these slots, None if there are none.
        event_type: The name of the event type that its subscriptions are for.
    """

    segment: str
    slots: int
    bytes: int
    dead: int = 0
    tombstones: str | None = None
    event_type: str = "event"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a snapshot.

    Attributes:
        version: 1 for the first, one more with each publication.
        parent: The version that it was made from, None for the first.
        created: When it was published, by the publisher's clock.
        event_types: By name, the description of each event type, as a JSON file has it.
        entries: Its segments.
        extra: Anything else that the publisher records.
        statistics: Name of the document of statistics beside it, if there is one.
    """

    version: int
    parent: int | None
    created: datetime
    event_types: Mapping[str, Mapping[str, Any]]
    entries: tuple[ManifestEntry, ...]
    extra: Mapping[str, Any]
    statistics: str | None = None

    @property
    def slots(self) -> int:
        """The number of slots of all segments."""
        return sum(entry.slots for entry in self.entries)

    @property
    def dead(self) -> int:
        """The number of dead slots of all segments."""
        return sum(entry.dead for entry in self.entries)

    @property
    def bytes(self) -> int:
        """The bytes of the arrays of all segments."""
        return sum(entry.bytes for entry in self.entries)


def write_manifest(manifest: Manifest) -> bytes:
    """The document of a version."""
    content = {
        "version": manifest.version,
        "parent": manifest.parent,
        "created": manifest.created.astimezone(UTC).isoformat(),
        "event_types": {name: dict(described) for name, described in manifest.event_types.items()},
        "entries": [asdict(entry) for entry in manifest.entries],
        "extra": dict(manifest.extra),
        "statistics": manifest.statistics,
    }
    return seal(KIND, FORMAT, content)


def read_manifest(data: bytes, version: int, file: str) -> Manifest:
    """The version that a document describes.

    Raises:
        SnapshotError: It is damaged, foreign, newer, or another version than its file says.
    """
    document = unseal(data, KIND, FORMAT, file)
    try:
        manifest = Manifest(
            int(document["version"]),
            document["parent"],
            datetime.fromisoformat(document["created"]),
            document["event_types"],
            tuple(ManifestEntry(**entry) for entry in document["entries"]),
            document["extra"],
            document["statistics"],
        )
        names = [name for entry in manifest.entries for name in (entry.segment, entry.tombstones)]
        bad = [name for name in (*names, manifest.statistics) if name is not None and not _NAME.fullmatch(name)]
        undescribed = {entry.event_type for entry in manifest.entries} - set(manifest.event_types)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotError(file, f"foreign: not a version of a snapshot: {error!r}", "foreign") from error
    if bad:
        raise SnapshotError(file, f"foreign: {bad[0]!r} names no file of a snapshot", "foreign")
    if undescribed:
        raise SnapshotError(file, f"foreign: event type {min(undescribed)!r} is not described", "foreign")
    if manifest.version != version:
        raise SnapshotError(file, f"foreign: it is version {manifest.version}, not {version}", "foreign")
    return manifest
