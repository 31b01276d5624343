"""Calls that try a condition without subscribing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.client.calls.base import ApiCall, post, without_none
from tamis.client.decoding import decode, decode_items, member
from tamis.client.errors import INVALID, ClientError
from tamis.client.models import Explanation, Finding, Matched, MatchedEvents, Tested

_FOLDER = "/v1/conditions"


def lint(
    condition: str, *, event_type: str | None = None, dialect: str | None = None
) -> ApiCall[tuple[Finding, ...]]:
    """What is wrong with a condition, or surely not meant; nothing if it is good.

    Args:
        condition: Its text.
        event_type: Name of a declared type; by default the only declared one, else `event`.
        dialect: The language of the condition; by default SQL.
    """
    body = {"condition": condition, **without_none(event_type=event_type, dialect=dialect)}
    return post(
        f"{_FOLDER}/lint", lambda answer: decode_items(Finding, member(answer, "findings")), body, repeatable=True
    )


def explain(
    *,
    condition: str | None = None,
    subscription: str | None = None,
    event: Mapping[str, Any] | None = None,
    event_id: str | None = None,
    event_type: str | None = None,
    dialect: str | None = None,
) -> ApiCall[Explanation]:
    """Why an event satisfies a condition, or why not.

    Args:
        condition: Its text; or else
        subscription: The id of a subscription that has it.
        event: What the event says; or else
        event_id: The id of a published one.
        event_type: Name of the event's type.
        dialect: The language of a condition that is given; by default SQL.

    Raises:
        ClientError: "condition" with its problems, "not-found".
    """
    if (condition is None) == (subscription is None):
        msg = "expected a condition or a subscription to explain"
        raise ClientError(None, INVALID, msg)
    about = without_none(condition=condition, subscription=subscription, dialect=dialect)
    body = about | _event(event, event_id, event_type)
    return post(f"{_FOLDER}/explain", lambda answer: decode(Explanation, answer), body, repeatable=True)


def test(
    condition: str,
    *,
    event_type: str | None = None,
    last: int | None = None,
    events: Iterable[Mapping[str, Any]] | None = None,
    dialect: str | None = None,
) -> ApiCall[Tested]:
    """How many of the last events, or of some that are given, satisfy a condition.

    Args:
        condition: Its text.
        event_type: Name of a declared type; by default the only declared one, else `event`.
        last: On how many of the last events; by default 1,000, at most 10,000.
        events: On these instead, which need not have been published.
        dialect: The language of the condition; by default SQL.

    Raises:
        ClientError: "condition" with its problems, "not-found" if there is no such type.
    """
    if last is not None and events is not None:
        msg = "expected the last events or events to test on, found both"
        raise ClientError(None, INVALID, msg)
    tried = None if events is None else [*events]
    more = without_none(event_type=event_type, last=last, events=tried, dialect=dialect)
    body = {"condition": condition, **more}
    return post(f"{_FOLDER}/test", lambda answer: decode(Tested, answer), body, repeatable=True)


def match(
    event: Mapping[str, Any] | None = None, *, event_id: str | None = None, event_type: str | None = None
) -> ApiCall[Matched]:
    """Which active subscriptions an event satisfies, or would satisfy; nobody is notified.

    Args:
        event: What the event says; or else
        event_id: The id of a published one.
        event_type: Name of the event's type; by default its own, else the default of the tenant.

    Raises:
        ClientError: "not-found", "quota" if there are too many subscriptions to try in one request.
    """
    body = _event(event, event_id, event_type)
    return post(f"{_FOLDER}/match", lambda answer: decode(Matched, answer), body, repeatable=True)


def match_events(events: Iterable[Mapping[str, Any]], *, event_type: str | None = None) -> ApiCall[MatchedEvents]:
    """Which active subscriptions events satisfy now, event by event; nothing is written.

    Args:
        events: What the events say; at most 10,000.
        event_type: Name of their type; by default the only declared one, else `event`.

    Raises:
        ClientError: "not-found", "quota" if there are too many subscriptions to try in one request.
    """
    body = {"events": [*events], **without_none(event_type=event_type)}
    return post("/v1/match", lambda answer: decode(MatchedEvents, answer), body, repeatable=True)


def _event(event: Mapping[str, Any] | None, event_id: str | None, event_type: str | None) -> dict[str, Any]:
    """An event or its id, as the service wants it.

    Raises:
        ClientError: Neither is given, or both.
    """
    if (event is None) == (event_id is None):
        msg = "expected an event or an event's id"
        raise ClientError(None, INVALID, msg)
    return without_none(event=event, event_id=event_id, event_type=event_type)
