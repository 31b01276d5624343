"""Models of requests and answers, which OpenAPI describes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, NaiveDatetime

from tamis.service.accounts import Conformity
from tamis.service.webhooks.records import DeliveryState, WebhookState

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\u0000]+$")]
Text = Annotated[str, Field(max_length=1_000, pattern=r"^[^\u0000]*$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0.001, le=1e9)]
Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]
"""What a tenant may call a thing."""
ConditionText = Annotated[
    str, Field(max_length=1_000_000, description="A SQL WHERE clause, or what the dialect says.")
]
DialectName = Annotated[str, Field(min_length=1, max_length=50, description="Of the condition; sql by default.")]


SubscriberName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^/\u0000]+$",
        description="Who gets one message about an event for all its subscriptions; null to stand alone.",
    ),
]


def _check_time_text(value: object) -> object:
    """Let only texts be times: pydantic takes numbers for seconds or milliseconds since 1970, as it guesses."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    msg = "expected a time, such as 2026-07-01T12:00:00Z"
    raise ValueError(msg)


Moment = Annotated[AwareDatetime | NaiveDatetime, BeforeValidator(_check_time_text)]
"""A time; in UTC if it has no zone."""


DigestSeconds = Annotated[
    Seconds, Field(description="Of a webhook: at most one message in so many seconds, with counts and the first.")
]


class RequestModel(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class DeliveryWanted(RequestModel):
    """How notifications are to be delivered."""

    kind: Literal["pull", "webhook"] = "pull"
    url: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    digest_seconds: DigestSeconds | None = None


class NewSubscription(RequestModel):
    """A subscription to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"condition": "price < 300 AND brand = 'Nikon'", "label": "a camera for Ann", "valid_for": 604800},
                {"condition": "price < 300", "id": "cheap", "delivery": {"kind": "pull"}},
            ]
        }
    )

    condition: ConditionText
    dialect: DialectName | None = None
    id: Name | None = None
    event_type: Name | None = None
    label: Text | None = None
    priority: Priority | None = None
    valid_from: Moment | None = None
    expires: Moment | None = None
    valid_for: (
        Annotated[Seconds, Field(description="Seconds; `validity_seconds` of the service if not given.")] | None
    ) = None
    delivery: DeliveryWanted | None = None
    subscriber: SubscriberName | None = None


class ImportedSubscription(NewSubscription):
    """A line of an import, which an export may have written."""

    state: Literal["active", "waiting", "paused"] | None = None


class SubscriptionChange(RequestModel):
    """What is to be changed; what is not named stays as it is."""

    condition: ConditionText = ""
    dialect: DialectName = "sql"
    event_type: Name = ""
    label: Text | None = None
    priority: Priority = 0
    valid_from: Moment | None = None
    expires: Moment | None = None
    subscriber: SubscriberName | None = None


class SubscriberWebhook(RequestModel):
    """Where the messages of a subscriber go."""

    url: Annotated[str, Field(min_length=1, max_length=2_000)]
    digest_seconds: DigestSeconds | None = None


class Renewal(RequestModel):
    """How much longer; as long as a new subscription, if nothing is said."""

    valid_for: Seconds | None = None
    expires: Moment | None = None


class ConditionGiven(RequestModel):
    """A condition to look at."""

    condition: ConditionText
    dialect: DialectName = "sql"
    event_type: Name | None = None


class TestWanted(ConditionGiven):
    """A condition to be tried on recent events, or on events given here."""

    last: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    events: Annotated[list[dict[str, Any]], Field(max_length=10_000)] | None = None


class EventGiven(RequestModel):
    """An event, or the id of a published one."""

    event: dict[str, Any] | None = None
    event_id: Annotated[str, Field(max_length=600, pattern=r"^[^\u0000]*$")] | None = None
    event_type: Name | None = None


class ExplanationWanted(EventGiven):
    """A condition or a subscription, and an event or the id of one."""

    condition: ConditionText | None = None
    dialect: DialectName = "sql"
    subscription: Name | None = None


class MatchesWanted(EventGiven):
    """An event or the id of one, to be matched with the subscriptions of its type."""


class EventsMatchWanted(RequestModel):
    """One or many events, to be matched with the subscriptions of their type."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"events": [{"price": 199}, {"price": 900}]}]})

    events: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=10_000)]
    event_type: Name | None = None


class ReplayWanted(RequestModel):
    """Which failed deliveries are to be tried again; all, if nothing is said."""

    subscription: Name | None = None
    since: Annotated[Moment, Field(description="Given up at this time or later.")] | None = None
    until: Annotated[Moment, Field(description="Given up before this time.")] | None = None


class NewToken(RequestModel):
    """A token to be made."""

    role: Literal["publish", "subscribe", "admin"] | None = None
    roles: list[Literal["publish", "subscribe", "admin"]] = []
    label: Text = ""
    tenant: Name | None = None


class RightsGiven(RequestModel):
    """What a tenant may use; null is no limit, and what is not named is as for every new tenant."""

    subscriptions: Annotated[int, Field(ge=1)] | None = 1_000_000
    requests_per_second: Rate | None = None
    events_per_second: Rate | None = None
    matches_per_minute: Annotated[int, Field(ge=1)] | None = None
    operators: list[str] | None = None
    conformity: Annotated[
        Conformity, Field(description="What becomes of events that are not as their publishers advertise.")
    ] = "off"


class AdvertisementGiven(ConditionGiven):
    """What a publisher says of its events."""

    token: Annotated[Name | None, Field(description="Of the publisher, if it is another's; needs `admin`.")] = None


class PeerGiven(RequestModel):
    """A neighbour: where its service is, and the token that both sides of the link know."""

    url: Text
    token: Text | None = None


# --- answers -----------------------------------------------------------------------------------------------------


class ReadyAnswer(BaseModel):
    """Whether events are matched as soon as they are published.

    `state` is that of the stream, `since` when it came into that state, `waits_for` what it waits for while it
    warms up. A stream that the service does not run itself is "elsewhere".
    """

    ready: bool
    state: Literal["warming up", "running", "failed", "stopped", "elsewhere", "stopping"]
    since: datetime | None = None
    waits_for: str | None = None


class DeliveryAnswer(BaseModel):
    """How notifications are delivered; of a webhook, its state, why it is in that state, and since when."""

    kind: Literal["pull", "webhook"]
    url: str | None = None
    state: WebhookState | None = None
    reason: str | None = None
    since: datetime | None = None
    digest_seconds: float | None = None


class SubscriptionAnswer(BaseModel):
    """A subscription as the service keeps it."""

    id: str
    revision: int
    condition: str
    event_type: str
    state: str
    label: str | None
    priority: int
    valid_from: datetime | None
    expires: datetime | None
    created: datetime
    changed: datetime
    refusal: str | None
    dialect: str
    subscriber: str | None = None
    delivery: DeliveryAnswer


class RenewalAnswer(BaseModel):
    """How to let a subscription last longer: this request, with its ticket in the header, before it ends."""

    before: datetime
    method: str
    path: str
    header: str


class SubscribedAnswer(BaseModel):
    """A new subscription. Only this answer shows its ticket and the secret of its webhook."""

    subscription: SubscriptionAnswer
    ticket: str
    secret: str | None = None
    renewal: RenewalAnswer
    warnings: Annotated[list[dict[str, Any]], Field(description="Findings, as those of lint.")] = []


class SubscriptionsAnswer(BaseModel):
    """A page of subscriptions; `next` is the `after` of the next one."""

    items: list[SubscriptionAnswer]
    next: str | None


class ChangeAnswer(BaseModel):
    """A change of a subscription, and how it was after it."""

    kind: str
    store_version: int
    at: datetime
    revision: int
    condition: str
    event_type: str
    label: str | None
    priority: int
    valid_from: datetime | None
    expires: datetime | None
    state: str
    refusal: str | None
    dialect: str
    actor: Annotated[str | None, Field(description="Who made it; null if it started or expired.")]


class HistoryAnswer(BaseModel):
    """All changes, the oldest first."""

    items: list[ChangeAnswer]


class OpenMatchAnswer(BaseModel):
    """A match of a composite subscription that has begun."""

    key: list[Any]
    found: int
    until: datetime
    reason: str
    first: str


class OpenAnswer(BaseModel):
    """What is open of a composite subscription; of many keys, some."""

    items: list[OpenMatchAnswer]


class RefusalAnswer(BaseModel):
    """A subscription that is refused."""

    id: str
    detail: str
    problems: list[dict[str, Any]] = []


class ImportAnswer(BaseModel):
    """What became of many."""

    added: int
    replaced: int
    edited: int
    unchanged: int
    event_types: dict[str, int]
    refusals: list[RefusalAnswer]
    warnings: list[str]
    tickets: dict[str, str]
    secrets: dict[str, str]


class MatchesAnswer(BaseModel):
    """The ids of those of so many subscriptions that an event satisfies."""

    event_type: str
    subscriptions: int
    ids: list[str]


class EventsMatchAnswer(BaseModel):
    """For each event, the ids of those of so many subscriptions that it satisfies."""

    event_type: str
    subscriptions: int
    matches: list[list[str]]


class RestoreAnswer(BaseModel):
    """How many records of a backup were restored, by kind, and which were refused."""

    tenant: int
    token: int
    event_type: int
    advertisement: int
    subscriber: int
    subscription: int
    refusals: list[RefusalAnswer]


class FindingsAnswer(BaseModel):
    """What there is to say of a condition."""

    findings: list[dict[str, Any]]


class TestAnswer(BaseModel):
    """What a condition would have matched."""

    events: int
    matched: int
    ids: list[str]


class ExplanationAnswer(BaseModel):
    """Why, or why not."""

    verdict: bool | None
    reason: str
    tree: dict[str, Any]
    text: str
    calls: list[dict[str, Any]] = []


class AcceptedAnswer(BaseModel):
    """Events that are on disk now."""

    accepted: int
    repeated: int
    ids: list[str]
    warnings: Annotated[
        list[str], Field(description="Which events are not as advertised, where the tenant is only warned.")
    ] = []


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


class EventAnswer(BaseModel):
    """A published event."""

    number: int
    id: str
    event_type: str
    at: datetime
    event: Any


class EventsAnswer(BaseModel):
    """A page of events, the newest first; `next` is the `before` of the next one."""

    items: list[EventAnswer]
    next: int | None


class EventDetailAnswer(EventAnswer):
    """A published event, whom it concerned, and what became of that."""

    notifications: list[DescribedNotificationAnswer]


class DeclaredAnswer(BaseModel):
    """An event type, and the subscriptions that it refuses or would refuse."""

    event_type: dict[str, Any]
    refused: list[RefusalAnswer]


class EventTypesAnswer(BaseModel):
    """All declared event types."""

    items: list[dict[str, Any]]


class AdvertisementAnswer(BaseModel):
    """What a publisher says of its events."""

    id: str
    condition: str
    event_type: str
    created: datetime
    token: Annotated[str | None, Field(description="The id of the publisher's token; null for all.")] = None


class ConformityAnswer(AdvertisementAnswer):
    """An advertisement, and how many of the last events of its type are as it says."""

    events: int
    conforming: int


class AdvertisementsAnswer(BaseModel):
    """All advertisements."""

    items: list[AdvertisementAnswer]


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
    """A webhook: its state, why and since when, failures in a row, notifications that wait and that failed."""

    subscription_id: str
    url: str
    state: WebhookState
    reason: str | None
    since: datetime | None
    digest_seconds: float | None = None
    failures: int
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


class BadEventAnswer(BaseModel):
    """An event that could not be matched."""

    number: int
    id: str
    event_id: str | None
    kind: str
    reason: str
    original: str
    at: datetime
    batch: int


class BadEventsAnswer(BaseModel):
    """A page of them, the newest first; `next` is the `before` of the next one."""

    items: list[BadEventAnswer]
    next: int | None


class TokenAnswer(BaseModel):
    """A token. `token`, its text, is in the answer that makes it and in no other."""

    id: str
    tenant: str
    roles: list[str]
    label: str
    created: datetime
    token: str | None = None


class TokensAnswer(BaseModel):
    """All tokens of a tenant."""

    items: list[TokenAnswer]


class TenantAnswer(BaseModel):
    """A tenant and what it may use."""

    name: str
    rights: RightsGiven


class TenantsAnswer(BaseModel):
    """All tenants."""

    items: list[TenantAnswer]


class PeerMadeAnswer(BaseModel):
    """A link, with the token that its other end needs."""

    name: str
    url: str
    token: str
    state: str


class PeerAnswer(BaseModel):
    """A link and how it is doing; counts of events are of those that are kept, or since the start."""

    name: str
    url: str
    origin: str
    state: str
    since: datetime | None
    kind: str | None
    reason: str | None
    reach: list[str]
    entries_in: int
    entries_in_bytes: int
    entries_out: int
    entries_out_bytes: int
    subscriptions_out: int
    is_over_budget: bool
    halvings: int
    announced_in: int | None
    announced_out: int | None
    backlog: int
    lag_seconds: float
    forwarded: int
    useful: int
    in_vain: int
    taken: int
    repeated: int
    refused: int
    looped: int


class PeersAnswer(BaseModel):
    """The links of a site."""

    site: str
    items: list[PeerAnswer]


class ForwardAnswer(BaseModel):
    """The way of an event to a neighbour: the entry that took it there, and what happened there."""

    link: str
    entry: str | None
    is_sent: bool
    outcome: Literal["useful", "in vain", "unknown"] | None
    there: RouteAnswer | None


class RouteAnswer(BaseModel):
    """What a site knows of an event: the sites before it, whom it concerned there, and the sites behind."""

    site: str
    event: str
    path: list[str]
    accepted: datetime
    is_matched: bool
    found: list[str]
    forwards: list[ForwardAnswer]


class RoutesAnswer(BaseModel):
    """The same of several events."""

    items: list[RouteAnswer | None]
