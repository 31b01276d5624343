"""Conditions and events for the tests of `buckets`."""

from __future__ import annotations

from tamis.events import EventBatch
from tamis.lab.dynamic.term_index import TermIndex


def pairs(index: TermIndex, batch: EventBatch) -> list[tuple[int, int]]:
    found = index.match(batch)
    return sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True))
