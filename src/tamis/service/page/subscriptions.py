"""The list of subscriptions: by id, or the broadest, or the slowest."""

from __future__ import annotations

from typing import Any

from tamis.service.api import answers
from tamis.service.names import inside
from tamis.service.page.activity import RANKED_HOURS, RANKED_NOTIFICATIONS, ranked
from tamis.service.page.addresses import with_query
from tamis.service.page.asking import Asking, Data
from tamis.service.page.costs import EVENTS, costs
from tamis.service.problems import NotFound
from tamis.store import Stored

ORDERS = ("id", "broadest", "slowest")
_SHOWN = 50
_LOOKED_AT = 200


def data(asking: Asking) -> Data:
    """A page of subscriptions that fit the filters."""
    search, event_type, label = asking.text("search"), asking.text("event_type"), asking.text("label")
    order = asking.text("order") if asking.text("order") in ORDERS else "id"
    options: dict[str, Any] = {"search": search, "event_type": event_type or None, "label": label or None}
    seconds: dict[str, float] = {}
    more = None
    if order == "broadest":
        found = _broadest(asking, search.lower(), event_type, label)
    else:
        after = asking.query.get("after", "") if order == "id" else ""
        limit = _SHOWN if order == "id" else _LOOKED_AT
        found = asking.service.subscriptions.page(asking.tenant, **options, after=after, limit=limit + 1)
        if order == "id" and len(found) > limit:
            filters = {"search": search, "event_type": event_type, "label": label}
            more = with_query("/subscriptions", **filters, after=found[limit - 1].id)
        found = found[:limit]
    seconds = costs(asking, found)
    if order == "slowest":
        found = sorted(found, key=lambda each: -seconds.get(each.id, -1.0))[:_SHOWN]
    return {
        "search": search,
        "event_type": event_type,
        "label": label,
        "order": order,
        "items": _described(asking, found, seconds),
        "next": more,
        "total": asking.remembered("count", 2.0, lambda: asking.service.subscriptions.count(asking.tenant)),
        "event_types": sorted({"event", *asking.service.subscriptions.event_types(asking.tenant)}),
        "counted": {"hours": RANKED_HOURS, "most_notifications": RANKED_NOTIFICATIONS},
        "timed": {"events": EVENTS, "most_subscriptions": _LOOKED_AT},
    }


def _broadest(asking: Asking, search: str, event_type: str, label: str) -> list[Stored]:
    found: list[Stored] = []
    for id, _ in ranked(asking, _LOOKED_AT):
        try:
            each = asking.service.subscriptions.get(asking.tenant, id)
        except NotFound:  # it has ended since
            continue
        texts = (each.id, each.label or "", each.condition)
        fits = not search or any(search in text.lower() for text in texts)
        if fits and event_type in ("", each.event_type) and label in ("", each.label):
            found.append(each)
    return found[:_SHOWN]


def _described(asking: Asking, found: list[Stored], seconds: dict[str, float]) -> list[dict[str, Any]]:
    names = {each.id: inside(asking.tenant, each.id) for each in found}
    hooks = asking.service.webhooks.get_many(list(names.values()))
    matches = dict(ranked(asking, RANKED_NOTIFICATIONS))
    return [
        {
            **answers.subscription(each, hooks.get(names[each.id])),
            "matches": matches.get(each.id, 0),
            "cost_seconds": seconds.get(each.id),
        }
        for each in found
    ]
