"""Records of webhooks: immutable values. Times are microseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tamis.errors import TamisError

WebhookState: TypeAlias = Literal["pending", "confirmed", "paused", "refused"]
AttemptOutcome: TypeAlias = Literal["delivered", "failed", "refused"]
DeliveryState: TypeAlias = Literal[
    "pull",
    "waiting",
    "retrying",
    "delivered",
    "failed",
    "replaying",
    "pending",
    "paused",
    "refused",
    "unrecorded",
]
Action: TypeAlias = Literal["confirm", "go on", "again", "park", "refuse"]


WebhookProblem: TypeAlias = Literal["unknown", "unwanted", "expired", "running", "invalid"]


class WebhookError(TamisError):
    """A webhook or a failed delivery is not there, or cannot do what it should.

    Attributes:
        detail: What is wrong, without the name of the subscription.
        kind: "unknown": there is no such webhook or failed delivery; "unwanted": the receiver has refused;
            "expired": the notification is no longer kept; "running": it needs not be resumed; "invalid": the
            receiver may not be called.
        subscription_id: Whose webhook it is, with the tenant in front unless it was renamed.
    """

    def __init__(self, detail: str, kind: WebhookProblem = "invalid", subscription_id: str | None = None) -> None:
        super().__init__(detail, kind, subscription_id)
        self.detail = detail
        self.kind: WebhookProblem = kind
        self.subscription_id = subscription_id

    def __str__(self) -> str:
        if self.subscription_id is None:
            return self.detail
        return f"webhook of subscription {self.subscription_id!r}: {self.detail}"

    def with_names(self, rename: Callable[[str], str]) -> WebhookError:
        """The same error with another name of the subscription."""
        name = None if self.subscription_id is None else rename(self.subscription_id)
        return WebhookError(self.detail, self.kind, name)


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where the notifications of a subscription go.

    Attributes:
        subscription_id: With the tenant in front.
        url: The receiver.
        secret: Calls are signed with it; never shown again.
        state: `pending` until the receiver has shaken hands; `refused` when it did not, or wants no more;
            `paused` when too many deliveries in a row have failed.
        reason: Why it is refused or paused.
        cursor: Everything up to this number of the feed was delivered or parked.
        attempts: How often that which comes next was tried.
        next_attempt: Not before this time.
        created: When it was made.
        failures: How many deliveries in a row have failed.
        since: When it came into its state, if that is on record.
        digest_seconds: How long notifications are gathered into one message; None for one message each.
        digest_upto: The number of the last notification of the digest that is being delivered, if one is.
        failed_calls: How many calls in a row have failed.
        failing_since: When the first of them did.
    """

    subscription_id: str
    url: str
    secret: str
    state: WebhookState
    reason: str | None
    cursor: int
    attempts: int
    next_attempt: int
    created: int
    failures: int
    since: int | None
    digest_seconds: float | None = None
    digest_upto: int | None = None
    failed_calls: int = 0
    failing_since: int | None = None


class FeedRow(NamedTuple):
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
    label: str | None
    attributes: str | None
    subscriber: str | None = None
    subscriptions: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
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
    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class ParkedDelivery:
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
class Digest:
    """Notifications that are one message.

    Attributes:
        after: It has what comes after this number of the feed.
        last: The last of them, whose id is that of the message.
        count: How many there are.
        first: The first few.
        counts: How many matches each subscription has, by its qualified id, the most first.
    """

    after: int
    last: FeedRow
    count: int
    first: tuple[FeedRow, ...]
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a webhook has to do next: a handshake if it is pending, or else these notifications, or a digest.

    Attributes:
        webhook: It.
        notifications: To be sent one by one.
        digest: To be sent as one.
        is_early: It has nothing to do before its `next_attempt`.
    """

    webhook: Webhook
    notifications: tuple[FeedRow, ...] = ()
    digest: Digest | None = None
    is_early: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """A parked notification that is to be tried again."""

    webhook: Webhook
    notification: FeedRow
    attempts: int
    tries: int
    next_attempt: int
    digest: Digest | None = None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of the wish to replay many.

    Attributes:
        replayed: How many will be tried again; those of a paused webhook when it is resumed.
        left: How many stay as they are: the receiver has refused, or the notification is not kept any more.
        subscription_ids: Whose they are that will be tried, for `Deliverer.wake`.
    """

    replayed: int
    left: int
    subscription_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """A webhook, and what it has yet to do.

    Attributes:
        webhook: It.
        waiting: How many notifications are neither delivered nor parked.
        failed: How many are parked.
    """

    webhook: Webhook
    waiting: int
    failed: int


@dataclass(frozen=True, slots=True)
class NotificationDelivery:
    """What became of a notification.

    Attributes:
        state: `pull`: nobody is called; `waiting` for its turn; `retrying` after a failed call; `delivered`;
            `failed`: parked; `replaying`: parked, and to be tried again; `pending`, `paused`, `refused`: the
            webhook is, and it is not delivered meanwhile; `unrecorded`: it is older than the webhook, or than what
            is kept of calls.
        reason: Why it is not delivered.
    """

    state: DeliveryState
    reason: str | None = None


class DueJob(NamedTuple):
    """That something is to be done: a turn of a webhook, or the replay of one notification.

    Of what may be done now, that with the higher priority is done first: the one of the next notification.
    """

    kind: Literal["turn", "replay"]
    id: str
    url: str
    at: int
    priority: int


@dataclass(frozen=True, slots=True)
class Transition:
    """An attempt and what follows from it, recorded as one.

    Attributes:
        attempt: What was done.
        created: When the webhook was made; a webhook that replaced it meanwhile is not changed.
        seq: The number of the notification in the feed; None for a handshake.
        then: What follows.
        next_attempt: When to try again, if that follows; after a digest, when the next one may go.
        is_replay: It was parked before.
        digest_after: Of a digest, the number that it begins after.
    """

    attempt: DeliveryAttempt
    created: int
    seq: int | None
    action: Action
    next_attempt: int = 0
    is_replay: bool = False
    digest_after: int | None = None
