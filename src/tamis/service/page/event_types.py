"""The pages of event types: all that are declared, and one with its attributes."""

from __future__ import annotations

from typing import Any

from tamis.events.event_type import EventType
from tamis.service.accounts import TenantRights
from tamis.service.errors import NotFound
from tamis.service.names import local_name
from tamis.service.page.page_request import PageData, PageRequest
from tamis.store.records import DEFAULT_TYPE


def data(request: PageRequest) -> PageData:
    """All declared event types."""
    found = request.service.subscriptions.event_types(request.tenant)
    return {
        "is_admin": request.caller.may("admin"),
        "items": [_summary(request, each) for each in found.values()],
        "advertisements": _advertisements(request),
        "conformity": _conformity(request),
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
        "advertisements": _advertisements(request, request.id),
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


def _conformity(request: PageRequest) -> str:
    rights = request.service.accounts.rights(request.tenant)
    return TenantRights().conformity if rights is None else rights.conformity


def _advertisements(request: PageRequest, event_type: str | None = None) -> list[dict[str, Any]]:
    """What publishers say of their events, of all types or of one."""
    labels = {each.id: each.label for each in request.service.accounts.tokens(request.tenant)}
    return [
        {
            "id": local_name(each.id),
            "event_type": local_name(each.event_type),
            "condition": each.condition,
            "token": each.token,
            "publisher": labels.get(each.token or "", ""),
            "created": each.created,
        }
        for each in request.service.accounts.advertisements(request.tenant)
        if event_type in (None, local_name(each.event_type))
    ]


def _attributes(described: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The attributes of a described type, one row for each; None if it is schemaless."""
    if described.get("attributes") is None:
        return None
    rows = []
    for name, given in described["attributes"].items():
        row = given if isinstance(given, dict) else {"type": given}
        rows.append({"name": name, "required": False} | {key: None for key in ("min", "max", "values")} | row)
    return rows
