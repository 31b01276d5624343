"""Webhooks, their failed deliveries, and replays."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from tamis.service.api.models.fields import DigestSeconds, Moment, Name, RequestModel
from tamis.service.webhooks.records import WebhookState


class SubscriberWebhook(RequestModel):
    """Where the messages of a subscriber go."""

    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    digest_seconds: DigestSeconds | None = None


ENDPOINT = "Of the webhooks with this URL, or on this host, with or without a port."


class ReplayWanted(RequestModel):
    """Which failed deliveries are to be tried again; all, if nothing is said."""

    subscription: Name | None = None
    endpoint: Annotated[str, Field(min_length=1, max_length=2_000, description=ENDPOINT)] | None = None
    since: Annotated[Moment, Field(description="Given up at this time or later.")] | None = None
    until: Annotated[Moment, Field(description="Given up before this time.")] | None = None


class FailedAnswer(BaseModel):
    """A notification that its webhook did not take."""

    notification_id: str
    subscription_id: str
    seq: int
    at: datetime
    attempts: int
    error: str
    next_attempt: datetime | None


class ReplayedAnswer(BaseModel):
    """How many failed deliveries are tried again, and how many stay as they are.

    Those of a paused webhook are tried when it is resumed. Those stay whose receiver has refused.
    """

    replayed: int
    left: int


class WebhookAnswer(BaseModel):
    """A webhook: its state, why and since when, what failed in a row, notifications that wait and that failed."""

    subscription_id: str
    url: str
    state: WebhookState
    reason: str | None
    since: datetime | None
    digest_seconds: float | None = None
    failures: int
    failed_calls: int
    waiting: int
    failed: int


class SubscriberWebhookAnswer(WebhookAnswer):
    """A new webhook of a subscriber, with the secret that signs its calls."""

    secret: str


class WebhooksAnswer(BaseModel):
    """A page of webhooks; `next` is the `after` of the next one."""

    items: list[WebhookAnswer]
    next: str | None


class FailedPageAnswer(BaseModel):
    """A page of them, in the order of `seq`; `next` is the `after` of the next one."""

    items: list[FailedAnswer]
    next: int | None
