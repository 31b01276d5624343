"""The pages of event types: all that are declared, and one with its attributes."""

from __future__ import annotations

from typing import Any

from tamis.events.event_type import EventType
from tamis.service.errors import NotFound
from tamis.service.page.page_request import PageData, PageRequest
from tamis.store.records import DEFAULT_TYPE


def data(request: PageRequest) -> PageData:
    """All declared event types."""
    found = request.service.subscriptions.event_types(request.tenant)
    return {
        "is_admin": request.caller.may("admin"),
        "items": [_summary(request, each) for each in found.values()],
    }


def one(request: PageRequest) -> PageData:
    """One event type.

    Raises:
        NotFound: The tenant has not declared it.
    """
    found = request.service.subscriptions.event_types(request.tenant).get(request.id)
    if found is None:
        msg = f"there is no event type {request.id!r}"
        raise NotFound(msg)
    described = found.to_dict()
    return {
        "is_admin": request.caller.may("admin"),
        "event_type": _summary(request, found),
        "attributes": _attributes(described),
        "described": {name: value for name, value in described.items() if name != "name"},
    }


def _summary(request: PageRequest, event_type: EventType) -> dict[str, Any]:
    name, count = event_type.name, request.service.subscriptions.count
    subscriptions = count(request.tenant, event_type=name)
    return {
        "name": name,
        "time_zone": event_type.time_zone,
        "attributes": None if event_type.attributes is None else len(event_type.attributes),
        "subscriptions": subscriptions,
        "refused": count(request.tenant, event_type=name, refused=True),
        "can_drop": request.caller.may("admin") and not subscriptions and name != DEFAULT_TYPE,
    }


def _attributes(described: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The attributes of a described type, one row for each; None if it is schemaless."""
    if described.get("attributes") is None:
        return None
    rows = []
    for name, given in described["attributes"].items():
        row = given if isinstance(given, dict) else {"type": given}
        rows.append({"name": name, "required": False} | {key: None for key in ("min", "max", "values")} | row)
    return rows
