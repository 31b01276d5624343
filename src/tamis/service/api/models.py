"""What requests and answers are made of, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NaiveDatetime

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\u0000]+$")]
Text = Annotated[str, Field(max_length=1_000, pattern=r"^[^\u0000]*$")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0.001, le=1e9)]
Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]
"""What a tenant may call a thing."""
ConditionText = Annotated[str, Field(max_length=1_000_000, description="A SQL WHERE clause.")]
Moment = AwareDatetime | NaiveDatetime
"""A time; in UTC if it has no zone."""


class Wanted(BaseModel):
    """The body of a request: nothing in it is passed over."""

    model_config = ConfigDict(extra="forbid")


class DeliveryWanted(Wanted):
    """How notifications shall come."""

    kind: Literal["pull", "webhook"] = "pull"
    url: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None


class NewSubscription(Wanted):
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
    id: Name | None = None
    event_type: Name | None = None
    label: Text | None = None
    priority: Priority | None = None
    valid_from: Moment | None = None
    expires: Moment | None = None
    valid_for: Annotated[Seconds, Field(description="Seconds; a day, if nothing is said.")] | None = None
    delivery: DeliveryWanted | None = None


class SubscriptionChange(Wanted):
    """What is to be changed; what is not named stays as it is."""

    condition: ConditionText = ""
    event_type: Name = ""
    label: Text | None = None
    priority: Priority = 0
    valid_from: Moment | None = None
    expires: Moment | None = None


class Renewal(Wanted):
    """How much longer; a day, if nothing is said."""

    valid_for: Seconds | None = None
    expires: Moment | None = None


class ConditionGiven(Wanted):
    """A condition to look at."""

    condition: ConditionText
    event_type: Name | None = None


class TestWanted(ConditionGiven):
    """A condition to be tried on recent events, or on events given here."""

    last: Annotated[int, Field(ge=1, le=10_000)] = 1_000
    events: Annotated[list[dict[str, Any]], Field(max_length=10_000)] | None = None


class ExplanationWanted(Wanted):
    """A condition or a subscription, and an event or the id of one."""

    condition: ConditionText | None = None
    subscription: Name | None = None
    event: dict[str, Any] | None = None
    event_id: Annotated[str, Field(max_length=600, pattern=r"^[^\u0000]*$")] | None = None
    event_type: Name | None = None


class NewToken(Wanted):
    """A token to be made."""

    role: Literal["publish", "subscribe", "admin"] | None = None
    roles: list[Literal["publish", "subscribe", "admin"]] = []
    label: Text = ""
    tenant: Name | None = None


class RightsGiven(Wanted):
    """What a tenant may use; null is no limit, and what is not named is as for every new tenant."""

    subscriptions: Annotated[int, Field(ge=1)] | None = 1_000_000
    requests_per_second: Rate | None = None
    events_per_second: Rate | None = None
    matches_per_minute: Annotated[int, Field(ge=1)] | None = None
    operators: list[str] | None = None


# --- answers -----------------------------------------------------------------------------------------------------


class DeliveryAnswer(BaseModel):
    """How notifications come."""

    kind: Literal["pull", "webhook"]
    url: str | None = None
    state: str | None = None
    reason: str | None = None


class SubscriptionAnswer(BaseModel):
    """A subscription."""

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
    delivery: DeliveryAnswer


class SubscribedAnswer(BaseModel):
    """A new subscription; the ticket and the secret of its webhook are told here and nowhere else."""

    subscription: SubscriptionAnswer
    ticket: str
    secret: str | None = None


class SubscriptionsAnswer(BaseModel):
    """A page of subscriptions; `next` is the `after` of the next one."""

    items: list[SubscriptionAnswer]
    next: str | None


class ChangeAnswer(BaseModel):
    """A change of a subscription, and how it was after it."""

    kind: str
    version: int
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


class HistoryAnswer(BaseModel):
    """All changes, the oldest first."""

    items: list[ChangeAnswer]


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
    refusals: list[RefusalAnswer]
    tickets: dict[str, str]


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


class NotificationAnswer(BaseModel):
    """A match."""

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


class NotificationsAnswer(BaseModel):
    """Notifications in the order of `seq`; `next` is the `after` to go on from."""

    items: list[NotificationAnswer]
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
    """A published event and whom it concerned."""

    notifications: list[NotificationAnswer]


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
    """A token; `token` itself is told when it is made, and nowhere else."""

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
