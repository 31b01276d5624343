"""Why a published event matched a subscription, or did not, as a page tells it."""

from __future__ import annotations

from typing import Any

from tamis.errors import TamisError
from tamis.service import judging
from tamis.service.inbox import Accepted
from tamis.service.names import outside
from tamis.service.page.asking import Asking


def explained(asking: Asking, event: Accepted, condition: str, subscription: str) -> dict[str, Any]:
    """The explanation, or what is in its way: a type that was changed since may refuse event or condition."""
    service = asking.service
    try:
        event_type = service.subscriptions.event_type(asking.tenant, outside(event.event_type))
        limits = service.subscriptions.limits(asking.tenant)
        found = judging.explained(condition, event_type, limits, event.event(), subscription_id=subscription)
    except TamisError as error:
        return {"explanation": None, "problem": str(error)}
    return {"explanation": found, "problem": None}


def condition_of(asking: Asking, subscription: str, revision: int) -> str | None:
    """The condition that a revision of a subscription had, as far as it is kept."""
    for change in asking.service.subscriptions.history(asking.tenant, subscription):
        if change.revision == revision:
            return change.condition
    return None
