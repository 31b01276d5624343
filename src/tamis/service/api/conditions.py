"""Conditions before they are subscribed: what is wrong with them, what they would match, and why."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter

from tamis.errors import EventError
from tamis.events.conversion import clean
from tamis.language.dialects import has_state
from tamis.service import testing
from tamis.service.api.auth import CurrentService, Subscriber, in_thread
from tamis.service.api.models.conditions import (
    ConditionGiven,
    EventGiven,
    EventsMatchAnswer,
    EventsMatchWanted,
    ExplanationAnswer,
    ExplanationWanted,
    FindingsAnswer,
    MatchesAnswer,
    MatchesWanted,
    TestAnswer,
    TestWanted,
)
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import NotFound
from tamis.service.names import local_name, qualified_name

_TRIED = 10_000
"""Of the last events, so many are given to a composite subscription that is explained."""
_RECENT = 1_000
"""Of the last events, so many are looked at for attributes that a condition misspells."""

router = APIRouter(prefix="/v1/conditions", tags=["conditions"], responses=RESPONSES)
matching = APIRouter(prefix="/v1", tags=["conditions"], responses=RESPONSES)


@router.post("/lint", response_model=FindingsAnswer)
async def lint(given: ConditionGiven, caller: Subscriber, service: CurrentService) -> Any:
    """Everything there is to say about a condition, with places; nothing if it is good."""

    def work() -> Any:
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        limits = service.subscriptions.limits(caller.tenant)
        recent = []
        if event_type.attributes is None:
            recent = service.inbox.recent(caller.tenant, limit=_RECENT, event_type=event_type.name)
        lines = [each.value for each in recent]
        findings = testing.findings(given.condition, event_type, limits, lines, given.dialect)
        if all(each["severity"] != "error" for each in findings):
            more = service.advertising.finding(caller.tenant, event_type, given.condition, given.dialect)
            findings += [] if more is None else [more]
        return {"findings": findings}

    return await in_thread(work)


@router.post("/test", response_model=TestAnswer)
async def test(given: TestWanted, caller: Subscriber, service: CurrentService) -> Any:
    """How many of the last events, or of those given, would satisfy a condition."""

    def work() -> Any:
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        accepted: dict[str, datetime] = {}
        if given.events is None:
            recent = service.inbox.recent(caller.tenant, limit=given.last, event_type=event_type.name)
            events = [(local_name(each.id), each.value) for each in recent]
            accepted = {local_name(each.id): each.at for each in recent}
        else:
            events = [
                (clean(str(each.get("id", place))), _line(each)) for place, each in enumerate(given.events, 1)
            ]
        limits = service.subscriptions.limits(caller.tenant)
        tried = testing.count_matches(
            given.condition, event_type, limits, events, given.dialect, accepted=accepted
        )
        return {"events": tried.events, "matched": tried.matched, "ids": tried.ids, "unknown": tried.unknown}

    return await in_thread(work)


@router.post("/explain", response_model=ExplanationAnswer)
async def explain(given: ExplanationWanted, caller: Subscriber, service: CurrentService) -> Any:
    """Why an event satisfies a condition, or why not."""

    def work() -> Any:
        condition, dialect, of_type = _condition(service, caller.tenant, given)
        event, event_type = _event(service, caller.tenant, given)
        named = service.subscriptions.event_type(caller.tenant, given.event_type or event_type or of_type)
        limits = service.subscriptions.limits(caller.tenant)
        if has_state(dialect):
            recent = service.inbox.recent(caller.tenant, limit=_TRIED, event_type=named.name)
            events = [(local_name(each.id), each.value) for each in recent]
            accepted = {local_name(each.id): each.at for each in recent}
            own = given.event_id or ""
            if given.event is not None:
                own = "the event that is given"
                events.append((own, _line(given.event)))
                accepted[own] = datetime.now(UTC)
            trial = testing.try_events(condition, named, limits, events, own, accepted=accepted)
            text = str(trial)
            return {"verdict": bool(trial.matches), "reason": text, "tree": trial.to_dict(), "text": text}
        found = testing.explain_event(
            condition, named, limits, event, subscription_id=given.subscription, dialect=dialect
        )
        told = found.to_dict()
        answer = {"verdict": found.tree.verdict, "reason": found.reason, "tree": told["tree"], "text": str(found)}
        return answer | {"calls": told.get("calls", [])}

    return await in_thread(work)


@router.post("/match", response_model=MatchesAnswer)
async def match(given: MatchesWanted, caller: Subscriber, service: CurrentService) -> Any:
    """Which active subscriptions an event satisfies, or would satisfy; nobody is notified."""

    def work() -> Any:
        event, published_type = _event(service, caller.tenant, given)
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type or published_type)
        found = service.matching.match(caller.tenant, event_type, [event])
        return {
            "event_type": local_name(event_type.name),
            "subscriptions": found.subscriptions,
            "ids": found.ids[0],
        }

    return await in_thread(work)


@matching.post("/match", response_model=EventsMatchAnswer)
async def match_events(given: EventsMatchWanted, caller: Subscriber, service: CurrentService) -> Any:
    """Which active subscriptions events satisfy now, event by event. Nothing is written and nobody is notified."""

    def work() -> Any:
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        found = service.matching.match(caller.tenant, event_type, given.events)
        return {
            "event_type": local_name(event_type.name),
            "subscriptions": found.subscriptions,
            "matches": found.ids,
            "left_out": found.left_out,
        }

    return await in_thread(work)


def _condition(service: Service, tenant: str, given: ExplanationWanted) -> tuple[str, str, str | None]:
    """The condition to explain, its dialect, and the event type that goes with it."""
    if (given.condition is None) == (given.subscription is None):
        msg = "expected a condition or a subscription to explain, and not both"
        raise EventError(msg)
    if given.condition is not None:
        return given.condition, given.dialect, None
    stored = service.subscriptions.get(tenant, str(given.subscription))
    return stored.condition, stored.dialect, stored.event_type


def _event(service: Service, tenant: str, given: EventGiven) -> tuple[Any, str | None]:
    """The event that is given, and its type, if it was published."""
    if (given.event is None) == (given.event_id is None):
        msg = "expected an event or an event_id, and not both"
        raise EventError(msg)
    if given.event is not None:
        return given.event, None
    name = qualified_name(tenant, str(given.event_id))
    found = service.inbox.get([name]).get(name)
    if found is None:
        msg = f"there is no event {given.event_id!r}"
        raise NotFound(msg)
    return found.event(), local_name(found.event_type)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()
