"""Conditions before they are subscribed: what is wrong with them, what they would match, and why."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter

from tamis.errors import EventError
from tamis.events.conversion import clean
from tamis.service import judging
from tamis.service.api import models
from tamis.service.api.problems import RESPONSES
from tamis.service.api.who import Asked, Subscriber, in_thread
from tamis.service.core import Service
from tamis.service.names import inside, outside
from tamis.service.problems import NotFound

router = APIRouter(prefix="/v1/conditions", tags=["conditions"], responses=RESPONSES)


@router.post("/lint", response_model=models.FindingsAnswer)
async def lint(given: models.ConditionGiven, caller: Subscriber, service: Asked) -> Any:
    """Everything there is to say about a condition, with places; nothing if it is good."""

    def work() -> Any:
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        limits = service.subscriptions.limits(caller.tenant)
        return {"findings": judging.findings(given.condition, event_type, limits)}

    return await in_thread(work)


@router.post("/test", response_model=models.TestAnswer)
async def test(given: models.TestWanted, caller: Subscriber, service: Asked) -> Any:
    """How many of the last events, or of those given, would satisfy a condition."""

    def work() -> Any:
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        if given.events is None:
            recent = service.inbox.recent(caller.tenant, limit=given.last, event_type=event_type.name)
            events = [(outside(each.id), each.value) for each in recent]
        else:
            events = [
                (clean(str(each.get("id", place))), _line(each)) for place, each in enumerate(given.events, 1)
            ]
        limits = service.subscriptions.limits(caller.tenant)
        tried = judging.try_condition(given.condition, event_type, limits, events)
        return {"events": tried.events, "matched": tried.matched, "ids": tried.ids}

    return await in_thread(work)


@router.post("/explain", response_model=models.ExplanationAnswer)
async def explain(given: models.ExplanationWanted, caller: Subscriber, service: Asked) -> Any:
    """Why an event satisfies a condition, or why not."""

    def work() -> Any:
        condition, of_type = _condition(service, caller.tenant, given)
        event, event_type = _event(service, caller.tenant, given)
        named = service.subscriptions.event_type(caller.tenant, given.event_type or event_type or of_type)
        limits = service.subscriptions.limits(caller.tenant)
        found = judging.explained(condition, named, limits, event, subscription_id=given.subscription)
        told = found.to_dict()
        answer = {"verdict": found.tree.verdict, "reason": found.reason, "tree": told["tree"], "text": str(found)}
        return answer | {"calls": told.get("calls", [])}

    return await in_thread(work)


def _condition(service: Service, tenant: str, given: models.ExplanationWanted) -> tuple[str, str | None]:
    """The condition to explain, and the event type that goes with it."""
    if (given.condition is None) == (given.subscription is None):
        msg = "expected a condition or a subscription to explain, and not both"
        raise EventError(msg)
    if given.condition is not None:
        return given.condition, None
    stored = service.subscriptions.get(tenant, str(given.subscription))
    return stored.condition, stored.event_type


def _event(service: Service, tenant: str, given: models.ExplanationWanted) -> tuple[Any, str | None]:
    """The event to explain, and its type, if it was published."""
    if (given.event is None) == (given.event_id is None):
        msg = "expected an event or an event_id to explain, and not both"
        raise EventError(msg)
    if given.event is not None:
        return given.event, None
    name = inside(tenant, str(given.event_id))
    found = service.inbox.get([name]).get(name)
    if found is None:
        msg = f"there is no event {given.event_id!r}"
        raise NotFound(msg)
    return found.event(), outside(found.event_type)


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()
