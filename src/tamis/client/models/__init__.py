"""What the service answers, as frozen records."""

from tamis.client.models.access import Restored, Rights, Tenant, Token
from tamis.client.models.events import Accepted, Advertisement, Conformity, Declared, Event
from tamis.client.models.notifications import Attempt, DeadLetter, FailedDelivery, Notification, Trace
from tamis.client.models.pages import Page
from tamis.client.models.peers import Peer, PeerLink
from tamis.client.models.subscriptions import (
    Change,
    Delivery,
    Explanation,
    Finding,
    Imported,
    Matched,
    MatchedEvents,
    Refusal,
    Subscribed,
    Subscription,
    Tested,
)
from tamis.client.models.webhooks import NotificationDelivery, Replayed, SubscriberWebhook, WebhookStatus

__all__ = [
    "Accepted",
    "Advertisement",
    "Attempt",
    "Change",
    "Conformity",
    "DeadLetter",
    "Declared",
    "Delivery",
    "Event",
    "Explanation",
    "FailedDelivery",
    "Finding",
    "Imported",
    "Matched",
    "MatchedEvents",
    "Notification",
    "NotificationDelivery",
    "Page",
    "Peer",
    "PeerLink",
    "Refusal",
    "Replayed",
    "Restored",
    "Rights",
    "Subscribed",
    "SubscriberWebhook",
    "Subscription",
    "Tenant",
    "Tested",
    "Token",
    "Trace",
    "WebhookStatus",
]
