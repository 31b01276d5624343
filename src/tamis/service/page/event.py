"""One event: what it says, whom it concerned and why, and why not somebody else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tamis.service.api import answers
from tamis.service.feed import Notification
from tamis.service.inbox import Accepted
from tamis.service.names import inside
from tamis.service.page.addresses import address
from tamis.service.page.asking import Asking, Data
from tamis.service.page.explaining import condition_of, explained
from tamis.service.problems import NotFound

_SHOWN = 20


def data(asking: Asking) -> Data:
    """What the page shows.

    Raises:
        NotFound: The tenant has no such event, or no longer.
    """
    name = inside(asking.tenant, asking.id)
    event = asking.service.inbox.get([name]).get(name)
    if event is None:
        msg = f"there is no event {asking.id!r}, or no longer"
        raise NotFound(msg)
    found = asking.service.feed.of_event(name, limit=_SHOWN + 1, after=asking.number("after") or 0)
    shown = found[:_SHOWN]
    here = address("events", asking.id)
    joint = "&" if "?" in here else "?"
    return {
        "id": asking.id,
        "event": answers.event(event),
        "matches": [_match(asking, event, each) for each in shown],
        "next": f"{here}{joint}after={shown[-1].seq}" if len(found) > _SHOWN else None,
        "subscription": asking.text("subscription"),
        "tried": _tried(asking, event),
    }


def _match(asking: Asking, event: Accepted, notification: Notification) -> dict[str, Any]:
    condition = condition_of(asking, notification.subscription_id, notification.revision)
    if condition is None:
        why: dict[str, Any] = {"explanation": None, "problem": "the condition it had then is not kept any more"}
    else:
        why = explained(asking, event, condition, notification.subscription_id)
    return {**asdict(notification), "condition": condition, **why}


def _tried(asking: Asking, event: Accepted) -> dict[str, Any] | None:
    """The subscription that is asked about, explained for this event."""
    if not (id := asking.text("subscription")):
        return None
    try:
        stored = asking.service.subscriptions.get(asking.tenant, id)
    except NotFound as error:
        return {"condition": None, "explanation": None, "problem": str(error)}
    if inside(asking.tenant, stored.event_type) != event.event_type:
        msg = f"it waits for events of the type {stored.event_type!r}, which this is not"
        return {"condition": stored.condition, "explanation": None, "problem": msg}
    return {"condition": stored.condition, **explained(asking, event, stored.condition, id)}
