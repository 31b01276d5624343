"""Subscribing, and everything that can be done with a subscription afterwards."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from tamis.errors import SubscriptionError
from tamis.matcher import Refusal
from tamis.segments.fields import RENAME, unknown_field, with_event_type
from tamis.service import testing
from tamis.service.api import serializers
from tamis.service.api.auth import CurrentService, Subscriber, in_thread
from tamis.service.api.models.fields import TypedRequestModel
from tamis.service.api.models.subscriptions import (
    ChangedAnswer,
    DeliveryAnswer,
    DeliveryWanted,
    HistoryAnswer,
    ImportAnswer,
    ImportedSubscription,
    NewSubscription,
    OpenAnswer,
    Renewal,
    SubscribedAnswer,
    SubscriptionAnswer,
    SubscriptionChange,
    SubscriptionsAnswer,
)
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import Forbidden, NotFound
from tamis.service.names import qualified_name
from tamis.service.open_matches import read_open
from tamis.service.subscriptions import TenantSubscriptions
from tamis.service.webhooks.records import Webhook
from tamis.store import StoredSubscription

router = APIRouter(prefix="/v1/subscriptions", tags=["subscriptions"], responses=RESPONSES)

TICKET_HEADER = "Tamis-Ticket"
Id = Annotated[str, Path(description="The id of a subscription.")]
Ticket = Annotated[str | None, Header(alias=TICKET_HEADER, description="Returned when the subscription was made.")]
_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}
_EXPORTED = 1_000


@router.post("", status_code=201, response_model=SubscribedAnswer)
async def subscribe(wanted: NewSubscription, caller: Subscriber, service: CurrentService) -> Any:
    """Make a subscription. The answer has its ticket, which changes need, when it ends, and how to renew it."""
    given = wanted.model_dump(exclude_none=True)
    mine = service.subscriptions.acting_as(caller.actor())
    made = await in_thread(mine.subscribe, caller.tenant, given)
    service.deliverer.wake([qualified_name(caller.tenant, made.subscription.id)])
    answer = await in_thread(_serialize, service, caller.tenant, made.subscription)
    path = f"{router.prefix}/{quote(made.subscription.id, safe='')}/renew"
    warnings = await in_thread(_warnings, service, caller.tenant, made.subscription, wanted)
    renewal = {"before": made.subscription.expires, "method": "POST", "path": path, "header": TICKET_HEADER}
    once = {"ticket": made.ticket, "secret": made.secret}
    return {"subscription": answer, **once, "renewal": renewal, "warnings": warnings}


def _warnings(
    service: Service, tenant: str, stored: StoredSubscription, given: TypedRequestModel
) -> list[dict[str, Any]]:
    """What there is to say of a condition that was taken."""
    condition, dialect = stored.condition, stored.dialect
    event_type = service.subscriptions.event_type(tenant, stored.event_type)
    limits = service.subscriptions.limits(tenant)
    unadvertised = service.advertising.finding(tenant, event_type, condition, dialect)
    found = [] if unadvertised is None else [unadvertised]
    found += testing.unseen_attributes(condition, event_type, limits, service.seen_attributes(event_type), dialect)
    if given.has_old_name:
        place = {"line": 1, "column": 1, "start": 0, "end": len(condition)}
        found.append({"severity": "warning", "code": "renamed", "message": RENAME, "hint": None, **place})
    return found


@router.get("", response_model=SubscriptionsAnswer)
async def page(
    caller: Subscriber,
    service: CurrentService,
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
        hooks = service.webhooks.get_many([qualified_name(caller.tenant, each.id) for each in shown])
        items = [
            serializers.subscription(each, hooks.get(qualified_name(caller.tenant, each.id))) for each in shown
        ]
        return {"items": items, "next": shown[-1].id if len(found) > limit else None}

    return await in_thread(look)


@router.post(
    "/import",
    response_model=ImportAnswer,
    openapi_extra={"requestBody": {"content": _LINES}},
)
async def import_many(
    request: Request,
    caller: Subscriber,
    service: CurrentService,
    replace: Annotated[bool, Query(description="Change those that are there already? Needs `admin`.")] = False,
) -> Any:
    """Make many subscriptions, given as JSON lines, in one change; what is refused comes back."""
    if replace and not caller.may("admin"):
        msg = "changing subscriptions without their tickets needs a token with the role 'admin'"
        raise Forbidden(msg)
    body = await request.body()

    def work() -> Any:
        records, refused, warnings = _parse_lines(body)
        mine = service.subscriptions.acting_as(caller.actor(without_ticket=replace))
        made = mine.import_many(caller.tenant, records, replace=replace)
        counts = {name: getattr(made.imported, name) for name in ("added", "replaced", "edited", "unchanged")}
        return {
            **counts,
            "event_types": made.imported.by_type,
            "warnings": warnings,
            "refusals": serializers.refusals([*refused, *made.imported.refusals]),
            "tickets": made.tickets,
            "secrets": made.secrets,
        }

    answer = await in_thread(work)
    service.deliverer.wake([qualified_name(caller.tenant, id) for id in answer["secrets"]])
    return answer


@router.get("/export", response_class=StreamingResponse, responses={200: {"content": _LINES}})
async def export(caller: Subscriber, service: CurrentService) -> StreamingResponse:
    """All subscriptions as JSON lines, which an import takes: with their delivery and whether they are paused."""

    def look(after: str) -> tuple[list[StoredSubscription], dict[str, Webhook]]:
        found = service.subscriptions.page(caller.tenant, after=after, limit=_EXPORTED)
        return found, service.webhooks.get_many([qualified_name(caller.tenant, each.id) for each in found])

    async def lines() -> AsyncIterator[str]:
        after = ""
        while True:
            found, hooks = await in_thread(look, after)
            for each in found:
                hook = hooks.get(qualified_name(caller.tenant, each.id))
                answer = to_jsonable_python(serializers.subscription(each, hook))
                yield json.dumps(answer, ensure_ascii=False) + "\n"
            if len(found) < _EXPORTED:
                return
            after = found[-1].id

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.get("/{id}", response_model=SubscriptionAnswer)
async def get(id: Id, caller: Subscriber, service: CurrentService) -> Any:
    """One subscription."""
    return await in_thread(
        lambda: _serialize(service, caller.tenant, service.subscriptions.get(caller.tenant, id))
    )


@router.get("/{id}/history", response_model=HistoryAnswer)
async def history(id: Id, caller: Subscriber, service: CurrentService) -> Any:
    """Every change of a subscription, the oldest first; also of one that has ended, for as long as it is kept."""
    changes = await in_thread(service.subscriptions.history, caller.tenant, id)
    if not changes:
        msg = f"there never was a subscription {id!r}"
        raise NotFound(msg)
    return {"items": [serializers.change(each) for each in changes]}


@router.get("/{id}/open", response_model=OpenAnswer)
async def open_matches(id: Id, caller: Subscriber, service: CurrentService) -> Any:
    """What is open of a composite subscription after the newest batch, key by key: so far, until when, and why."""
    return await in_thread(
        lambda: {"items": read_open(service, caller.tenant, service.subscriptions.get(caller.tenant, id))}
    )


@router.patch("/{id}", response_model=ChangedAnswer)
async def change(
    id: Id, wanted: SubscriptionChange, caller: Subscriber, service: CurrentService, ticket: Ticket = None
) -> Any:
    """Change some of a subscription. Needs its ticket, or the role `admin`."""
    fields = wanted.model_dump(exclude_unset=True)

    def work() -> Any:
        changeable = _with_right(service, caller, id, ticket)
        stored = changeable.change(caller.tenant, id, fields)
        warnings = _warnings(service, caller.tenant, stored, wanted)
        return {**_serialize(service, caller.tenant, stored), "warnings": warnings}

    return await in_thread(work)


@router.post("/{id}/renew", response_model=SubscriptionAnswer)
async def renew(
    id: Id,
    caller: Subscriber,
    service: CurrentService,
    wanted: Renewal | None = None,
    ticket: Ticket = None,
) -> Any:
    """Let a subscription last longer. Needs its ticket, or the role `admin`."""
    times = (wanted or Renewal()).model_dump(exclude_none=True)

    def work() -> Any:
        changeable = _with_right(service, caller, id, ticket)
        return _serialize(service, caller.tenant, changeable.renew(caller.tenant, id, **times))

    return await in_thread(work)


@router.post("/{id}/pause", response_model=SubscriptionAnswer)
async def pause(id: Id, caller: Subscriber, service: CurrentService, ticket: Ticket = None) -> Any:
    """Leave a subscription out of matching. Needs its ticket, or the role `admin`."""
    return await _pause(service, caller, id, ticket, paused=True)


@router.post("/{id}/resume", response_model=SubscriptionAnswer)
async def resume(id: Id, caller: Subscriber, service: CurrentService, ticket: Ticket = None) -> Any:
    """Match a paused subscription again. Needs its ticket, or the role `admin`."""
    return await _pause(service, caller, id, ticket, paused=False)


@router.delete("/{id}", status_code=204)
async def unsubscribe(id: Id, caller: Subscriber, service: CurrentService, ticket: Ticket = None) -> None:
    """End a subscription. Needs its ticket, or the role `admin`."""

    def work() -> None:
        _with_right(service, caller, id, ticket).unsubscribe(caller.tenant, id)

    await in_thread(work)


async def _pause(service: Service, caller: Subscriber, id: str, ticket: str | None, *, paused: bool) -> Any:
    def work() -> Any:
        stored = _with_right(service, caller, id, ticket).pause(caller.tenant, id, paused=paused)
        return _serialize(service, caller.tenant, stored)

    return await in_thread(work)


def _with_right(service: Service, caller: Subscriber, id: str, ticket: str | None) -> TenantSubscriptions:
    """The subscriptions, for a caller who may change this one: an administrator or the holder of its ticket.

    Raises:
        NotFound: There is no such subscription.
        Forbidden: The caller is neither.
    """
    has_ticket = True
    try:
        service.subscriptions.check_ticket(caller.tenant, id, ticket)
    except Forbidden:
        if not caller.may("admin"):
            raise
        has_ticket = False
    return service.subscriptions.acting_as(caller.actor(without_ticket=not has_ticket))


def _serialize(service: Service, tenant: str, stored: Any) -> dict[str, Any]:
    return serializers.subscription(stored, service.subscriptions.webhook(tenant, stored.id))


class _UnknownField(ValueError):
    """A line of an import has a field that no subscription has."""


def _parse_lines(body: bytes) -> tuple[list[dict[str, Any]], list[Refusal], list[str]]:
    """The records of an import, without what an export says of them besides; the lines that are none; warnings."""
    records: list[dict[str, Any]] = []
    refused: list[Refusal] = []
    warnings: list[str] = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        name = f"line {number}"
        try:
            given = json.loads(line)
            if isinstance(given, dict):
                name = str(given.get("id") or name)
                given, has_old_name = with_event_type(given)
                if has_old_name and not warnings:
                    warnings.append(f"line {number}: {RENAME}")
                given = _known_fields(given, ImportedSubscription, SubscriptionAnswer)
                if isinstance(given.get("delivery"), dict):
                    kept = _known_fields(given["delivery"], DeliveryWanted, DeliveryAnswer)
                    given["delivery"] = kept
            records.append(ImportedSubscription.model_validate(given).model_dump(exclude_none=True))
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            refused.append(Refusal(name, SubscriptionError(f"line {number}: {said}")))
        except (_UnknownField, SubscriptionError) as error:
            refused.append(Refusal(name, SubscriptionError(f"line {number}: {error}")))
        except (ValueError, RecursionError) as error:
            refused.append(Refusal(name, SubscriptionError(f"line {number}: not JSON: {error}")))
    return records, refused, warnings


def _known_fields(given: dict[str, Any], model: type[BaseModel], exported: type[BaseModel]) -> dict[str, Any]:
    """What an import takes of a line, without what only an export says.

    Raises:
        _UnknownField: There is a field that neither has.
    """
    for name in given:
        if name not in model.model_fields and name not in exported.model_fields:
            raise _UnknownField(unknown_field(name, model.model_fields))
    return {name: value for name, value in given.items() if name in model.model_fields}
