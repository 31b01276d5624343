"""The list of subscriptions: by id, by number of matches, or by cost."""

from __future__ import annotations

from typing import Any

from tamis.service.api import serializers
from tamis.service.errors import NotFound
from tamis.service.names import qualified_name
from tamis.service.page.activity import RANKED_HOURS, RANKED_NOTIFICATIONS, busiest_subscriptions
from tamis.service.page.costs import EVENTS, costs
from tamis.service.page.links import with_query
from tamis.service.page.page_request import PageData, PageRequest
from tamis.store import StoredSubscription

ORDERS = ("id", "broadest", "slowest")
_SHOWN = 50
_LOOKED_AT = 200


def data(request: PageRequest) -> PageData:
    """A page of subscriptions that fit the filters."""
    search, event_type, label = request.text("search"), request.text("event_type"), request.text("label")
    order = request.text("order") if request.text("order") in ORDERS else "id"
    options: dict[str, Any] = {"search": search, "event_type": event_type or None, "label": label or None}
    seconds: dict[str, float] = {}
    more = None
    if order == "broadest":
        found = _broadest(request, search.lower(), event_type, label)
    else:
        after = request.query.get("after", "") if order == "id" else ""
        limit = _SHOWN if order == "id" else _LOOKED_AT
        found = request.service.subscriptions.page(request.tenant, **options, after=after, limit=limit + 1)
        if order == "id" and len(found) > limit:
            filters = {"search": search, "event_type": event_type, "label": label}
            more = with_query("/subscriptions", **filters, after=found[limit - 1].id)
        found = found[:limit]
    seconds = costs(request, found)
    if order == "slowest":
        found = sorted(found, key=lambda each: -seconds.get(each.id, -1.0))[:_SHOWN]
    return {
        "search": search,
        "event_type": event_type,
        "label": label,
        "order": order,
        "items": _rows(request, found, seconds),
        "next": more,
        "total": request.cached("count", 2.0, lambda: request.service.subscriptions.count(request.tenant)),
        "event_types": sorted({"event", *request.service.subscriptions.event_types(request.tenant)}),
        "counted": {"hours": RANKED_HOURS, "most_notifications": RANKED_NOTIFICATIONS},
        "timed": {"events": EVENTS, "most_subscriptions": _LOOKED_AT},
    }


def _broadest(request: PageRequest, search: str, event_type: str, label: str) -> list[StoredSubscription]:
    found: list[StoredSubscription] = []
    for id, _ in busiest_subscriptions(request, _LOOKED_AT):
        try:
            each = request.service.subscriptions.get(request.tenant, id)
        except NotFound:  # it has ended since
            continue
        texts = (each.id, each.label or "", each.condition)
        fits = not search or any(search in text.lower() for text in texts)
        if fits and event_type in ("", each.event_type) and label in ("", each.label):
            found.append(each)
    return found[:_SHOWN]


def _rows(
    request: PageRequest, found: list[StoredSubscription], seconds: dict[str, float]
) -> list[dict[str, Any]]:
    names = {each.id: qualified_name(request.tenant, each.id) for each in found}
    hooks = request.service.webhooks.get_many(list(names.values()))
    matches = dict(busiest_subscriptions(request, RANKED_NOTIFICATIONS))
    return [
        {
            **serializers.subscription(each, hooks.get(names[each.id])),
            "matches": matches.get(each.id, 0),
            "cost_seconds": seconds.get(each.id),
        }
        for each in found
    ]
