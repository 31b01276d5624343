"""The editor of a subscription, new or there already."""

from __future__ import annotations

from typing import Any

from tamis.language.dialects import DIALECTS, SQL
from tamis.service.api import serializers
from tamis.service.errors import NotFound
from tamis.service.names import local_name, qualified_name
from tamis.service.page.page_request import PageData, PageRequest
from tamis.store import StoredSubscription
from tamis.store.records import DEFAULT_TYPE

_EVENTS = 30
TRIED = 1_000
"""The condition is tried on so many of the last events."""


def data(request: PageRequest) -> PageData:
    """What a new one begins with: nothing, a condition, or what another subscription has (`like`)."""
    begin = {name: request.text(name) for name in ("condition", "dialect", "event_type", "label")}
    if like := request.text("like"):
        try:
            begin = _begin(request.service.subscriptions.get(request.tenant, like))
        except NotFound:
            pass
    return _data(request, begin, None)


def edit_data(request: PageRequest) -> PageData:
    """What a change of a subscription begins with.

    Raises:
        NotFound: The tenant has none of that id, or no longer.
    """
    found = request.service.subscriptions.get(request.tenant, request.id)
    hook = request.service.subscriptions.webhook(request.tenant, request.id)
    return _data(request, _begin(found), serializers.subscription(found, hook))


def _begin(like: StoredSubscription) -> dict[str, str]:
    given = {"condition": like.condition, "dialect": like.dialect}
    return {**given, "event_type": like.event_type, "label": like.label or ""}


def _data(request: PageRequest, begin: dict[str, str], subscription: dict[str, Any] | None) -> PageData:
    event_type = begin["event_type"] or _type_of_event(request)
    event_type = event_type or request.service.subscriptions.default_type(request.tenant)
    return {
        **begin,
        "tenant": request.tenant,
        "is_admin": request.caller.may("admin"),
        "subscription": subscription,
        "dialect": begin["dialect"] or SQL,
        "dialects": [*DIALECTS],
        "event_type": event_type,
        "event": request.text("event"),
        "event_types": sorted({DEFAULT_TYPE, *request.service.subscriptions.event_types(request.tenant)}),
        "events": _events(request, event_type),
        "tried": TRIED,
        "validity_seconds": request.service.settings.validity_seconds,
        "longest_validity_seconds": request.service.settings.longest_validity_seconds,
    }


def _type_of_event(request: PageRequest) -> str:
    """The type of the event that is asked for; empty if there is none."""
    name = qualified_name(request.tenant, request.text("event"))
    found = request.service.inbox.get([name]).get(name)
    return "" if found is None else local_name(found.event_type)


def _events(request: PageRequest, event_type: str) -> list[dict[str, Any]]:
    """The last events of a type, and before them the one that is asked for, if it is of that type."""
    of_type = qualified_name(request.tenant, event_type)
    found = request.service.inbox.recent(request.tenant, limit=_EVENTS, event_type=of_type)
    name = qualified_name(request.tenant, request.text("event"))
    asked = request.service.inbox.get([name]).get(name)
    if asked is not None and asked.event_type == of_type and name not in {each.id for each in found}:
        found.insert(0, asked)
    return [serializers.event(each) for each in found]
