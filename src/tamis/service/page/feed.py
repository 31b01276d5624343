"""The feed of matches, which goes on while one looks."""

from __future__ import annotations

from tamis.service.api import answers
from tamis.service.names import inside
from tamis.service.page.addresses import with_query
from tamis.service.page.asking import Asking, Data

_SHOWN = 50


def data(asking: Asking) -> Data:
    """The newest notifications, or those before a number; what comes after `after` is still to come."""
    subscription, before = asking.text("subscription"), asking.number("before")
    only = inside(asking.tenant, subscription) if subscription else None
    found = asking.service.feed.before(asking.tenant, before, limit=_SHOWN + 1, subscription=only)
    items = found[:_SHOWN]
    older = with_query("/feed", subscription=subscription, before=items[-1].seq) if len(found) > _SHOWN else None
    return {
        "subscription": subscription,
        "before": before,
        "items": answers.notifications(items),
        "after": items[0].seq if items and before is None else 0,
        "next": older,
    }
