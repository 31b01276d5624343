"""Durable snapshots: immutable segments, tombstones, versions; publishing and fetching them.

This package does not know what a segment means: it is arrays and a description.
"""

from __future__ import annotations

from tamis.snapshot.garbage_collection import CollectionResult
from tamis.snapshot.manifest import Manifest, ManifestEntry
from tamis.snapshot.segment import Segment, make_segment, segment_of
from tamis.snapshot.snapshots import Pin, SnapshotPart, Snapshots
from tamis.snapshot.verification import Damage

__all__ = [
    "CollectionResult",
    "Damage",
    "Manifest",
    "ManifestEntry",
    "Pin",
    "Segment",
    "SnapshotPart",
    "Snapshots",
    "make_segment",
    "segment_of",
]
