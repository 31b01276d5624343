"""Calls that try a condition without subscribing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.client.answers import Explanation, Finding, Tested
from tamis.client.calls.base import Call, given, post
from tamis.client.errors import INVALID, ClientError
from tamis.client.reading import items, member, read

_FOLDER = "/v1/conditions"


def lint(condition: str, *, event_type: str | None = None) -> Call[tuple[Finding, ...]]:
    """What is wrong with a condition, or surely not meant; nothing if it is good.

    Args:
        condition: Its text.
        event_type: Name of a declared type; by default the schemaless one.
    """
    body = {"condition": condition, **given(event_type=event_type)}
    return post(
        f"{_FOLDER}/lint", lambda answer: items(Finding, member(answer, "findings")), body, repeatable=True
    )


def explain(
    *,
    condition: str | None = None,
    subscription: str | None = None,
    event: Mapping[str, Any] | None = None,
    event_id: str | None = None,
    event_type: str | None = None,
) -> Call[Explanation]:
    """Why an event satisfies a condition, or why not.

    Args:
        condition: Its text; or else
        subscription: The id of a subscription that has it.
        event: What the event says; or else
        event_id: The id of a published one.
        event_type: Name of the event's type.

    Raises:
        ClientError: "condition" with its problems, "not-found".
    """
    if (condition is None) == (subscription is None):
        msg = "expected a condition or a subscription to explain"
        raise ClientError(None, INVALID, msg)
    if (event is None) == (event_id is None):
        msg = "expected an event or an event's id to explain"
        raise ClientError(None, INVALID, msg)
    what = given(condition=condition, subscription=subscription, event=event, event_id=event_id)
    body = what | given(event_type=event_type)
    return post(f"{_FOLDER}/explain", lambda answer: read(Explanation, answer), body, repeatable=True)


def test(
    condition: str,
    *,
    event_type: str | None = None,
    last: int | None = None,
    events: Iterable[Mapping[str, Any]] | None = None,
) -> Call[Tested]:
    """How many of the last events, or of some that are given, satisfy a condition.

    Args:
        condition: Its text.
        event_type: Name of a declared type; by default the schemaless one.
        last: On how many of the last events; by default 1,000, at most 10,000.
        events: On these instead, which need not have been published.

    Raises:
        ClientError: "condition" with its problems, "not-found" if there is no such type.
    """
    if last is not None and events is not None:
        msg = "expected the last events or events to test on, found both"
        raise ClientError(None, INVALID, msg)
    tried = None if events is None else [*events]
    body = {"condition": condition, **given(event_type=event_type, last=last, events=tried)}
    return post(f"{_FOLDER}/test", lambda answer: read(Tested, answer), body, repeatable=True)
