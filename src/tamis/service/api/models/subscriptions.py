"""Subscriptions: made, imported, changed, renewed, listed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tamis.service.api.models.fields import (
    ConditionText,
    DialectName,
    DigestSeconds,
    Moment,
    Name,
    Priority,
    RequestModel,
    Seconds,
    SubscriberName,
    Text,
    TypedRequestModel,
)
from tamis.service.webhooks.records import WebhookState


class DeliveryWanted(RequestModel):
    """How notifications are to be delivered."""

    kind: Literal["pull", "webhook"] = "pull"
    url: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    digest_seconds: DigestSeconds | None = None


class NewSubscription(TypedRequestModel):
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


class SubscriptionChange(TypedRequestModel):
    """What is to be changed; what is not named stays as it is."""

    condition: ConditionText = ""
    dialect: DialectName = "sql"
    event_type: Name = ""
    label: Text | None = None
    priority: Priority = 0
    valid_from: Moment | None = None
    expires: Moment | None = None
    subscriber: SubscriberName | None = None


class Renewal(RequestModel):
    """How much longer; as long as a new subscription, if nothing is said."""

    valid_for: Seconds | None = None
    expires: Moment | None = None


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


class ChangedAnswer(SubscriptionAnswer):
    """A subscription after a change."""

    warnings: Annotated[list[dict[str, Any]], Field(description="Findings, as those of lint.")] = []


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
