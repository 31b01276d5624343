"""The trace of a notification: its event, the subscription as it was, its batch, all delivery attempts."""

from __future__ import annotations

from typing import Any

from tamis.service.api.notifications import trace_notification
from tamis.service.errors import NotFound
from tamis.service.names import qualified_name
from tamis.service.page.explanations import explain_match
from tamis.service.page.overview import batch
from tamis.service.page.page_request import PageData, PageRequest


def data(request: PageRequest) -> PageData:
    """What the page shows.

    Raises:
        NotFound: The tenant has no such notification.
    """
    service, tenant = request.service, request.tenant
    trace = trace_notification(service, tenant, request.id)
    hook = service.subscriptions.webhook(tenant, trace["subscription_id"])
    attempts = [
        {name: value for name, value in each.items() if name != "subscription_id"}
        for each in trace.pop("attempts")
    ]
    event, was = trace.pop("event"), trace.pop("subscription")
    return {
        "id": request.id,
        "notification": trace,
        "event": event,
        "subscription": was,
        "is_living": _is_living(request, trace["subscription_id"]),
        "batch": _batch(request, trace["batch"]),
        "delivery": {"url": None if hook is None else hook.url, **trace.pop("delivery")},
        "attempts": attempts,
        **_why(request, trace, was),
    }


def _is_living(request: PageRequest, id: str) -> bool:
    try:
        request.service.subscriptions.get(request.tenant, id)
    except NotFound:
        return False
    return True


def _why(request: PageRequest, trace: dict[str, Any], was: dict[str, Any] | None) -> dict[str, Any]:
    if trace["subscriptions"] is not None:
        return {"explanation": None, "problem": "it names several matches, and each has a notification of its own"}
    name = qualified_name(request.tenant, trace["event_id"])
    event = request.service.inbox.get([name]).get(name)
    if event is None or was is None:
        what = "the event" if event is None else "the condition it had then"
        return {"explanation": None, "problem": f"{what} is not kept any more"}
    return explain_match(request, event, was["condition"], was["dialect"], trace["subscription_id"])


def _batch(request: PageRequest, number: int) -> dict[str, Any] | None:
    """The report of the batch, as far as it is known; its counts are for the operator."""
    for report in reversed(list(request.service.reports.last)):
        if report.batch == number:
            return batch(report) if request.is_operator else {"at": report.at, "seconds": report.seconds}
    return None
