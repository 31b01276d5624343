"""One subscription: what it waits for, how it does, and everything that was done to it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tamis.service.api import answers
from tamis.service.names import inside
from tamis.service.page.activity import of_subscription
from tamis.service.page.asking import Asking, Data
from tamis.service.page.costs import EVENTS, costs
from tamis.service.problems import NotFound
from tamis.service.webhooks.records import Attempt, Webhook
from tamis.store.records import moment

SPANS = {"hour": (60, 60), "day": (48, 1_800), "week": (56, 10_800)}
"""How many spans of how many seconds a chart has."""
_CHANGES = 50
_SHOWN = 20


def data(asking: Asking) -> Data:
    """What the page shows; also of a subscription that has ended.

    Raises:
        NotFound: The tenant never had one of that id.
    """
    service, tenant, id = asking.service, asking.tenant, asking.id
    history = service.subscriptions.history(tenant, id)
    try:
        stored = service.subscriptions.get(tenant, id)
    except NotFound:
        if not history:
            raise
        stored = None
    name = inside(tenant, id)
    hook = service.webhooks.get(name)
    span = asking.text("span") if asking.text("span") in SPANS else "hour"
    return {
        "tenant": tenant,
        "id": id,
        "is_admin": asking.caller.may("admin"),
        "subscription": None if stored is None else answers.subscription(stored, hook),
        "history": [answers.change(each) for each in history[::-1][:_CHANGES]],
        "span": span,
        "activity": of_subscription(asking, id, *SPANS[span]),
        "cost_seconds": None if stored is None else costs(asking, [stored]).get(id),
        "timed": {"events": EVENTS},
        "webhook": None if hook is None else webhook(hook),
        "attempts": attempts(service.webhooks.recent_attempts(name, _SHOWN)),
        "notifications": answers.notifications(service.feed.before(tenant, None, limit=_SHOWN, subscription=name)),
    }


def webhook(of: Webhook) -> dict[str, Any]:
    """A webhook without its secret."""
    answer = asdict(of)
    del answer["secret"], answer["subscription_id"]
    return answer | {"next_attempt": moment(of.next_attempt or None), "created": moment(of.created)}


def attempts(of: list[Attempt]) -> list[dict[str, Any]]:
    """Calls of a webhook, as its owner sees them."""
    return [
        {name: value for name, value in each.items() if name != "subscription_id"} for each in answers.attempts(of)
    ]
