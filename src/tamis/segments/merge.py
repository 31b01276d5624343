"""When segments are made one, and how.

Segments of about the same size are merged when there are so many of them, into one of the next size. A
subscription is then rewritten once a size: with a million, some seven times, however it came in. A segment that is
mostly deleted is rewritten, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from tamis.arrays import I64
from tamis.engines.base import Index
from tamis.engines.forest import Forest
from tamis.engines.forest.join import join_forests
from tamis.segments.records import join_records
from tamis.segments.segment import LiveSegment
from tamis.verification.verifier import CallVerifier

FANOUT = 8
"""How many segments of a size are merged, and how much larger the next size is."""
SMALLEST = 64
_MOSTLY_DELETED = 0.5
_TEST_WORK = 32
"""A pattern is compiled and indexed again; that takes as long as so many subscriptions of intervals."""


def tier(size: int) -> int:
    """The size class of a segment: 0 for the smallest."""
    found = 0
    while size > SMALLEST:
        size //= FANOUT
        found += 1
    return found


def work(segments: Sequence[LiveSegment]) -> int:
    """About how much it is to merge them, in subscriptions of a few intervals."""
    return sum(len(segment) + _TEST_WORK * len(segment.forest.tests) for segment in segments)


def due(segments: Sequence[LiveSegment], most: float = inf) -> list[LiveSegment]:
    """The segments that should be merged now, if that is no more work than `most`; none if all is well."""
    for segment in segments:
        if segment.dead > _MOSTLY_DELETED * len(segment) and work([segment]) <= most:
            return [segment]
    tiers: dict[int, list[LiveSegment]] = {}
    for segment in segments:
        tiers.setdefault(tier(segment.alive), []).append(segment)
    for _, several in sorted(tiers.items()):
        if len(several) >= FANOUT and work(several) <= most:
            return several
    return []


def merge(
    segments: Sequence[LiveSegment],
    version: int,
    build: Callable[[Forest], Index],
    check: Callable[[], None] = lambda: None,
) -> tuple[LiveSegment, list[I64]]:
    """One segment with what is alive in a version, and per old segment the slots that it has of it, in order.

    `check` is called now and then, and may raise.
    """
    kept = [segment.living(version) for segment in segments]
    return merge_slots(segments, kept, build, check), kept


def merge_slots(
    segments: Sequence[LiveSegment],
    kept: Sequence[I64],
    build: Callable[[Forest], Index],
    check: Callable[[], None] = lambda: None,
) -> LiveSegment:
    """One segment with the kept slots, which rise, of each of several."""
    forest = join_forests([(segment.forest, slots) for segment, slots in zip(segments, kept, strict=True)])
    check()
    records = join_records(segment.records.columns(slots) for segment, slots in zip(segments, kept, strict=True))
    check()
    return LiveSegment(forest, records, build(forest), _verifier(segments, kept))


def _verifier(segments: Sequence[LiveSegment], kept: Sequence[I64]) -> CallVerifier | None:
    """What decides the calls of the kept slots, as they are numbered in one segment."""
    parts, slots = [], []
    base = 0
    for segment, living in zip(segments, kept, strict=True):
        if segment.verifier is not None:
            places = np.searchsorted(living, segment.verifier.slots)
            places[places == len(living)] = 0
            is_kept = living[places] == segment.verifier.slots if len(living) else np.zeros(len(places), np.bool_)
            here = np.flatnonzero(is_kept)
            parts.append((segment.verifier.forest, here))
            slots.append(base + places[here])
        base += len(living)
    return CallVerifier(np.concatenate(slots), join_forests(parts)) if sum(map(len, slots)) else None


def carry_tombstones(
    merged: LiveSegment, segments: Sequence[LiveSegment], kept: Sequence[I64], version: int
) -> None:
    """Delete in the merged segment what was deleted in the old ones after that version, while it was made.

    The caller holds a lock that changes wait for, so this takes time for what was deleted only, not for all slots.
    """
    first = 0
    for segment, slots in zip(segments, kept, strict=True):
        late, versions = segment.deleted_after(version)
        if len(late):
            merged.mark_deleted(first + np.searchsorted(slots, late), versions)
        first += len(slots)
