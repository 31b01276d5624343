"""Who may do what, as the service answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tamis.client.models.subscriptions import Refusal


@dataclass(frozen=True, slots=True)
class Token:
    """A token that lets a client in; the token itself is said only once, when it is made.

    Attributes:
        id: What `revoke_token` needs.
        tenant: For whom it speaks.
        roles: Some of "publish", "subscribe" and "admin".
        label: What people call it.
        created: When it was made.
        token: Itself, of a new one.
    """

    id: str
    tenant: str
    roles: tuple[str, ...]
    label: str
    created: datetime
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Rights:
    """What a tenant may use.

    Attributes:
        subscriptions: How many it may have; None for any number.
        requests_per_second: Of its clients together; None for any number.
        events_per_second: That it may publish; None for any number.
        matches_per_minute: Notifications of each of its subscriptions; None for any number.
        operators: That its conditions may call; None for all.
        conformity: What becomes of events that are not as advertised: "off", "warn" or "refuse".
    """

    subscriptions: int | None = 1_000_000
    requests_per_second: float | None = None
    events_per_second: float | None = None
    matches_per_minute: int | None = None
    operators: tuple[str, ...] | None = None
    conformity: str = "off"


@dataclass(frozen=True, slots=True)
class Tenant:
    """One of those who share a service, each by itself.

    Attributes:
        name: How it is called.
        rights: What it may use.
    """

    name: str
    rights: Rights


@dataclass(frozen=True, slots=True)
class Restored:
    """How many records of a backup were restored.

    Attributes:
        tenant: How many tenants.
        token: How many tokens.
        event_type: How many event types.
        advertisement: How many advertisements.
        subscriber: How many webhooks of subscribers.
        subscription: How many subscriptions.
        refusals: Those that were not, and why.
    """

    tenant: int
    token: int
    event_type: int
    advertisement: int
    subscription: int
    subscriber: int = 0
    refusals: tuple[Refusal, ...] = ()
