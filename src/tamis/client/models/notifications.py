"""Notifications and what became of them, as the service answers them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tamis.client.models.subscriptions import Change
from tamis.client.models.webhooks import NotificationDelivery


@dataclass(frozen=True, slots=True)
class Notification:
    """An event that satisfied a condition.

    Attributes:
        seq: Its place among all notifications: a cursor.
        id: The same wherever and however often it is delivered.
        subscription_id: Whose condition it was.
        event_id: Which event.
        event_type: Name of the event's type.
        revision: Of the subscription, when it matched.
        version: Of the snapshot of subscriptions that it was matched with.
        matched_at: When the match was made.
        batch: The micro-batch that found it.
        event_time: The event's own time, its attribute `time`, if it has one.
        owner: The tenant.
        label: Of the subscription when it matched, if it had one.
        attributes: Of the event, those that the service's setting `keep_attributes` names.
        condition: Of the subscription when it matched, if that was asked for (`describe`); a long one is cut.
        delivery: What became of it until now, likewise.
        subscriber: Who gets one message for all of its subscriptions, if anybody.
        subscriptions: Of a message to a subscriber, what it names: `id`, `revision` and `label` of each.
    """

    seq: int
    id: str
    subscription_id: str
    event_id: str
    event_type: str
    revision: int
    version: int
    matched_at: datetime
    batch: int
    event_time: datetime | None = None
    owner: str | None = None
    label: str | None = None
    attributes: dict[str, Any] | None = None
    condition: str | None = None
    delivery: NotificationDelivery | None = None
    subscriber: str | None = None
    subscriptions: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of a webhook.

    Attributes:
        at: When.
        seconds: How long it took.
        attempt: The how manyth for this notification.
        outcome: "delivered", "failed" or "refused".
        status: What the receiver answered.
        error: Why there was no answer, or none that counts.
    """

    at: datetime
    seconds: float
    attempt: int
    outcome: str
    status: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything about one notification.

    Attributes:
        notification: It.
        event: What the event says.
        subscription: The subscription as it was when it matched.
        attempts: To deliver it by webhook.
        delivery: What became of it.
    """

    notification: Notification
    event: Any = None
    subscription: Change | None = None
    attempts: tuple[Attempt, ...] = ()
    delivery: NotificationDelivery | None = None


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A notification that could not be delivered to its webhook after all attempts.

    Attributes:
        notification_id: What `replay` needs.
        subscription_id: Whose it is.
        seq: Of the notification.
        at: When it was given up.
        attempts: How often it was tried.
        error: What the last attempt said.
        next_attempt: When it is tried again, if it is being replayed.
    """

    notification_id: str
    subscription_id: str
    seq: int
    at: datetime
    attempts: int
    error: str
    next_attempt: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that could not be matched.

    Attributes:
        number: Its place among all dead letters: a cursor.
        id: What `replay_dead_letter` needs.
        kind: Why, for programs.
        reason: Why, for people.
        at: When.
        original: The text that was published.
        batch: The micro-batch that found it.
        event_id: Of the event, if it has one.
    """

    number: int
    id: str
    kind: str
    reason: str
    at: datetime
    original: str
    batch: int
    event_id: str | None = None
