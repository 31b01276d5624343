"""Clients of the service: subscribe, publish, be notified.

`Client` waits for its answers, `AsyncClient` is awaited; both send what `calls` describes. Nothing here matches
anything, and nothing here needs more than an HTTP library.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("httpx2") is None:
    _msg = "the client of the service needs httpx2; install it with: pip install 'tamis[client]'"
    raise ImportError(_msg, name="httpx2")

from tamis.client.answers import (
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
    Notification,
    Page,
    Refusal,
    Rights,
    Subscribed,
    Subscription,
    Tenant,
    Tested,
    Token,
    Trace,
)
from tamis.client.asynchronous import AsyncClient, AsyncFeed
from tamis.client.calls.subscriptions import KEEP
from tamis.client.errors import ClientError, ConditionProblem
from tamis.client.retrying import Retries
from tamis.client.sync import Client, Feed
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
    "Notification",
    "Page",
    "Refusal",
    "Retries",
    "Rights",
    "Subscribed",
    "Subscription",
    "Tenant",
    "Tested",
    "Tickets",
    "Token",
    "Trace",
]
