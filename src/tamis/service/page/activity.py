"""Events and matches of a tenant over time, and its subscriptions with most matches."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from tamis.service.errors import NotFound
from tamis.service.latency import measure_latency
from tamis.service.names import qualified_name
from tamis.service.page.page_request import PageData, PageRequest

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


def over_time(request: PageRequest, count: int, seconds: int) -> PageData:
    """Events and matches of the tenant in each of the last spans."""

    def look() -> PageData:
        ends = edges(count, seconds)
        events = request.service.inbox.spans(request.tenant, ends)
        matches = request.service.feed.spans(request.tenant, ends)
        rows = zip(ends, events, matches, strict=False)
        spans = [{"at": at, "events": one, "matches": other} for at, one, other in rows]
        return {"seconds": seconds, "spans": spans}

    return request.cached("over time", min(2.0, seconds / 5), look, count, seconds)


def of_subscription(request: PageRequest, id: str, count: int, seconds: int) -> PageData:
    """Matches of one subscription in each of the last spans."""

    def look() -> PageData:
        ends = edges(count, seconds)
        found = request.service.feed.spans(request.tenant, ends, subscription=qualified_name(request.tenant, id))
        return {
            "seconds": seconds,
            "spans": [{"at": at, "matches": each} for at, each in zip(ends, found, strict=False)],
        }

    return request.cached("of subscription", 2.0, look, id, count, seconds)


def rates(request: PageRequest) -> PageData:
    """Events and matches of the tenant a second, over the last ten."""

    def look() -> PageData:
        now = datetime.now(UTC)
        span = [now - timedelta(seconds=_RATE_SECONDS), now]
        events = request.service.inbox.spans(request.tenant, span)[0]
        matches = request.service.feed.spans(request.tenant, span)[0]
        return {"events_per_second": events / _RATE_SECONDS, "matches_per_second": matches / _RATE_SECONDS}

    return request.cached("rates", 1.0, look)


def latency(request: PageRequest) -> PageData:
    """Seconds from accepted to notified, of the tenant's last notifications."""
    service = request.service

    def look() -> PageData:
        return asdict(measure_latency(service.inbox, service.feed, [*service.reports.last], request.tenant))

    return request.cached("latency", 2.0, look)


def busiest_subscriptions(request: PageRequest, limit: int) -> list[tuple[str, int]]:
    """The subscriptions of the tenant with most matches of late, and how many each has."""

    def look() -> list[tuple[str, int]]:
        since = datetime.now(UTC) - timedelta(hours=RANKED_HOURS)
        after = request.service.feed.since(since, most=RANKED_NOTIFICATIONS)
        return request.service.feed.counts(request.tenant, since, limit=RANKED_NOTIFICATIONS, after=after)

    return request.cached("ranked", 3.0, look)[:limit]


def busiest(request: PageRequest, limit: int) -> PageData:
    """As `busiest_subscriptions`, with what was counted."""
    items: list[dict[str, Any]] = []
    for id, matches in busiest_subscriptions(request, limit):
        try:
            found = request.service.subscriptions.get(request.tenant, id)
        except NotFound:  # it has ended since
            label, condition = None, None
        else:
            label, condition = found.label, found.condition
        items.append({"id": id, "matches": matches, "label": label, "condition": condition})
    return {"hours": RANKED_HOURS, "most_notifications": RANKED_NOTIFICATIONS, "items": items}
