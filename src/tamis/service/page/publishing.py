"""The page that publishes events."""

from __future__ import annotations

import json

from tamis.service.inbox import InboxEvent
from tamis.service.names import local_name, qualified_name
from tamis.service.page.page_request import PageData, PageRequest
from tamis.store.records import DEFAULT_TYPE

_FIRST = '{\n  "price": 250,\n  "brand": "Lumen"\n}'


def data(request: PageRequest) -> PageData:
    """What to begin with: an event like another (`like`), else like the last one of the type."""
    like = _like(request)
    event_type = request.text("event_type") or (
        local_name(like.event_type) if like else request.service.subscriptions.default_type(request.tenant)
    )
    if like is None:
        of_type = qualified_name(request.tenant, event_type)
        recent = request.service.inbox.recent(request.tenant, limit=1, event_type=of_type)
        like = recent[0] if recent else None
    return {
        "may_publish": request.caller.may("publish"),
        "event_type": event_type,
        "event_types": sorted({DEFAULT_TYPE, *request.service.subscriptions.event_types(request.tenant)}),
        "event": _FIRST if like is None else _without_id(like),
    }


def _like(request: PageRequest) -> InboxEvent | None:
    name = qualified_name(request.tenant, request.text("like"))
    return request.service.inbox.get([name]).get(name)


def _without_id(event: InboxEvent) -> str:
    """Its text without its id, under which it would be taken for a repeated one."""
    content = {name: value for name, value in event.event().items() if name != "id"}
    return json.dumps(content, indent=2, ensure_ascii=False)
