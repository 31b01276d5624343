"""Webhooks: their state, and resuming those that are paused or were refused."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from tamis.errors import SubscriptionError
from tamis.service.api import serializers
from tamis.service.api.auth import CurrentService, Subscriber, in_thread
from tamis.service.api.models.webhooks import (
    SubscriberWebhook,
    SubscriberWebhookAnswer,
    WebhookAnswer,
    WebhooksAnswer,
)
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import NotFound
from tamis.service.names import SUBSCRIBER, qualified_name
from tamis.service.webhooks.records import WebhookState

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], responses=RESPONSES)

Id = Annotated[str, Path(description="The id of the webhook's subscription, or @ and the name of a subscriber.")]


@router.get("", response_model=WebhooksAnswer)
async def page(
    caller: Subscriber,
    service: CurrentService,
    state: Annotated[WebhookState | None, Query(description="Those in this state only.")] = None,
    after: Annotated[str, Query(description="The `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Webhooks in the order of their subscriptions' ids, with the deliveries that wait and that failed."""
    start = qualified_name(caller.tenant, after)
    options = {"tenant": caller.tenant, "state": state, "after": start, "limit": limit}
    found = await in_thread(lambda: service.webhooks.statuses(**options))
    items = [serializers.webhook_status(each) for each in found]
    return {"items": items, "next": items[-1]["subscription_id"] if len(items) == limit else None}


@router.get("/{id}", response_model=WebhookAnswer)
async def get(id: Id, caller: Subscriber, service: CurrentService) -> Any:
    """The webhook of a subscription."""
    return await in_thread(_status, service, caller.tenant, id)


@router.put("/{id}", status_code=201, response_model=SubscriberWebhookAnswer)
async def put(id: Id, wanted: SubscriberWebhook, caller: Subscriber, service: CurrentService) -> Any:
    """Deliver the messages of a subscriber, `@` and its name, from now on; the answer shows the secret once."""
    receiver = (wanted.url, wanted.digest_seconds)
    secret = await in_thread(service.subscriptions.deliver_to, caller.tenant, _subscriber(id), *receiver)
    service.deliverer.wake([qualified_name(caller.tenant, id)])
    return {**await in_thread(_status, service, caller.tenant, id), "secret": secret}


@router.delete("/{id}", status_code=204)
async def remove(id: Id, caller: Subscriber, service: CurrentService) -> None:
    """Deliver the messages of a subscriber, `@` and its name, no longer; they stay in the feed."""
    if not await in_thread(service.webhooks.remove, qualified_name(caller.tenant, _subscriber(id))):
        msg = f"there is no webhook of {id!r}"
        raise NotFound(msg)


@router.post("/{id}/resume", status_code=202, response_model=WebhookAnswer)
async def resume(id: Id, caller: Subscriber, service: CurrentService) -> Any:
    """Ask a receiver once more whether it agrees, after a pause or a refusal; if so, deliver what has waited."""

    def work() -> Any:
        _status(service, caller.tenant, id)
        service.subscriptions.resume_webhook(caller.tenant, id)
        return _status(service, caller.tenant, id)

    answer = await in_thread(work)
    service.deliverer.wake([qualified_name(caller.tenant, id)])
    return answer


def _subscriber(id: str) -> str:
    """`@` and the name of a subscriber; webhooks of subscriptions are made and end with them."""
    if not id.removeprefix(SUBSCRIBER) or not id.startswith(SUBSCRIBER):
        msg = (
            f"expected @ and the name of a subscriber, found {id!r}; a subscription has its webhook in `delivery`"
        )
        raise SubscriptionError(msg)
    return id


def _status(service: Service, tenant: str, id: str) -> dict[str, Any]:
    found = service.webhooks.statuses(subscription_id=qualified_name(tenant, id))
    if not found:
        msg = f"there is no webhook of a subscription {id!r}"
        raise NotFound(msg)
    return serializers.webhook_status(found[0])
