"""Events and their types, as the service answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tamis.client.models.notifications import Notification
from tamis.client.models.subscriptions import Refusal


@dataclass(frozen=True, slots=True)
class Accepted:
    """Published events that the service now keeps.

    Attributes:
        accepted: How many were new.
        repeated: How many it had already, by their ids; a publish that was sent twice is counted here.
        ids: Of all of them, in their order.
        warnings: Which are not as advertised, where the tenant is only warned.
    """

    accepted: int
    repeated: int
    ids: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """A published event.

    Attributes:
        number: Its place among all events.
        id: Its id.
        event_type: Name of its type.
        at: When it was published.
        event: What it says.
        notifications: Whom it concerned; asked for one event only.
    """

    number: int
    id: str
    event_type: str
    at: datetime
    event: Any
    notifications: tuple[Notification, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """An event type, and what it does to subscriptions.

    Attributes:
        event_type: As JSON: `name`, `time_zone`, `attributes`.
        refused: Subscriptions that it refuses; nothing was changed if it was a dry run.
    """

    event_type: Mapping[str, Any]
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Advertisement:
    """What a publisher says it will publish.

    Attributes:
        id: Its name.
        condition: Which all of its events satisfy.
        event_type: Name of their type.
        created: When it was last said.
        token: The id of the publisher's token; None for all publishers.
    """

    id: str
    condition: str
    event_type: str
    created: datetime
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Conformity:
    """What a publisher says it will publish, and what was published.

    Attributes:
        advertisement: What it says.
        events: How many of the last events of the type were looked at.
        conforming: How many of them are as it says.
    """

    advertisement: Advertisement
    events: int
    conforming: int
