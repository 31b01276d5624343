"""The page of an event: its content, the subscriptions that it matched and why, and why not another one."""

from __future__ import annotations

from typing import Any

from tamis.service.api import serializers
from tamis.service.api.notifications import describe_notifications
from tamis.service.errors import NotFound
from tamis.service.inbox import InboxEvent
from tamis.service.names import qualified_name
from tamis.service.page.explanations import condition_at_revision, explain_match
from tamis.service.page.links import address
from tamis.service.page.page_request import PageData, PageRequest

_SHOWN = 20


def data(request: PageRequest) -> PageData:
    """What the page shows.

    Raises:
        NotFound: The tenant has no such event, or no longer.
    """
    name = qualified_name(request.tenant, request.id)
    event = request.service.inbox.get([name]).get(name)
    if event is None:
        msg = f"there is no event {request.id!r}, or no longer"
        raise NotFound(msg)
    found = request.service.feed.of_event(name, limit=_SHOWN + 1, after=request.number("after") or 0)
    shown = found[:_SHOWN]
    here = address("events", request.id)
    joint = "&" if "?" in here else "?"
    return {
        "id": request.id,
        "event": serializers.event(event),
        "is_done": event.number <= request.service.inbox.done(),
        "dead_letter": _dead_letter(request, name),
        "matches": [
            _match(request, event, each) for each in describe_notifications(request.service, request.tenant, shown)
        ],
        "next": f"{here}{joint}after={shown[-1].seq}" if len(found) > _SHOWN else None,
        "subscription": request.text("subscription"),
        "tried": _explain_for_subscription(request, event),
    }


def _dead_letter(request: PageRequest, name: str) -> dict[str, Any] | None:
    """Why the event could not be matched, if so."""
    found = request.service.feed.dead_letter_of(name)
    return None if found is None else {"kind": found.kind, "reason": found.reason, "at": found.at}


def _match(request: PageRequest, event: InboxEvent, notification: dict[str, Any]) -> dict[str, Any]:
    id = notification["subscription_id"]
    was = condition_at_revision(request, id, notification["revision"])
    if was is None:
        why: dict[str, Any] = {"explanation": None, "problem": "the condition it had then is not kept any more"}
    else:
        why = explain_match(request, event, *was, id)
    return {**notification, "condition": None if was is None else was[0], **why}


def _explain_for_subscription(request: PageRequest, event: InboxEvent) -> dict[str, Any] | None:
    """The subscription that is asked about, explained for this event."""
    if not (id := request.text("subscription")):
        return None
    try:
        stored = request.service.subscriptions.get(request.tenant, id)
    except NotFound as error:
        return {"condition": None, "explanation": None, "problem": str(error)}
    if qualified_name(request.tenant, stored.event_type) != event.event_type:
        msg = f"it waits for events of the type {stored.event_type!r}, which this is not"
        return {"condition": stored.condition, "explanation": None, "problem": msg}
    why = explain_match(request, event, stored.condition, stored.dialect, id)
    return {"condition": stored.condition, **why}
