"""The editor of a new subscription."""

from __future__ import annotations

from tamis.service.api import answers
from tamis.service.page.asking import Asking, Data
from tamis.service.problems import NotFound
from tamis.store.records import DEFAULT_TYPE

_EVENTS = 30
TRIED = 1_000
"""The condition is tried on so many of the last events."""


def data(asking: Asking) -> Data:
    """What to begin with: nothing, a condition, or what another subscription has (`like`)."""
    condition, event_type, label = asking.text("condition"), asking.text("event_type"), asking.text("label")
    if like := asking.text("like"):
        try:
            found = asking.service.subscriptions.get(asking.tenant, like)
        except NotFound:
            pass
        else:
            condition, event_type, label = found.condition, found.event_type, found.label or ""
    recent = asking.service.inbox.recent(asking.tenant, limit=_EVENTS)
    return {
        "tenant": asking.tenant,
        "condition": condition,
        "event_type": event_type or DEFAULT_TYPE,
        "label": label,
        "event": asking.text("event"),
        "event_types": sorted({DEFAULT_TYPE, *asking.service.subscriptions.event_types(asking.tenant)}),
        "events": [answers.event(each) for each in recent],
        "tried": TRIED,
        "validity_seconds": asking.service.settings.validity_seconds,
        "longest_validity_seconds": asking.service.settings.longest_validity_seconds,
    }
