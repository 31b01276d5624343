"""The pages of dead letters and of failed deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tamis.service.api.deliveries import failed_filter, serialize_dead_letter, serialize_failure
from tamis.service.errors import NotFound
from tamis.service.page.links import with_query
from tamis.service.page.page_request import PageData, PageRequest

_SHOWN = 50


def dead_letters(request: PageRequest) -> PageData:
    """Dead letters, the newest first."""
    before = request.number("before")
    found = request.service.feed.dead_letters(request.tenant, before=before, limit=_SHOWN + 1)
    items = [serialize_dead_letter(each) for each in found[:_SHOWN]]
    older = with_query("/dead-letters", before=items[-1]["number"]) if len(found) > _SHOWN else None
    return {"before": before, "items": items, "next": older}


def failed_deliveries(request: PageRequest) -> PageData:
    """Parked notifications, in the order of the feed."""
    after = request.number("after") or 0
    filters = {name: request.text(name) for name in ("subscription", "endpoint", "since", "until")}
    since, until = (_time(filters[name]) for name in ("since", "until"))
    which = failed_filter(
        request.tenant, filters["subscription"] or None, since, until, filters["endpoint"] or None
    )
    found = request.service.webhooks.parked_deliveries(which, after=after, limit=_SHOWN + 1)
    items = [_describe(request, serialize_failure(each)) for each in found[:_SHOWN]]
    later = with_query("/failed-deliveries", **filters, after=items[-1]["seq"]) if len(found) > _SHOWN else None
    replay = {
        name: value
        for name, value in filters.items()
        if value and (name in ("subscription", "endpoint") or _time(value))
    }
    return {"after": after, **filters, "replay": replay, "items": items, "next": later}


def _describe(request: PageRequest, item: dict[str, Any]) -> dict[str, Any]:
    """A failed delivery with the label and the condition of its subscription, unless that has ended."""
    try:
        stored = request.service.subscriptions.get(request.tenant, item["subscription_id"])
    except NotFound:
        return item | {"label": None, "condition": None}
    return item | {"label": stored.label, "condition": stored.condition}


def _time(text: str) -> datetime | None:
    """A time of a filter; one that cannot be read does not filter."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
