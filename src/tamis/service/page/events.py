"""Events that were published, the newest first."""

from __future__ import annotations

from tamis.service.api import serializers
from tamis.service.names import qualified_name
from tamis.service.page.links import with_query
from tamis.service.page.page_request import PageData, PageRequest

_SHOWN = 50
MOST_MATCHES = 10
"""More matches of an event are not counted in the list."""


def data(request: PageRequest) -> PageData:
    """A page of events."""
    service, tenant = request.service, request.tenant
    event_type, before = request.text("event_type"), request.number("before")
    of_type = qualified_name(tenant, event_type) if event_type else None
    found = service.inbox.recent(tenant, limit=_SHOWN + 1, before=before, event_type=of_type)
    items = found[:_SHOWN]
    older = with_query("/events", event_type=event_type, before=items[-1].number) if len(found) > _SHOWN else None
    return {
        "event_type": event_type,
        "before": before,
        "event_types": sorted({"event", *service.subscriptions.event_types(tenant)}),
        "items": [
            serializers.event(each) | {"matches": len(service.feed.of_event(each.id, limit=MOST_MATCHES + 1))}
            for each in items
        ],
        "most_matches": MOST_MATCHES,
        "next": older,
    }
