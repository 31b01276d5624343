"""Notifications, and how each came about and was delivered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tamis.service.api.models.subscriptions import ChangeAnswer
from tamis.service.webhooks.records import DeliveryState


class NamedSubscription(BaseModel):
    """A subscription in a message to its subscriber, as it was when it matched."""

    id: str
    revision: int
    label: str | None


class NotificationAnswer(BaseModel):
    """A notification: an event that satisfied a condition."""

    seq: int
    id: str
    subscription_id: str
    event_id: str
    event_type: str
    revision: int
    version: int
    event_time: datetime | None
    matched_at: datetime
    batch: int
    owner: Annotated[str, Field(description="The tenant.")]
    label: Annotated[str | None, Field(description="Of the subscription, when it matched.")]
    attributes: Annotated[
        dict[str, Any] | None,
        Field(description="Of the event, those that `keep_attributes` of the service names."),
    ]
    subscriber: Annotated[
        str | None, Field(description="Who gets one message for all of its subscriptions, if anybody.")
    ] = None
    subscriptions: Annotated[
        list[NamedSubscription] | None, Field(description="Of a message to a subscriber, what it names.")
    ] = None


class NotificationDeliveryAnswer(BaseModel):
    """What became of a notification, and why it is not delivered."""

    state: DeliveryState
    reason: str | None


class DescribedNotificationAnswer(NotificationAnswer):
    """A notification in the feed; with its condition, and its delivery until now, if they were asked for."""

    condition: str | None = None
    delivery: NotificationDeliveryAnswer | None = None


class NotificationsAnswer(BaseModel):
    """Notifications in the order of `seq`; `next` is the `after` to go on from."""

    items: list[DescribedNotificationAnswer]
    next: int


class AttemptAnswer(BaseModel):
    """One call of a webhook."""

    at: datetime
    seconds: float
    attempt: int
    status: int | None
    error: str | None
    outcome: str


class TraceAnswer(NotificationAnswer):
    """A notification, and everything it came from and led to."""

    event: Any
    subscription: ChangeAnswer | None
    delivery: NotificationDeliveryAnswer
    attempts: list[AttemptAnswer]
