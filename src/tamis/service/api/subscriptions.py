"""Subscribing, and everything that can be done with a subscription afterwards."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from tamis.errors import SubscriptionError
from tamis.matcher import Refusal
from tamis.service.api import answers, models
from tamis.service.api.problems import RESPONSES
from tamis.service.api.who import Asked, Subscriber, in_thread
from tamis.service.core import Service
from tamis.service.names import inside
from tamis.service.problems import Forbidden, NotFound
from tamis.service.webhooks.records import Webhook
from tamis.store import Stored

router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"], responses=RESPONSES)

Id = Annotated[str, Path(description="The id of a subscription.")]
Ticket = Annotated[str | None, Header(alias="Tamis-Ticket", description="Told when the subscription was made.")]
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}
_EXPORTED = 1_000


@router.post("", status_code=201, response_model=models.SubscribedAnswer)
async def subscribe(wanted: models.NewSubscription, caller: Subscriber, service: Asked) -> Any:
    """Make a subscription. The ticket in the answer is needed to renew, change and cancel it."""
    given = wanted.model_dump(exclude_none=True)
    made = await in_thread(service.subscriptions.subscribe, caller.tenant, given)
    service.deliverer.wake([inside(caller.tenant, made.subscription.id)])
    answer = await in_thread(_described, service, caller.tenant, made.subscription)
    return {"subscription": answer, "ticket": made.ticket, "secret": made.secret}


@router.get("", response_model=models.SubscriptionsAnswer)
async def page(
    caller: Subscriber,
    service: Asked,
    search: Annotated[str, Query(max_length=1_000, description="In the id, the label or the condition.")] = "",
    label: str | None = None,
    event_type: str | None = None,
    after: Annotated[str, Query(description="The last id of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Subscriptions in the order of their ids."""

    def look() -> Any:
        options: dict[str, Any] = {"search": search, "label": label, "event_type": event_type, "after": after}
        found = service.subscriptions.page(caller.tenant, **options, limit=limit + 1)
        shown = found[:limit]
        hooks = service.webhooks.get_many([inside(caller.tenant, each.id) for each in shown])
        items = [answers.subscription(each, hooks.get(inside(caller.tenant, each.id))) for each in shown]
        return {"items": items, "next": shown[-1].id if len(found) > limit else None}

    return await in_thread(look)


@router.post(
    "/import",
    response_model=models.ImportAnswer,
    openapi_extra={"requestBody": {"content": _LINES}},
)
async def import_many(
    request: Request,
    caller: Subscriber,
    service: Asked,
    replace: Annotated[bool, Query(description="Change those that are there already? Needs `admin`.")] = False,
) -> Any:
    """Make many subscriptions, given as JSON lines, in one change; what is refused comes back."""
    if replace and not caller.may("admin"):
        msg = "changing subscriptions without their tickets needs a token with the role 'admin'"
        raise Forbidden(msg)
    body = await request.body()

    def work() -> Any:
        records, refused = _lines(body)
        made = service.subscriptions.import_many(caller.tenant, records, replace=replace)
        counts = {name: getattr(made.imported, name) for name in ("added", "replaced", "edited", "unchanged")}
        return {
            **counts,
            "refusals": answers.refusals([*refused, *made.imported.refusals]),
            "tickets": made.tickets,
        }

    return await in_thread(work)


@router.get("/export", response_class=StreamingResponse, responses={200: {"content": _LINES}})
async def export(caller: Subscriber, service: Asked) -> StreamingResponse:
    """All subscriptions as JSON lines, which an import takes, but for those with a webhook."""

    def look(after: str) -> tuple[list[Stored], dict[str, Webhook]]:
        found = service.subscriptions.page(caller.tenant, after=after, limit=_EXPORTED)
        return found, service.webhooks.get_many([inside(caller.tenant, each.id) for each in found])

    async def lines() -> AsyncIterator[str]:
        after = ""
        while True:
            found, hooks = await in_thread(look, after)
            for each in found:
                hook = hooks.get(inside(caller.tenant, each.id))
                answer = to_jsonable_python(answers.subscription(each, hook))
                yield json.dumps(answer, ensure_ascii=False) + "\n"
            if len(found) < _EXPORTED:
                return
            after = found[-1].id

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.get("/{id}", response_model=models.SubscriptionAnswer)
async def get(id: Id, caller: Subscriber, service: Asked) -> Any:
    """One subscription."""
    return await in_thread(
        lambda: _described(service, caller.tenant, service.subscriptions.get(caller.tenant, id))
    )


@router.get("/{id}/history", response_model=models.HistoryAnswer)
async def history(id: Id, caller: Subscriber, service: Asked) -> Any:
    """Every change of a subscription, the oldest first; also of one that has ended, for as long as it is kept."""
    changes = await in_thread(service.subscriptions.history, caller.tenant, id)
    if not changes:
        msg = f"there never was a subscription {id!r}"
        raise NotFound(msg)
    return {"items": [answers.change(each) for each in changes]}


@router.patch("/{id}", response_model=models.SubscriptionAnswer)
async def change(
    id: Id, wanted: models.SubscriptionChange, caller: Subscriber, service: Asked, ticket: Ticket = None
) -> Any:
    """Change some of a subscription. Needs its ticket."""
    fields = wanted.model_dump(exclude_unset=True)

    def work() -> Any:
        service.subscriptions.check_ticket(caller.tenant, id, ticket)
        return _described(service, caller.tenant, service.subscriptions.change(caller.tenant, id, fields))

    return await in_thread(work)


@router.post("/{id}/renew", response_model=models.SubscriptionAnswer)
async def renew(
    id: Id,
    caller: Subscriber,
    service: Asked,
    wanted: models.Renewal | None = None,
    ticket: Ticket = None,
) -> Any:
    """Let a subscription last longer. Needs its ticket."""
    times = (wanted or models.Renewal()).model_dump(exclude_none=True)

    def work() -> Any:
        service.subscriptions.check_ticket(caller.tenant, id, ticket)
        return _described(service, caller.tenant, service.subscriptions.renew(caller.tenant, id, **times))

    return await in_thread(work)


@router.post("/{id}/pause", response_model=models.SubscriptionAnswer)
async def pause(id: Id, caller: Subscriber, service: Asked, ticket: Ticket = None) -> Any:
    """Leave a subscription out of matching. Needs its ticket, or the role `admin`: a brake for emergencies."""
    return await _pause(service, caller, id, ticket, paused=True)


@router.post("/{id}/resume", response_model=models.SubscriptionAnswer)
async def resume(id: Id, caller: Subscriber, service: Asked, ticket: Ticket = None) -> Any:
    """Match a paused subscription again. Needs its ticket, or the role `admin`."""
    return await _pause(service, caller, id, ticket, paused=False)


@router.delete("/{id}", status_code=204)
async def unsubscribe(id: Id, caller: Subscriber, service: Asked, ticket: Ticket = None) -> None:
    """End a subscription. Needs its ticket."""

    def work() -> None:
        service.subscriptions.check_ticket(caller.tenant, id, ticket)
        service.subscriptions.unsubscribe(caller.tenant, id)

    await in_thread(work)


async def _pause(service: Service, caller: Subscriber, id: str, ticket: str | None, *, paused: bool) -> Any:
    def work() -> Any:
        if not caller.may("admin"):
            service.subscriptions.check_ticket(caller.tenant, id, ticket)
        stored = service.subscriptions.pause(caller.tenant, id, paused=paused)
        return _described(service, caller.tenant, stored)

    return await in_thread(work)


def _described(service: Service, tenant: str, stored: Any) -> dict[str, Any]:
    return answers.subscription(stored, service.subscriptions.webhook(tenant, stored.id))


def _lines(body: bytes) -> tuple[list[dict[str, Any]], list[Refusal]]:
    """The records of an import, without what an export says of them besides; and the lines that are none."""
    records: list[dict[str, Any]] = []
    refused: list[Refusal] = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            given = json.loads(line)
            if isinstance(given, dict):
                name = str(given.get("id") or name)
                given = _known(given, models.NewSubscription)
                if isinstance(given.get("delivery"), dict):
                    given["delivery"] = _known(given["delivery"], models.DeliveryWanted)
            records.append(models.NewSubscription.model_validate(given).model_dump(exclude_none=True))
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            refused.append(Refusal(name, SubscriptionError(f"line {number}: {said}")))
        except (ValueError, RecursionError) as error:
            refused.append(Refusal(name, SubscriptionError(f"line {number}: not JSON: {error}")))
    return records, refused


def _known(given: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in model.model_fields}
