"""Explanations of why a published event matched a subscription, or did not, for pages."""

from __future__ import annotations

from typing import Any

from tamis.errors import TamisError
from tamis.language.dialects import has_state
from tamis.service import testing
from tamis.service.inbox import InboxEvent
from tamis.service.names import local_name
from tamis.service.page.page_request import PageRequest


def explain_match(
    request: PageRequest, event: InboxEvent, condition: str, dialect: str, subscription: str
) -> dict[str, Any]:
    """The explanation, or what is in its way: a type that was changed since may refuse event or condition."""
    service = request.service
    if has_state(dialect):
        return {"explanation": None, "problem": "several events satisfy it together; the notification names them"}
    try:
        event_type = service.subscriptions.event_type(request.tenant, local_name(event.event_type))
        limits = service.subscriptions.limits(request.tenant)
        subject = {"subscription_id": subscription, "dialect": dialect}
        found = testing.explain_event(condition, event_type, limits, event.event(), **subject)
    except TamisError as error:
        return {"explanation": None, "problem": str(error)}
    return {"explanation": found, "problem": None}


def condition_at_revision(request: PageRequest, subscription: str, revision: int) -> tuple[str, str] | None:
    """The condition that a revision of a subscription had, and its dialect, as far as it is kept."""
    for change in request.service.subscriptions.history(request.tenant, subscription):
        if change.revision == revision:
            return change.condition, change.dialect
    return None
