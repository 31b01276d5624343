"""The page of the feed, which updates itself."""

from __future__ import annotations

from tamis.service.api.notifications import describe_notifications
from tamis.service.names import qualified_name
from tamis.service.page.links import with_query
from tamis.service.page.page_request import PageData, PageRequest

_SHOWN = 50


def data(request: PageRequest) -> PageData:
    """The newest notifications, or those before a number; what comes after `after` is still to come."""
    subscription, before = request.text("subscription"), request.number("before")
    only = qualified_name(request.tenant, subscription) if subscription else None
    found = request.service.feed.before(request.tenant, before, limit=_SHOWN + 1, subscription=only)
    items = found[:_SHOWN]
    older = with_query("/feed", subscription=subscription, before=items[-1].seq) if len(found) > _SHOWN else None
    return {
        "subscription": subscription,
        "before": before,
        "items": describe_notifications(request.service, request.tenant, items),
        "after": items[0].seq if items and before is None else 0,
        "next": older,
    }
