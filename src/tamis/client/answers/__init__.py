"""What the service answers, as frozen records."""

from tamis.client.answers.access import Rights, Tenant, Token
from tamis.client.answers.events import Accepted, Advertisement, Conformity, Declared, Event
from tamis.client.answers.notifications import Attempt, DeadLetter, FailedDelivery, Notification, Trace
from tamis.client.answers.pages import Page
from tamis.client.answers.subscriptions import (
    Change,
    Delivery,
    Explanation,
    Finding,
    Imported,
    Refusal,
    Subscribed,
    Subscription,
    Tested,
)

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
    "Notification",
    "Page",
    "Refusal",
    "Rights",
    "Subscribed",
    "Subscription",
    "Tenant",
    "Tested",
    "Token",
    "Trace",
]
