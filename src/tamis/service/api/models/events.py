"""Events, their types, advertisements, and events that could not be read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tamis.service.api.models.conditions import ConditionGiven
from tamis.service.api.models.fields import Name
from tamis.service.api.models.notifications import DescribedNotificationAnswer
from tamis.service.api.models.subscriptions import RefusalAnswer


class AdvertisementGiven(ConditionGiven):
    """What a publisher says of its events."""

    token: Annotated[Name | None, Field(description="Of the publisher, if it is another's; needs `admin`.")] = None


class AcceptedAnswer(BaseModel):
    """Events that are on disk now."""

    accepted: int
    repeated: int
    ids: list[str]
    warnings: Annotated[
        list[str],
        Field(description="What was taken all the same: events that are not as advertised, an old name."),
    ] = []


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
    warnings: Annotated[
        list[str], Field(description="What becomes of events and subscriptions that name no type.")
    ] = []


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
