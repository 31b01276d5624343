"""Calls about subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from tamis.client.calls.base import JSON_LINES, ApiCall, Listing, as_json, delete, get, post, under, without_none
from tamis.client.decoding import decode, decode_items, member
from tamis.client.errors import INVALID, ClientError
from tamis.client.models import Change, Imported, Subscribed, Subscription

_FOLDER = "/v1/subscriptions"
KEEP: Any = object()
"""Leave a field as it is; None takes away what it has."""


def subscribe(
    condition: str,
    *,
    id: str | None = None,
    event_type: str | None = None,
    label: str | None = None,
    priority: int | None = None,
    webhook: str | None = None,
    digest: timedelta | None = None,
    valid_for: timedelta | None = None,
    valid_from: datetime | None = None,
    expires: datetime | None = None,
    dialect: str | None = None,
    subscriber: str | None = None,
) -> ApiCall[Subscribed]:
    """Ask to be notified of events that satisfy a condition.

    It is sent once: if the connection breaks before the answer, the subscription may exist without anyone who
    holds its ticket; it ends with its validity.

    Args:
        condition: What to wait for.
        id: Its name; by default the service makes one up.
        event_type: Name of the type of the events; by default the only declared one, else `event`.
        label: What people call it.
        priority: Higher ones are reported first.
        webhook: Where to send notifications; without it, they are asked for.
        digest: Gather what the webhook sends for so long into one message; by default each is sent.
        valid_for: How long, from now; by default what the service says; a day, unless its settings say otherwise.
        valid_from: When it starts, by default at once.
        expires: When it ends, in place of `valid_for`.
        dialect: The language of the condition; by default SQL.
        subscriber: Who gets one message about an event that several of its subscriptions match.

    Returns:
        The subscription and its ticket, which nothing can show again.

    Raises:
        ClientError: "condition" with its problems, "conflict" if the id is taken, "quota".
    """
    gather = {} if digest is None else {"digest_seconds": digest.total_seconds()}
    delivery = None if webhook is None else {"kind": "webhook", "url": webhook, **gather}
    more = without_none(id=id, event_type=event_type, label=label, priority=priority, delivery=delivery)
    more |= without_none(dialect=dialect, subscriber=subscriber)
    times = _validity(valid_for, expires) | without_none(valid_from=valid_from)
    return post(_FOLDER, lambda answer: decode(Subscribed, answer), {"condition": condition, **more, **times})


def subscription(id: str) -> ApiCall[Subscription]:
    """One subscription.

    Raises:
        ClientError: "not-found".
    """
    return get(under(_FOLDER, id), _subscription)


def subscriptions(
    *,
    search: str | None = None,
    label: str | None = None,
    event_type: str | None = None,
    after: str | None = None,
    page: int = 500,
) -> Listing[Subscription]:
    """Subscriptions in the order of their ids, page after page as they are asked for.

    Args:
        search: Only those with this text in the id, the label or the condition.
        label: Only those with this label.
        event_type: Only those to this type.
        after: Only those whose ids come after this one.
        page: How many are fetched at a time.
    """
    query = {"search": search, "label": label, "event_type": event_type, "limit": page}
    return Listing(_FOLDER, Subscription, "after", query, after)


def change(
    id: str,
    ticket: str | None = None,
    *,
    condition: str = KEEP,
    event_type: str = KEEP,
    label: str | None = KEEP,
    priority: int = KEEP,
    valid_from: datetime | None = KEEP,
    expires: datetime | None = KEEP,
    dialect: str = KEEP,
    subscriber: str | None = KEEP,
) -> ApiCall[Subscription]:
    """Change what is given of a subscription, and leave the rest.

    Args:
        id: Of the subscription.
        ticket: That of the subscription; an administrator needs none.
        condition: What to wait for from now on.
        event_type: Name of the type of the events.
        label: What people call it; None for nothing.
        priority: Higher ones are reported first.
        valid_from: When it starts; None for at once.
        expires: When it ends; None for as long from now as a new one lasts.
        dialect: The language of the condition.
        subscriber: Who gets one message about an event for it and others; None for nobody.

    Raises:
        ClientError: "condition" with its problems, "not-found", "forbidden" without the right ticket.
    """
    fields: dict[str, Any] = {
        "condition": condition,
        "event_type": event_type,
        "label": label,
        "priority": priority,
    }
    fields |= {"valid_from": valid_from, "expires": expires, "dialect": dialect}
    fields["subscriber"] = subscriber
    body = as_json({name: value for name, value in fields.items() if value is not KEEP})
    return ApiCall("PATCH", under(_FOLDER, id), _subscription, body=body, ticket=ticket, repeatable=True)


def renew(
    id: str, ticket: str | None = None, *, valid_for: timedelta | None = None, expires: datetime | None = None
) -> ApiCall[Subscription]:
    """Make a subscription last longer.

    Args:
        id: Of the subscription.
        ticket: That of the subscription; an administrator needs none.
        valid_for: How long, from now; by default what the service says; a day, unless its settings say otherwise.
        expires: When it ends, in place of `valid_for`.

    Raises:
        ClientError: "not-found" if it has ended, "forbidden" without the right ticket.
    """
    return post(
        under(_FOLDER, id, "renew"), _subscription, _validity(valid_for, expires), ticket=ticket, repeatable=True
    )


def pause(id: str, ticket: str | None = None) -> ApiCall[Subscription]:
    """Leave a subscription out of matching until `resume`."""
    return post(under(_FOLDER, id, "pause"), _subscription, ticket=ticket, repeatable=True)


def resume(id: str, ticket: str | None = None) -> ApiCall[Subscription]:
    """Match a paused subscription again."""
    return post(under(_FOLDER, id, "resume"), _subscription, ticket=ticket, repeatable=True)


def unsubscribe(id: str, ticket: str | None = None) -> ApiCall[None]:
    """End a subscription.

    Raises:
        ClientError: "not-found", "forbidden" without the right ticket.
    """
    return delete(under(_FOLDER, id), ticket=ticket)


def history(id: str) -> ApiCall[tuple[Change, ...]]:
    """Every change of a subscription, the oldest first."""
    return get(under(_FOLDER, id, "history"), lambda answer: decode_items(Change, member(answer, "items")))


def import_many(
    records: Iterable[Mapping[str, Any] | Subscription], *, replace: bool = False
) -> ApiCall[Imported]:
    """Add many subscriptions at once.

    It is sent once: the tickets of an answer that is lost cannot be had again.

    Args:
        records: Each with `condition`, and what else `subscribe` takes under the names of the service; or what
            `export` gives.
        replace: Change those that are there already?

    Returns:
        How many were taken, which were refused and why, and the tickets of the new ones.
    """
    lines = [as_json(_record(each)) + b"\n" for each in records]
    path = f"{_FOLDER}/import"
    query = {"replace": True} if replace else {}
    return ApiCall("POST", path, lambda answer: decode(Imported, answer), query, b"".join(lines), JSON_LINES)


def export() -> ApiCall[Subscription]:
    """All subscriptions, one after the other as they arrive; `import_many` takes them."""
    return get(f"{_FOLDER}/export", _subscription)


def _subscription(answer: Any) -> Subscription:
    return decode(Subscription, answer)


def _validity(valid_for: timedelta | None, expires: datetime | None) -> dict[str, Any]:
    """How long, as the service wants it.

    Raises:
        ClientError: Both are given.
    """
    if valid_for is not None and expires is not None:
        msg = "expected valid_for or expires, found both"
        raise ClientError(None, INVALID, msg)
    if valid_for is None:
        return without_none(expires=expires)
    seconds = valid_for.total_seconds()
    return {"valid_for": int(seconds) if seconds.is_integer() else seconds}


def _record(record: Mapping[str, Any] | Subscription) -> Mapping[str, Any]:
    """What a subscription is made with, without what became of it."""
    if not isinstance(record, Subscription):
        return record
    url = record.delivery.url
    delivery = {"kind": record.delivery.kind, **({} if url is None else {"url": url})}
    return without_none(
        id=record.id,
        condition=record.condition,
        dialect=record.dialect,
        event_type=record.event_type,
        label=record.label,
        priority=record.priority,
        valid_from=record.valid_from,
        expires=record.expires,
        state=record.state,
        delivery=delivery,
    )
