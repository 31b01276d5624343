"""The page of a subscription: its condition, its matches over time, its history and its webhook."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tamis.service.api import serializers
from tamis.service.api.notifications import describe_notifications
from tamis.service.errors import NotFound
from tamis.service.names import qualified_name
from tamis.service.open_matches import read_open
from tamis.service.page.activity import of_subscription
from tamis.service.page.costs import EVENTS, costs
from tamis.service.page.page_request import PageData, PageRequest
from tamis.service.webhooks.records import DeliveryAttempt, WebhookStatus
from tamis.service.webhooks.status import describe_stop
from tamis.service.webhooks.tables import PAUSED, REFUSED
from tamis.store.records import moment

SPANS = {"hour": (60, 60), "day": (48, 1_800), "week": (56, 10_800)}
"""How many spans of how many seconds a chart has."""
_CHANGES = 50
_SHOWN = 20


def data(request: PageRequest) -> PageData:
    """What the page shows; also of a subscription that has ended.

    Raises:
        NotFound: The tenant never had one of that id.
    """
    service, tenant, id = request.service, request.tenant, request.id
    history = service.subscriptions.history(tenant, id)
    try:
        stored = service.subscriptions.get(tenant, id)
    except NotFound:
        if not history:
            raise
        stored = None
    name = qualified_name(tenant, id)
    hooks = service.webhooks.statuses(subscription_id=name)
    hook = hooks[0].webhook if hooks else None
    span = request.text("span") if request.text("span") in SPANS else "hour"
    return {
        "tenant": tenant,
        "id": id,
        "is_admin": request.caller.may("admin"),
        "subscription": None if stored is None else serializers.subscription(stored, hook),
        "history": [serializers.change(each) for each in history[::-1][:_CHANGES]],
        "span": span,
        "activity": of_subscription(request, id, *SPANS[span]),
        "cost_seconds": None if stored is None else costs(request, [stored]).get(id),
        "timed": {"events": EVENTS},
        "webhook": webhook(hooks[0]) if hooks else None,
        "attempts": attempts(service.webhooks.recent_attempts(name, _SHOWN)),
        "notifications": _notifications(request, name),
        "open": [] if stored is None else read_open(service, tenant, stored, _SHOWN),
    }


def _notifications(request: PageRequest, name: str) -> list[dict[str, Any]]:
    """The last notifications, each with what became of it."""
    found = request.service.feed.before(request.tenant, None, limit=_SHOWN, subscription=name)
    return describe_notifications(request.service, request.tenant, found)


def webhook(of: WebhookStatus) -> dict[str, Any]:
    """A webhook without its secret, and with why it is not called, if it is paused or refused."""
    hook = of.webhook
    answer = asdict(hook)
    del answer["secret"], answer["subscription_id"]
    times = {"next_attempt": moment(hook.next_attempt or None), "created": moment(hook.created)}
    stopped = describe_stop(hook) if hook.state in (PAUSED, REFUSED) else None
    return answer | times | {"since": moment(hook.since), "stopped": stopped, "waiting": of.waiting}


def attempts(of: list[DeliveryAttempt]) -> list[dict[str, Any]]:
    """Calls of a webhook, as its owner sees them."""
    return [
        {name: value for name, value in each.items() if name != "subscription_id"}
        for each in serializers.attempts(of)
    ]
