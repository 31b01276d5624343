"""Webhooks and what became of their deliveries, as the service answers them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """The webhook of a subscription, and what it has yet to do.

    Attributes:
        subscription_id: Whose it is.
        url: Where it sends notifications.
        state: "pending", "confirmed", "paused" or "refused".
        failures: How many deliveries in a row have failed.
        waiting: How many notifications are neither delivered nor given up.
        failed: How many were given up, and can be replayed.
        reason: Why it is paused or refused.
        since: When it came into its state.
        failed_calls: How many calls in a row have failed.
    """

    subscription_id: str
    url: str
    state: str
    failures: int
    waiting: int
    failed: int
    reason: str | None = None
    since: datetime | None = None
    failed_calls: int = 0


@dataclass(frozen=True, slots=True)
class SubscriberWebhook(WebhookStatus):
    """A new webhook of a subscriber.

    Attributes:
        secret: Signs its calls; nothing can show it again.
    """

    secret: str = ""


@dataclass(frozen=True, slots=True)
class NotificationDelivery:
    """What became of a notification.

    Attributes:
        state: "pull" without a webhook; "waiting", "retrying", "delivered", "failed", "replaying"; "pending",
            "paused" or "refused" if its webhook is, and it waits for that; "unrecorded" if it is too old to say.
        reason: Why it is not delivered.
    """

    state: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of replaying many failed deliveries.

    Attributes:
        replayed: How many are tried again; those of a paused webhook when it is resumed.
        left: How many are not: their receiver has refused, or their notification is not kept any more.
    """

    replayed: int
    left: int
