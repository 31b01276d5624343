"""Clients of the service: subscribe, publish, be notified.

`Client` blocks, `AsyncClient` is awaited; both send what `calls` describes. The package needs nothing but an HTTP
library.
"""

from importlib.util import find_spec as _find_spec

from tamis.errors import install_command as _install_command

if _find_spec("httpx2") is None:
    _msg = f"the client of the service needs httpx2; install it with: {_install_command('client')}"
    raise ImportError(_msg, name="httpx2")

from tamis.client.async_client import AsyncClient, AsyncFeed
from tamis.client.calls.subscriptions import KEEP
from tamis.client.errors import ClientError, ConditionProblem
from tamis.client.models import (
    Accepted,
    Advertisement,
    Attempt,
    Change,
    Conformity,
    DeadLetter,
    Declared,
    Delivery,
    Event,
    Explanation,
    FailedDelivery,
    Finding,
    Imported,
    Matched,
    MatchedEvents,
    Notification,
    NotificationDelivery,
    Page,
    Peer,
    PeerLink,
    Refusal,
    Replayed,
    Restored,
    Rights,
    Subscribed,
    SubscriberWebhook,
    Subscription,
    Tenant,
    Tested,
    Token,
    Trace,
    WebhookStatus,
)
from tamis.client.retries import Retries
from tamis.client.sync_client import Client, Feed
from tamis.client.tickets import Tickets

__all__ = [
    "KEEP",
    "Accepted",
    "Advertisement",
    "AsyncClient",
    "AsyncFeed",
    "Attempt",
    "Change",
    "Client",
    "ClientError",
    "ConditionProblem",
    "Conformity",
    "DeadLetter",
    "Declared",
    "Delivery",
    "Event",
    "Explanation",
    "FailedDelivery",
    "Feed",
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
    "Retries",
    "Rights",
    "Subscribed",
    "SubscriberWebhook",
    "Subscription",
    "Tenant",
    "Tested",
    "Tickets",
    "Token",
    "Trace",
    "WebhookStatus",
]
