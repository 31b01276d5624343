"""Failed deliveries and dead letters: listing them, and replaying them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from tamis.service.api.auth import CurrentService, Subscriber, in_thread
from tamis.service.api.models.events import DeadLettersAnswer
from tamis.service.api.models.fields import Moment
from tamis.service.api.models.webhooks import ENDPOINT, FailedPageAnswer, ReplayedAnswer, ReplayWanted
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import NotFound
from tamis.service.feed import FeedDeadLetter
from tamis.service.inbox import Arrival
from tamis.service.names import local_name, qualified_name
from tamis.service.webhooks.failed_filter import FailedFilter
from tamis.service.webhooks.records import ParkedDelivery
from tamis.store.records import microseconds, moment

router = APIRouter(prefix="/v1", tags=["what went wrong"], responses=RESPONSES)


@router.get(
    "/deliveries/failed",
    response_model=FailedPageAnswer,
    operation_id="failed_v1_deliveries_failed_get",  # generated clients know it by this name
)
async def failed_deliveries(
    caller: Subscriber,
    service: CurrentService,
    subscription: Annotated[str | None, Query(description="Those of this subscription only.")] = None,
    endpoint: Annotated[str | None, Query(max_length=2_000, description=ENDPOINT)] = None,
    since: Annotated[Moment | None, Query(description="Given up at this time or later.")] = None,
    until: Annotated[Moment | None, Query(description="Given up before this time.")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="The `next` of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Notifications that could not be delivered to their webhooks, after all attempts."""
    which = failed_filter(caller.tenant, subscription, since, until, endpoint)
    found = await in_thread(service.webhooks.parked_deliveries, which, after=after, limit=limit)
    items = [serialize_failure(each) for each in found]
    return {"items": items, "next": items[-1]["seq"] if len(items) == limit else None}


@router.post("/deliveries/replay", status_code=202, response_model=ReplayedAnswer)
async def replay_many(caller: Subscriber, service: CurrentService, wanted: ReplayWanted | None = None) -> Any:
    """Deliver all failed deliveries once more, or those of a subscription, an endpoint or a span of time."""
    given = wanted or ReplayWanted()
    which = failed_filter(caller.tenant, given.subscription, given.since, given.until, given.endpoint)
    result = await in_thread(service.webhooks.replay_many, which)
    service.deliverer.wake(result.subscription_ids)
    return {"replayed": result.replayed, "left": result.left}


@router.post("/deliveries/{id}/replay", status_code=202)
async def replay(id: str, caller: Subscriber, service: CurrentService) -> Response:
    """Deliver a notification by webhook once more, under the same id."""
    subscription = await in_thread(service.webhooks.replay, id, tenant=caller.tenant)
    service.deliverer.wake([subscription])
    return Response(status_code=202)


@router.get(
    "/dead-letters",
    response_model=DeadLettersAnswer,
    operation_id="bad_events_v1_dead_letters_get",  # generated clients know it by this name
)
async def dead_letters(
    caller: Subscriber,
    service: CurrentService,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Events that could not be matched, the newest first."""
    found = await in_thread(service.feed.dead_letters, caller.tenant, before=before, limit=limit)
    items = [serialize_dead_letter(each) for each in found]
    return {"items": items, "next": items[-1]["number"] if len(items) == limit else None}


@router.post(
    "/dead-letters/{id}/replay",
    status_code=202,
    operation_id="replay_bad_event_v1_dead_letters__id__replay_post",  # generated clients know it by this name
)
async def replay_dead_letter(id: str, caller: Subscriber, service: CurrentService) -> Response:
    """Match a dead letter again, after its cause has been repaired."""
    await in_thread(_publish_again, service, caller.tenant, id)
    return Response(status_code=202)


def failed_filter(
    tenant: str,
    subscription: str | None,
    since: datetime | None,
    until: datetime | None,
    endpoint: str | None = None,
) -> FailedFilter:
    """The filter of a tenant's failed deliveries, of names and times as the tenant gives them."""
    return FailedFilter(
        tenant,
        None if subscription is None else qualified_name(tenant, subscription),
        None if since is None else microseconds(since),
        None if until is None else microseconds(until),
        endpoint,
    )


def serialize_failure(of: ParkedDelivery) -> dict[str, Any]:
    """A failed delivery in the names of its tenant."""
    times = {"at": moment(of.at), "next_attempt": moment(of.next_attempt)}
    return {**asdict(of), "subscription_id": local_name(of.subscription_id), **times}


def serialize_dead_letter(of: FeedDeadLetter) -> dict[str, Any]:
    """A dead letter; bytes of the original that are not UTF-8 are replaced."""
    answer = asdict(of)
    answer["number"] = answer.pop("seq")
    return answer | {"original": of.original.decode("utf-8", "replace")}


def _publish_again(service: Service, tenant: str, id: str) -> None:
    letter = service.feed.dead_letter(tenant, id)
    if letter is None:
        msg = f"there is no dead letter {id!r}"
        raise NotFound(msg)
    name = qualified_name(tenant, letter.event_id or "")
    accepted = service.inbox.get([name]).get(name)
    event_type = qualified_name(tenant, "event") if accepted is None else accepted.event_type
    service.inbox.append([Arrival(name, event_type, letter.original)], replay=True)
    service.feed.forget_dead_letter(tenant, id)
