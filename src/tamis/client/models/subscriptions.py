"""Subscriptions and conditions, as the service answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tamis.client.errors import ConditionProblem


@dataclass(frozen=True, slots=True)
class Delivery:
    """How notifications come.

    Attributes:
        kind: "pull": they are asked for; "webhook": they are sent.
        url: Where a webhook sends them.
        state: Of a webhook: "pending" until its receiver says that it wants them, then "confirmed", or "refused";
            "paused" after too many failed deliveries in a row.
        reason: Of a webhook: why it is refused or paused.
        since: Of a webhook: when it came into its state.
        digest_seconds: Of a webhook: for how long it gathers notifications into one message, if it does.
    """

    kind: str
    url: str | None = None
    state: str | None = None
    reason: str | None = None
    since: datetime | None = None
    digest_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription as the service keeps it.

    Attributes:
        id: Its name.
        revision: One more with each other condition, dialect or event type.
        condition: What it waits for.
        event_type: Name of the type of the events.
        state: "active", "waiting" for its `valid_from`, or "paused".
        label: What people call it.
        priority: Higher ones are reported first.
        valid_from: When it starts.
        expires: When it ends, unless it is renewed.
        created: When it was made.
        changed: When it was last changed.
        refusal: Why its event type refuses the condition now, if it does.
        delivery: How its notifications come.
        dialect: The language of the condition.
        subscriber: Who gets one message about an event that several of its subscriptions match, if anybody.
    """

    id: str
    revision: int
    condition: str
    event_type: str
    state: str
    label: str | None = None
    priority: int = 0
    valid_from: datetime | None = None
    expires: datetime | None = None
    created: datetime | None = None
    changed: datetime | None = None
    refusal: str | None = None
    delivery: Delivery = field(default_factory=lambda: Delivery("pull"))
    dialect: str = "sql"
    subscriber: str | None = None


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A new subscription, and what the service says only once.

    Attributes:
        subscription: It.
        ticket: What renewing, changing and cancelling it need.
        secret: What its webhook's calls are signed with.
        warnings: Findings, as those of lint.
    """

    subscription: Subscription
    ticket: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    warnings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a subscription, and the state after it.

    Attributes:
        kind: What was done: "add", "replace", "edit", "renew", "remove", "start", "expire", "refuse", "accept".
        revision: After the change, as everything below.
        condition: Its text.
        event_type: Name of the type of the events.
        at: When it was made.
        store_version: The version of the service's store that the change belongs to.
        label: What people call it.
        priority: Higher ones are reported first.
        valid_from: When it starts.
        expires: When it ends.
        state: What it then was.
        refusal: Why its event type refused the condition, if it did.
        actor: Who made it: a token by its id and label, and whether an administrator did without the ticket.
        dialect: The language of the condition.
    """

    kind: str
    revision: int
    condition: str
    event_type: str
    at: datetime | None = None
    store_version: int | None = None
    label: str | None = None
    priority: int = 0
    valid_from: datetime | None = None
    expires: datetime | None = None
    state: str | None = None
    refusal: str | None = None
    actor: str | None = None
    dialect: str = "sql"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A subscription that the service did not take, or no longer matches.

    Attributes:
        id: Its id.
        detail: Why, for people.
        problems: What is wrong with its condition, with places.
    """

    id: str
    detail: str
    problems: tuple[ConditionProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of many subscriptions.

    Attributes:
        added: How many were new.
        replaced: How many have another condition or event type now.
        edited: How many changed otherwise.
        unchanged: How many were there already, just so.
        refusals: Those that were not taken.
        event_types: How many of those taken there are of each event type.
        warnings: What else there is to say.
        tickets: Of the new ones, by id.
        secrets: What the calls of new webhooks are signed with, by id.
    """

    added: int
    replaced: int
    edited: int
    unchanged: int
    refusals: tuple[Refusal, ...] = ()
    event_types: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    tickets: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say about a condition: what is wrong with it, or surely not meant.

    Attributes:
        severity: "error" or "warning".
        code: What it is, for programs.
        message: What it is, for people.
        line: Where, from 1.
        column: Where, from 1.
        start: First character of the place.
        end: One past its last character.
        hint: What to write instead, when there is a guess.
    """

    severity: str
    code: str
    message: str
    line: int
    column: int
    start: int
    end: int
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an event satisfies a condition, or why not.

    Attributes:
        verdict: True, False, or None for unknown: SQL's NULL.
        reason: One sentence.
        tree: Every part of the condition: `text`, `verdict`, and where it has them `operator`, `values`, `parts`.
        text: The same for people, in lines.
        calls: Of operators: what each gave and costs.
    """

    verdict: bool | None
    reason: str
    tree: Mapping[str, Any]
    text: str
    calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Tested:
    """How a condition does on events.

    Attributes:
        events: How many it was tried on.
        matched: How many satisfy it.
        ids: Of the first of them.
        unknown: For how many it is NULL, which is an error in some dialects.
    """

    events: int
    matched: int
    ids: tuple[str, ...] = ()
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class MatchedEvents:
    """The subscriptions that events satisfy.

    Attributes:
        event_type: Name of the type as which they were read.
        subscriptions: How many were tried.
        matches: For each event, the ids of those that it satisfies.
        left_out: The ids that were not tried: composite ones, and those that the event type refuses.
    """

    event_type: str
    subscriptions: int
    matches: tuple[tuple[str, ...], ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matched:
    """The subscriptions that an event satisfies.

    Attributes:
        event_type: Name of the type as which it was read.
        subscriptions: How many were tried.
        ids: Of those that it satisfies.
    """

    event_type: str
    subscriptions: int
    ids: tuple[str, ...] = ()
