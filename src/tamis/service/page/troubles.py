"""What went wrong: events that could not be matched, and notifications that could not be delivered."""

from __future__ import annotations

from tamis.service.api.deliveries import bad_event, failure
from tamis.service.page.addresses import with_query
from tamis.service.page.asking import Asking, Data

_SHOWN = 50


def bad_events(asking: Asking) -> Data:
    """Bad events, the newest first."""
    before = asking.number("before")
    found = asking.service.feed.bad_events(asking.tenant, before=before, limit=_SHOWN + 1)
    items = [bad_event(each) for each in found[:_SHOWN]]
    older = with_query("/bad-events", before=items[-1]["number"]) if len(found) > _SHOWN else None
    return {"before": before, "items": items, "next": older}


def failed_deliveries(asking: Asking) -> Data:
    """Parked notifications, in the order of the feed."""
    after = asking.number("after") or 0
    found = asking.service.webhooks.failed(tenant=asking.tenant, after=after, limit=_SHOWN + 1)
    items = [failure(each) for each in found[:_SHOWN]]
    later = with_query("/failed-deliveries", after=items[-1]["seq"]) if len(found) > _SHOWN else None
    return {"after": after, "items": items, "next": later}
