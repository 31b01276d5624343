"""What webhooks are made of: plain immutable values. Times are microseconds since 1970, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tamis.errors import TamisError

State: TypeAlias = Literal["pending", "confirmed", "refused"]
Outcome: TypeAlias = Literal["delivered", "failed", "refused"]
Then: TypeAlias = Literal["confirm", "go on", "again", "park", "refuse"]


class WebhookError(TamisError):
    """There is no such webhook or failed delivery, or it cannot do what it should."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where the notifications of a subscription go.

    Attributes:
        subscription_id: With the tenant in front.
        url: The receiver.
        secret: Calls are signed with it; never shown again.
        state: `pending` until the receiver has shaken hands; `refused` when it would not, or wants no more.
        reason: Why it is refused, or what was wrong with the last handshake.
        cursor: Everything up to this number of the feed was delivered or parked.
        attempts: How often that which comes next was tried.
        next_attempt: Not before this time.
        created: When it was made.
    """

    subscription_id: str
    url: str
    secret: str
    state: State
    reason: str | None
    cursor: int
    attempts: int
    next_attempt: int
    created: int


class Notification(NamedTuple):
    """A row of the feed."""

    seq: int
    id: str
    subscription_id: str
    event_id: str
    event_type: str
    revision: int
    version: int
    event_time: int | None
    matched_at: int
    batch: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call that was made, or would have been.

    Attributes:
        notification_id: What was sent; of a handshake, the id of that message.
        subscription_id: To whom.
        at: When it began.
        seconds: How long it took.
        attempt: Counted from 1.
        status: What the receiver answered, if it did.
        error: What was wrong, if it was not delivered.
        outcome: `refused`: the receiver wants no more (410), or its address may not be called.
    """

    notification_id: str
    subscription_id: str
    at: int
    seconds: float
    attempt: int
    status: int | None
    error: str | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Failed:
    """A notification that was parked.

    Attributes:
        notification_id: Of which.
        seq: Its number in the feed.
        subscription_id: To whom.
        at: When it was last given up.
        attempts: How often it was tried, replays included.
        error: What was wrong the last time.
        next_attempt: When it will be tried again, if it is being replayed.
    """

    notification_id: str
    seq: int
    subscription_id: str
    at: int
    attempts: int
    error: str
    next_attempt: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """What a webhook has to do next: a handshake if it is pending, or else these notifications."""

    webhook: Webhook
    notifications: tuple[Notification, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A parked notification that is to be tried again."""

    webhook: Webhook
    notification: Notification
    attempts: int
    tries: int
    next_attempt: int


class Due(NamedTuple):
    """That something is to be done: a turn of a webhook, or the replay of one notification."""

    kind: Literal["turn", "replay"]
    id: str
    url: str
    at: int


@dataclass(frozen=True, slots=True)
class Step:
    """An attempt and what follows from it, recorded as one.

    Attributes:
        attempt: What was done.
        created: Of the webhook; one that was made anew meanwhile is left alone.
        seq: The number of the notification in the feed; None for a handshake.
        then: What follows.
        next_attempt: When to try again, if that follows.
        is_replay: It was parked before.
    """

    attempt: Attempt
    created: int
    seq: int | None
    then: Then
    next_attempt: int = 0
    is_replay: bool = False
