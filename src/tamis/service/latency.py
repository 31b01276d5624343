"""Publish-to-notification latency: from the moment an event was accepted until its match was in the feed.

It is computed on demand, from the last notifications and the events that they are about, as far as both are kept.
A match is in the feed when its batch ends, which the report of the batch tells; without a report its time of match
is taken, which is earlier.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from tamis.progress import BatchReport, Percentiles
from tamis.service.feed import FeedReader
from tamis.service.inbox import Inbox

NOTIFICATIONS = 1_000
"""So many of the last notifications are looked at."""


@dataclass(frozen=True, slots=True)
class NotificationLatency:
    """Seconds from accepted to notified: half of the notifications took at most `p50`, 99 of 100 at most `p99`.

    Attributes:
        notifications: How many were measured.
        p50: In seconds; None if none was measured.
        p99: Likewise.
    """

    notifications: int
    p50: float | None
    p99: float | None


def measure_latency(
    inbox: Inbox, feed: FeedReader, reports: Iterable[BatchReport], tenant: str | None = None
) -> NotificationLatency:
    """The latency of the last notifications of a tenant, or of all."""
    found = feed.newest(tenant, limit=NOTIFICATIONS)
    accepted = inbox.accepted_at([*{event_id for event_id, _, _ in found}])
    ends = {each.batch: each.at + timedelta(seconds=each.seconds) for each in reports}
    seconds = [
        max(0.0, (max(matched_at, ends.get(batch, matched_at)) - accepted[event_id]).total_seconds())
        for event_id, batch, matched_at in found
        if event_id in accepted
    ]
    if not seconds:
        return NotificationLatency(0, None, None)
    percentiles = Percentiles.of(seconds)
    return NotificationLatency(len(seconds), percentiles.p50, percentiles.p99)
