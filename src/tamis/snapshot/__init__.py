"""Durable snapshots: immutable segments, tombstones, versions; publishing and fetching them.

Nothing here knows what a segment means: it is arrays and a description.
"""

from __future__ import annotations

from tamis.snapshot.collection import Collected
from tamis.snapshot.manifest import Entry, Manifest
from tamis.snapshot.segment import Segment, make_segment, segment_of
from tamis.snapshot.snapshots import Part, Pin, Snapshots
from tamis.snapshot.verification import Damage

__all__ = [
    "Collected",
    "Damage",
    "Entry",
    "Manifest",
    "Part",
    "Pin",
    "Segment",
    "Snapshots",
    "make_segment",
    "segment_of",
]
