"""How much happens: events and matches of a tenant by time, and its broadest subscriptions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.service.names import inside
from tamis.service.page.asking import Asking, Data

RANKED_HOURS = 1
RANKED_NOTIFICATIONS = 200_000
"""Broadest subscriptions are counted over an hour, and over no more notifications than these."""
_RATE_SECONDS = 10
_LONG_SECONDS = 60
"""Of spans as long as this, the one that is not over is counted too."""


def edges(count: int, seconds: int) -> list[datetime]:
    """The ends of so many spans of a round length; the last one is over, unless spans are long."""
    now = datetime.now(UTC)
    end = int(now.timestamp()) // seconds * seconds
    ends = [datetime.fromtimestamp(end - seconds * back, UTC) for back in range(count, -1, -1)]
    return ends if seconds < _LONG_SECONDS else [*ends[1:], now]


def over_time(asking: Asking, count: int, seconds: int) -> Data:
    """Events and matches of the tenant in each of the last spans."""

    def look() -> Data:
        ends = edges(count, seconds)
        events = asking.service.inbox.spans(asking.tenant, ends)
        matches = asking.service.feed.spans(asking.tenant, ends)
        rows = zip(ends, events, matches, strict=False)
        spans = [{"at": at, "events": one, "matches": other} for at, one, other in rows]
        return {"seconds": seconds, "spans": spans}

    return asking.remembered("over time", min(2.0, seconds / 5), look, count, seconds)


def of_subscription(asking: Asking, id: str, count: int, seconds: int) -> Data:
    """Matches of one subscription in each of the last spans."""

    def look() -> Data:
        ends = edges(count, seconds)
        found = asking.service.feed.spans(asking.tenant, ends, subscription=inside(asking.tenant, id))
        return {
            "seconds": seconds,
            "spans": [{"at": at, "matches": each} for at, each in zip(ends, found, strict=False)],
        }

    return asking.remembered("of subscription", 2.0, look, id, count, seconds)


def rates(asking: Asking) -> Data:
    """Events and matches of the tenant a second, over the last ten."""

    def look() -> Data:
        now = datetime.now(UTC)
        span = [now - timedelta(seconds=_RATE_SECONDS), now]
        events = asking.service.inbox.spans(asking.tenant, span)[0]
        matches = asking.service.feed.spans(asking.tenant, span)[0]
        return {"events_per_second": events / _RATE_SECONDS, "matches_per_second": matches / _RATE_SECONDS}

    return asking.remembered("rates", 1.0, look)


def ranked(asking: Asking, limit: int) -> list[tuple[str, int]]:
    """The subscriptions of the tenant with most matches of late, and how many each has."""

    def look() -> list[tuple[str, int]]:
        since = datetime.now(UTC) - timedelta(hours=RANKED_HOURS)
        after = asking.service.feed.since(since, most=RANKED_NOTIFICATIONS)
        return asking.service.feed.counts(asking.tenant, since, limit=RANKED_NOTIFICATIONS, after=after)

    return asking.remembered("ranked", 3.0, look)[:limit]


def broadest(asking: Asking, limit: int) -> Data:
    """As `ranked`, with what was counted."""
    items: list[dict[str, Any]] = [{"id": id, "matches": matches} for id, matches in ranked(asking, limit)]
    return {"hours": RANKED_HOURS, "most_notifications": RANKED_NOTIFICATIONS, "items": items}
