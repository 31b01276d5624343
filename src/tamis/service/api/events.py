"""Publishing, what was published, the types of events, and what publishers say of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tamis.errors import EventTypeError
from tamis.events.event_type import EventType
from tamis.language.condition import compile_condition
from tamis.segments.fields import OLD_TYPE, RENAME
from tamis.service import testing
from tamis.service.accounts import Caller, StoredAdvertisement
from tamis.service.api import serializers
from tamis.service.api.auth import (
    Admin,
    CurrentGatekeeper,
    CurrentService,
    Gatekeeper,
    Publisher,
    Subscriber,
    in_thread,
)
from tamis.service.api.models.events import (
    AcceptedAnswer,
    AdvertisementAnswer,
    AdvertisementGiven,
    AdvertisementsAnswer,
    ConformityAnswer,
    DeclaredAnswer,
    EventDetailAnswer,
    EventsAnswer,
    EventTypesAnswer,
)
from tamis.service.api.notifications import describe_notifications
from tamis.service.api.paths import ANY_ID
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import Forbidden, NotFound, Overloaded
from tamis.service.ingestion import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    JSON,
    JSON_LINES,
    MEDIA_TYPES,
    PublishedEvent,
    PublishError,
    arrivals,
    read_events,
    refuse_misfits,
)
from tamis.service.names import local_name, qualified_name
from tamis.store.records import DEFAULT_TYPE, is_storable
from tamis.store.transitions import default_type

router = APIRouter(prefix="/v1", tags=["events"], responses=RESPONSES)

_OBJECT: dict[str, Any] = {"type": "object"}
_OBJECTS: dict[str, Any] = {"type": "array", "items": _OBJECT, "minItems": 1}
_AN_EVENT = {"id": "order-1", "price": 199, "brand": "Nikon"}
_A_CLOUD_EVENT = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "order", "data": {"price": 199}}
_EVENTS: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {"schema": {"anyOf": [_OBJECT, _OBJECTS]}, "example": _AN_EVENT},
        **{each: {"schema": {"type": "string"}, "example": '{"price": 199}\n'} for each in JSON_LINES},
        CLOUD_EVENT: {"schema": _OBJECT, "example": _A_CLOUD_EVENT},
        CLOUD_EVENTS: {"schema": _OBJECTS, "example": [_A_CLOUD_EVENT]},
    },
}
_SMALL_BYTES = 16_384
"""Shorter requests are read at once: a thread would cost more."""
_NOTIFICATIONS = 1_000
_TRIED = 1_000
_SHOWN_WARNINGS = 20

EventId = Annotated[str, Path(description="The id of an event.")]
Name = Annotated[str, Path(max_length=200, pattern=r"^[^/\u0000]+$")]


@router.post(
    "/events",
    status_code=202,
    response_model=AcceptedAnswer,
    openapi_extra={"requestBody": _EVENTS},
)
async def publish(
    request: Request,
    caller: Publisher,
    service: CurrentService,
    keeper: CurrentGatekeeper,
    event_type: Annotated[str, Query(max_length=200, description="Of events that do not name one.")] = "",
    type: Annotated[str, Query(max_length=200, description="What `event_type` was called.", deprecated=True)] = "",
) -> Response:
    """Publish events: one or many as JSON, JSON lines or CloudEvents. They are on disk when this answers.

    An event's id is its attribute `id`; one that comes again under the same id is not taken a second time. All
    events of a request are taken, or none. Where the service is set to refuse events that do not fit their type,
    such a one is an error, with what was expected of each attribute.
    """
    media_type = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise HTTPException(415, f"expected one of {', '.join(MEDIA_TYPES)}, found {media_type!r}")
    settings = service.settings
    if await service.backlog() > settings.most_waiting:
        msg = f"over {settings.most_waiting:,} events wait for the stream already"
        raise Overloaded(msg, 5.0)
    body = await request.body()
    limits = {"most_bytes": settings.event_bytes, "most_events": settings.request_events}
    if len(body) < _SMALL_BYTES:
        events = read_events(body, media_type, **limits)
    else:
        events = await in_thread(read_events, body, media_type, **limits)
    types = await service.types_of(caller.tenant)
    if event_type and type and event_type != type:
        msg = f"{OLD_TYPE!r} is the old name of 'event_type': give one of them"
        raise EventTypeError(msg)
    named = event_type or type
    if named and named not in types and named != DEFAULT_TYPE:
        msg = f"there is no event type {named!r}; declared are {', '.join(sorted({*types, DEFAULT_TYPE}))}"
        raise NotFound(msg)
    default = named or default_type(types)
    if settings.on_misfit == "refuse":
        await in_thread(refuse_misfits, events, types, default)
    warnings = [RENAME] if type else []
    warnings += await _check_conformity(service, keeper, caller, events, types, default)
    await keeper.take_events(caller, len(events))
    is_new = await service.inbox_commits.submit(arrivals(caller.tenant, events, types, default))
    accepted = sum(is_new)
    service.metrics.count_published(accepted)
    ids = [each.id for each in events]
    answer: dict[str, Any] = {"accepted": accepted, "repeated": len(ids) - accepted, "ids": ids}
    return JSONResponse(answer | ({"warnings": warnings} if warnings else {}), 202)


async def _check_conformity(
    service: Service,
    keeper: Gatekeeper,
    caller: Caller,
    events: list[PublishedEvent],
    types: Mapping[str, EventType],
    default: str,
) -> list[str]:
    """What there is to say of events that are not as advertised.

    Raises:
        PublishError: There are some, and the tenant refuses them.
    """
    conformity = (await keeper.rights(caller.tenant)).conformity
    if conformity == "off":
        return []
    found = await in_thread(
        service.advertising.unadvertised_events, caller.tenant, caller.token, events, types, default
    )
    service.metrics.count_unadvertised(len(found))
    if found and conformity == "refuse":
        raise PublishError(found)
    shown = [f"event {place}: {what}" for place, what in found[:_SHOWN_WARNINGS]]
    return shown + ([f"and {len(found) - len(shown)} more"] if len(found) > len(shown) else [])


@router.get("/events", response_model=EventsAnswer)
async def page(
    caller: Subscriber,
    service: CurrentService,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Any:
    """Published events, the newest first, as they came."""
    found = await in_thread(service.inbox.recent, caller.tenant, limit=limit, before=before)
    items = b",".join(serializers.event_text(each) for each in found)
    rest = {"next": found[-1].number if len(found) == limit else None}
    return Response(serializers.with_text(rest, "items", b"[%s]" % items), media_type=JSON)


@router.get(f"/events/{ANY_ID}", response_model=EventDetailAnswer)
async def get(id: EventId, caller: Subscriber, service: CurrentService) -> Any:
    """One event, and whom it concerned."""

    def look() -> Any:
        name = qualified_name(caller.tenant, id)
        found = service.inbox.get([name]).get(name)
        if found is None:
            msg = f"there is no event {id!r}"
            raise NotFound(msg)
        told = service.feed.of_event(name, limit=_NOTIFICATIONS)
        return serializers.event_text(found, notifications=describe_notifications(service, caller.tenant, told))

    return Response(await in_thread(look), media_type=JSON)


# --- event types -------------------------------------------------------------------------------------------------


@router.get("/event-types", response_model=EventTypesAnswer)
async def event_types(caller: Subscriber, service: CurrentService) -> Any:
    """All declared event types."""
    found = await in_thread(service.subscriptions.event_types, caller.tenant)
    return {"items": [each.to_dict() for each in found.values()]}


@router.get("/event-types/{name}", response_model=DeclaredAnswer)
async def event_type(name: Name, caller: Subscriber, service: CurrentService) -> Any:
    """One event type, and the subscriptions that it refuses now."""

    def look() -> Any:
        found = service.subscriptions.event_types(caller.tenant).get(name)
        if found is None:
            msg = f"there is no event type {name!r}"
            raise NotFound(msg)
        refused = service.subscriptions.declare(caller.tenant, found, dry_run=True)
        return {"event_type": found.to_dict(), "refused": serializers.refusals(refused)}

    return await in_thread(look)


@router.put("/event-types/{name}", response_model=DeclaredAnswer)
async def declare(
    name: Name,
    described: dict[str, Any],
    caller: Admin,
    service: CurrentService,
    dry_run: Annotated[bool, Query(description="Only say what it would refuse?")] = False,
) -> Any:
    """Declare an event type or change it; `dry_run` shows what that would refuse before it is done."""
    if not _is_storable(described):
        msg = f"event type {name!r}: expected texts without U+0000 and half characters"
        raise EventTypeError(msg)
    if described.get("name", name) != name:
        msg = f"the name of the event type is {described['name']!r}, and that of the address {name!r}"
        raise EventTypeError(msg)

    def work() -> Any:
        declared = EventType.from_dict({**described, "name": name})
        mine = service.subscriptions.acting_as(caller.actor())
        before = mine.event_types(caller.tenant)
        refused = mine.declare(caller.tenant, declared, dry_run=dry_run)
        warnings = _default_warnings(before, declared)
        return {
            "event_type": declared.to_dict(),
            "refused": serializers.refusals(refused),
            "warnings": warnings,
        }

    answer = await in_thread(work)
    service.forget_types()
    return answer


def _default_warnings(before: Mapping[str, EventType], declared: EventType) -> list[str]:
    """What becomes of events and subscriptions that name no type, where a new type changes that."""
    was, becomes = default_type(before), default_type({**before, declared.name: declared})
    if was == becomes:
        return []
    return [f"events and subscriptions that name no type are of type {becomes!r} from now on, instead of {was!r}"]


@router.delete("/event-types/{name}", status_code=204)
async def drop(name: Name, caller: Admin, service: CurrentService) -> None:
    """Forget an event type that has no subscriptions and no advertisements any more."""
    mine = service.subscriptions.acting_as(caller.actor())
    await in_thread(mine.drop_event_type, caller.tenant, name)
    service.forget_types()


# --- advertisements ----------------------------------------------------------------------------------------------


@router.get("/advertisements", response_model=AdvertisementsAnswer)
async def advertisements(caller: Publisher, service: CurrentService) -> Any:
    """What publishers say their events are like."""
    found = await in_thread(service.accounts.advertisements, caller.tenant)
    return {"items": [_advertisement(each) for each in found]}


@router.get("/advertisements/{id}", response_model=ConformityAnswer)
async def advertisement(id: Name, caller: Publisher, service: CurrentService) -> Any:
    """One advertisement, and how many of the last events of its type are as it says."""

    def look() -> Any:
        found = {each.id: each for each in service.accounts.advertisements(caller.tenant)}
        each = found.get(qualified_name(caller.tenant, id))
        if each is None:
            msg = f"there is no advertisement {id!r}"
            raise NotFound(msg)
        event_type = service.subscriptions.event_type(caller.tenant, local_name(each.event_type))
        recent = service.inbox.recent(caller.tenant, limit=_TRIED, event_type=event_type.name)
        events = [(event.id, event.value) for event in recent]
        limits = service.subscriptions.limits(caller.tenant)
        tried = testing.count_matches(each.condition, event_type, limits, events)
        return {**_advertisement(each), "events": tried.events, "conforming": tried.matched}

    return await in_thread(look)


@router.put("/advertisements/{id}", response_model=AdvertisementAnswer)
async def advertise(id: Name, given: AdvertisementGiven, caller: Publisher, service: CurrentService) -> Any:
    """Say that the events of the token's publisher satisfy this condition, or another that it advertises."""
    if given.token not in (None, caller.token) and not caller.may("admin"):
        msg = "advertising for the token of another needs a token with the role 'admin'"
        raise Forbidden(msg)
    token = given.token or caller.token

    def work() -> Any:
        _check_publisher(service, caller, id)
        if token not in {each.id for each in service.accounts.tokens(caller.tenant)}:
            msg = f"there is no token {token!r}"
            raise NotFound(msg)
        event_type = service.subscriptions.event_type(caller.tenant, given.event_type)
        compile_condition(given.condition, event_type, service.subscriptions.limits(caller.tenant))
        name = qualified_name(caller.tenant, id)
        service.accounts.advertise(caller.tenant, name, given.condition, event_type.name, token)
        service.advertising.forget()
        found = {each.id: each for each in service.accounts.advertisements(caller.tenant)}
        return _advertisement(found[name])

    return await in_thread(work)


@router.delete("/advertisements/{id}", status_code=204)
async def withdraw(id: Name, caller: Publisher, service: CurrentService) -> None:
    """Take an advertisement back."""

    def work() -> bool:
        _check_publisher(service, caller, id)
        return service.accounts.withdraw(qualified_name(caller.tenant, id))

    if not await in_thread(work):
        msg = f"there is no advertisement {id!r}"
        raise NotFound(msg)
    service.advertising.forget()


def _check_publisher(service: Service, caller: Caller, id: str) -> None:
    """Refuse to change what another publisher said.

    Raises:
        Forbidden: It is bound to another token, and the caller is no administrator.
    """
    name = qualified_name(caller.tenant, id)
    bound = {each.id: each.token for each in service.accounts.advertisements(caller.tenant)}.get(name)
    if bound not in (None, caller.token) and not caller.may("admin"):
        msg = f"advertisement {id!r} is another publisher's; changing it needs a token with the role 'admin'"
        raise Forbidden(msg)


def _is_storable(value: Any) -> bool:
    """Are all texts in it such that databases hold them?"""
    if isinstance(value, dict):
        return all(_is_storable(each) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return all(_is_storable(each) for each in value)
    return not isinstance(value, str) or is_storable(value)


def _advertisement(each: StoredAdvertisement) -> dict[str, Any]:
    names = {"id": local_name(each.id), "event_type": local_name(each.event_type)}
    return {**names, "condition": each.condition, "created": each.created, "token": each.token}
