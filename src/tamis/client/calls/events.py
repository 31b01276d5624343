"""Calls about events, their types, and what publishers promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tamis.client.calls.base import JSON_LINES, ApiCall, Listing, delete, get, put, under, without_none
from tamis.client.decoding import decode, decode_items, member
from tamis.client.errors import INVALID, ClientError
from tamis.client.models import Accepted, Advertisement, Conformity, Declared, Event


def publish_lines(lines: bytes, event_type: str | None) -> ApiCall[Accepted]:
    """Publish events that have ids, as JSON lines.

    It may be sent twice: the service knows events by their ids.
    """
    return ApiCall(
        "POST",
        "/v1/events",
        lambda answer: decode(Accepted, answer),
        {"event_type": event_type},
        lines,
        JSON_LINES,
        repeatable=True,
    )


def event(id: str) -> ApiCall[Event]:
    """One published event, with its notifications.

    Raises:
        ClientError: "not-found".
    """
    return get(under("/v1/events", id), lambda answer: decode(Event, answer))


def events(*, before: int | None = None, page: int = 100) -> Listing[Event]:
    """Published events, the newest first, page after page as they are asked for.

    Args:
        before: Only those with a lower number.
        page: How many are fetched at a time.
    """
    return Listing("/v1/events", Event, "before", {"limit": page}, before)


def declare(event_type: Mapping[str, Any], *, dry_run: bool = False) -> ApiCall[Declared]:
    """Declare an event type, or change the one of that name.

    Args:
        event_type: As `EventType.to_dict` gives it: `name`, `attributes`, `time_zone`.
        dry_run: Only say what it would refuse?

    Returns:
        The type, and the subscriptions whose conditions it refuses: they stay, but are not matched.
    """
    name = event_type.get("name")
    if not isinstance(name, str):
        msg = f"expected an event type with a name, found the name {name!r}"
        raise ClientError(None, INVALID, msg)
    query = {"dry_run": True} if dry_run else {}
    return put(under("/v1/event-types", name), lambda answer: decode(Declared, answer), event_type, query)


def drop_event_type(name: str) -> ApiCall[None]:
    """Forget an event type that has no subscriptions and no advertisements any more.

    Raises:
        ClientError: "not-found", or "conflict" if something needs it.
    """
    return delete(under("/v1/event-types", name))


def event_type(name: str) -> ApiCall[Declared]:
    """A declared event type, as `EventType.from_dict` reads it, and the subscriptions that it refuses now.

    Raises:
        ClientError: "not-found".
    """
    return get(under("/v1/event-types", name), lambda answer: decode(Declared, answer))


def event_types() -> ApiCall[tuple[Mapping[str, Any], ...]]:
    """All declared event types, as `EventType.from_dict` reads them."""
    return get("/v1/event-types", lambda answer: tuple(member(answer, "items")))


def advertise(
    id: str, condition: str, *, event_type: str | None = None, token: str | None = None
) -> ApiCall[Advertisement]:
    """Say that all events of a publisher satisfy a condition, or another that it advertises.

    Args:
        id: Name of the advertisement.
        condition: What they satisfy.
        event_type: Name of their type.
        token: The id of the publisher's token; by default the client's own. Another's needs `admin`.

    Raises:
        ClientError: "condition" with its problems, "forbidden" if it is another publisher's.
    """
    body = {"condition": condition, **without_none(event_type=event_type, token=token)}
    return put(under("/v1/advertisements", id), lambda answer: decode(Advertisement, answer), body)


def advertisements() -> ApiCall[tuple[Advertisement, ...]]:
    """All advertisements of the tenant."""
    return get("/v1/advertisements", lambda answer: decode_items(Advertisement, member(answer, "items")))


def advertisement(id: str) -> ApiCall[Conformity]:
    """One advertisement, and how many of the last events of its type are as it says.

    Raises:
        ClientError: "not-found".
    """
    return get(under("/v1/advertisements", id), _conformity)


def withdraw(id: str) -> ApiCall[None]:
    """Take an advertisement back.

    Raises:
        ClientError: "not-found".
    """
    return delete(under("/v1/advertisements", id))


def _conformity(answer: Any) -> Conformity:
    counts = {name: member(answer, name) for name in ("events", "conforming")}
    return decode(Conformity, {"advertisement": answer, **counts}, "Advertisement")
