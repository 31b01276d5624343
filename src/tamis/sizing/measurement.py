"""Coefficients of somebody's own subscriptions: their snapshot is matched here, whole and in parts.

The parts are every 4th and every 16th subscription of a segment, indexed anew, so that the time of an event is
known for several sizes. Bytes in memory are those of the index, which is what matching may touch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from time import process_time

import numpy as np

from tamis.engines import ENGINES, MAPPED_ENGINE
from tamis.engines.base import Index
from tamis.engines.forest import Forest
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.frames import BatchFrame
from tamis.matchers import Matchers
from tamis.segments.files import open_segment
from tamis.segments.merge import merge_slots
from tamis.segments.segment import LiveSegment
from tamis.sizing.coefficients import WorkloadCoefficients
from tamis.sizing.model import fit
from tamis.snapshot import Snapshots
from tamis.verification.verifier import DEFAULT_POLICY

FEWEST = 1_000
"""Subscriptions of which less than that tells nothing about more."""
_MOST = 1_000_000
"""Subscriptions of the largest part that is indexed anew."""
_ROUNDS = 3


def measure_snapshot(url: str, batch: EventBatch, usual: WorkloadCoefficients) -> WorkloadCoefficients:
    """Match events with the newest version of a snapshot; what cannot be measured so is as in `usual`.

    Raises:
        TamisError: There are too few subscriptions or no events.
        SnapshotError: There is no version.
    """
    snapshots = Snapshots(url)
    manifest = snapshots.manifest()
    name = batch.event_type.name
    entries = [entry for entry in manifest.entries if entry.event_type == name]
    count = sum(entry.slots - entry.dead for entry in entries)
    if count < FEWEST or not batch.rows:
        found = f"{count} subscriptions and {batch.rows} events"
        msg = f"{snapshots.url}: expected at least {FEWEST} subscriptions and some events, found {found}"
        raise TamisError(msg)
    matcher = Matchers.open(url)[name]
    frame = BatchFrame(batch)
    largest = max(entries, key=lambda entry: entry.slots)
    segment = open_segment(snapshots.segment(largest.segment), ENGINES[MAPPED_ENGINE])

    def build(forest: Forest) -> Index:
        return ENGINES[MAPPED_ENGINE].build(forest, matcher.statistics)

    points = []
    for step in (16, 4, 1):
        slots = np.arange(0, min(largest.slots, _MOST), step)
        part = merge_slots([segment], [slots], build)
        seconds, pairs = _time(lambda: _count_pairs(part, frame))  # noqa: B023 - called within the turn
        points.append((float(len(slots)), pairs / batch.rows, seconds / batch.rows * 1e6))
    pairs = len(matcher.match_pairs(batch).columns()[0])
    columns = getattr(batch.source, "columns", {})
    event_bytes = sum(getattr(each, "nbytes", 0) for each in columns.values()) / batch.rows
    return replace(
        usual,
        model=fit(points),
        matches=pairs / batch.rows,
        largest=count,
        snapshot_bytes=sum(entry.bytes for entry in entries) / count,
        resident_bytes=sum(matcher.stats()["bytes"].values()) / count,
        event_bytes=event_bytes or usual.event_bytes,
        error=None,
        validated=None,
    )


def _count_pairs(segment: LiveSegment, frame: BatchFrame) -> int:
    matches = segment.index.match(frame)
    return len(
        (matches if segment.verifier is None else segment.verifier.verify(frame, matches, DEFAULT_POLICY)).slots
    )


def _time(match: Callable[[], int]) -> tuple[float, int]:
    """The median seconds of a core, warm, and how many pairs there are."""
    pairs = match()
    seconds = []
    for _ in range(_ROUNDS):
        begun = process_time()
        match()
        seconds.append(process_time() - begun)
    return max(median(seconds), 1e-9), pairs
