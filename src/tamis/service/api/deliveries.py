"""What went wrong, and how to try it again: deliveries that failed, events that could not be matched."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from tamis.service.api import models
from tamis.service.api.problems import RESPONSES
from tamis.service.api.who import Asked, Subscriber, in_thread
from tamis.service.core import Service
from tamis.service.feed import BadEvent
from tamis.service.inbox import Arrival
from tamis.service.names import inside, outside
from tamis.service.problems import NotFound
from tamis.service.webhooks.records import Failed, WebhookError
from tamis.store.records import moment

router = APIRouter(prefix="/v1", tags=["what went wrong"], responses=RESPONSES)


@router.get("/deliveries/failed", response_model=models.FailedPageAnswer)
async def failed(
    caller: Subscriber,
    service: Asked,
    after: Annotated[int, Query(ge=0, le=2**62, description="The `next` of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Notifications that their webhooks did not take, however often they were tried."""
    found = await in_thread(service.webhooks.failed, tenant=caller.tenant, after=after, limit=limit)
    items = [failure(each) for each in found]
    return {"items": items, "next": items[-1]["seq"] if len(items) == limit else None}


@router.post("/deliveries/{id}/replay", status_code=202)
async def replay(id: str, caller: Subscriber, service: Asked) -> Response:
    """Deliver a notification by webhook once more, under the same id."""
    try:
        subscription = await in_thread(service.webhooks.replay, id, tenant=caller.tenant)
    except WebhookError as error:
        if str(error).startswith("there is no"):
            raise NotFound(str(error)) from error
        raise
    service.deliverer.wake([subscription])
    return Response(status_code=202)


@router.get("/dead-letters", response_model=models.BadEventsAnswer)
async def bad_events(
    caller: Subscriber,
    service: Asked,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Events that could not be matched, the newest first."""
    found = await in_thread(service.feed.bad_events, caller.tenant, before=before, limit=limit)
    items = [bad_event(each) for each in found]
    return {"items": items, "next": items[-1]["number"] if len(items) == limit else None}


@router.post("/dead-letters/{id}/replay", status_code=202)
async def replay_bad_event(id: str, caller: Subscriber, service: Asked) -> Response:
    """Match a bad event again, after what was wrong has been put right."""
    await in_thread(_publish_again, service, caller.tenant, id)
    return Response(status_code=202)


def failure(of: Failed) -> dict[str, Any]:
    """A failed delivery, as its owner sees it."""
    times = {"at": moment(of.at), "next_attempt": moment(of.next_attempt)}
    return {**asdict(of), "subscription_id": outside(of.subscription_id), **times}


def bad_event(of: BadEvent) -> dict[str, Any]:
    """A bad event, its text as far as it is one."""
    answer = asdict(of)
    answer["number"] = answer.pop("seq")
    return answer | {"original": of.original.decode("utf-8", "replace")}


def _publish_again(service: Service, tenant: str, id: str) -> None:
    bad = service.feed.bad_event(tenant, id)
    if bad is None:
        msg = f"there is no bad event {id!r}"
        raise NotFound(msg)
    name = inside(tenant, bad.event_id or "")
    accepted = service.inbox.get([name]).get(name)
    event_type = inside(tenant, "event") if accepted is None else accepted.event_type
    service.inbox.append([Arrival(name, event_type, bad.original)], replay=True)
    service.feed.forget_bad(tenant, id)
