"""One notification, followed: its event, the subscription as it was, its batch, every attempt to deliver it."""

from __future__ import annotations

from typing import Any

from tamis.service.api.notifications import traced
from tamis.service.names import inside
from tamis.service.page.asking import Asking, Data
from tamis.service.page.explaining import explained
from tamis.service.page.overview import batch
from tamis.service.problems import NotFound


def data(asking: Asking) -> Data:
    """What the page shows.

    Raises:
        NotFound: The tenant has no such notification.
    """
    service, tenant = asking.service, asking.tenant
    trace = traced(service, tenant, asking.id)
    hook = service.subscriptions.webhook(tenant, trace["subscription_id"])
    attempts = [
        {name: value for name, value in each.items() if name != "subscription_id"}
        for each in trace.pop("attempts")
    ]
    event, was = trace.pop("event"), trace.pop("subscription")
    return {
        "id": asking.id,
        "notification": trace,
        "event": event,
        "subscription": was,
        "is_living": _is_living(asking, trace["subscription_id"]),
        "batch": _batch(asking, trace["batch"]),
        "delivery": None if hook is None else {"url": hook.url, "state": hook.state},
        "attempts": attempts,
        **_why(asking, trace, was),
    }


def _is_living(asking: Asking, id: str) -> bool:
    try:
        asking.service.subscriptions.get(asking.tenant, id)
    except NotFound:
        return False
    return True


def _why(asking: Asking, trace: dict[str, Any], was: dict[str, Any] | None) -> dict[str, Any]:
    name = inside(asking.tenant, trace["event_id"])
    event = asking.service.inbox.get([name]).get(name)
    if event is None or was is None:
        what = "the event" if event is None else "the condition it had then"
        return {"explanation": None, "problem": f"{what} is not kept any more"}
    return explained(asking, event, was["condition"], trace["subscription_id"])


def _batch(asking: Asking, number: int) -> dict[str, Any] | None:
    """The report of the batch, as far as it is known; how much it did is for who looks after the service."""
    for report in reversed(list(asking.service.reports.last)):
        if report.batch == number:
            return batch(report) if asking.is_operator else {"at": report.at, "seconds": report.seconds}
    return None
