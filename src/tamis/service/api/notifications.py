"""Notifications by long poll with a cursor, or as server-sent events that can be resumed."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter
from pydantic_core import to_json

from tamis.service.api import serializers
from tamis.service.api.auth import CurrentService, Subscriber, in_thread
from tamis.service.api.models.notifications import NotificationsAnswer, TraceAnswer
from tamis.service.api.problems import RESPONSES
from tamis.service.core import Service
from tamis.service.errors import NotFound
from tamis.service.feed import TenantNotification, View
from tamis.service.inbox import InboxEvent
from tamis.service.names import qualified_name

router = APIRouter(prefix="/v1/notifications", tags=["notifications"], responses=RESPONSES)

_AT_ONCE = 1_000
_RETRY_MS = 1_000
_EVENTS = "text/event-stream"
_WELCOME = f": welcome\nretry: {_RETRY_MS}\n\n".encode()
_STILL_HERE = b": ping\n\n"
_LONGEST_WAIT_SECONDS = 60.0
_IDLE_SECONDS = 10.0
_SEQ = re.compile(r"[0-9]{1,18}")

After = Annotated[int, Query(ge=0, le=2**62, description="The number of the last notification that one has.")]
_STREAM: dict[str, Any] = {
    "description": "One event `notification` for each, with its number as the id and the rest as JSON.",
    "content": {_EVENTS: {"schema": {"type": "string"}}},
}
Read: TypeAlias = Callable[[int], list[TenantNotification]]
"""The next notifications after a number."""
_ONE = TypeAdapter(TenantNotification)
_MANY = TypeAdapter(list[TenantNotification])

Describe = Annotated[
    bool,
    Query(
        description="With the `condition` of each subscription, as it was, a long one cut; and what became of the "
        "`delivery` until now."
    ),
]
Only = Annotated[
    str | None, Query(description="Those of this subscription only; of a subscriber with @ before its name.")
]
By = Annotated[
    View, Query(description="One for each match, or one for each event and subscriber, which names all matches.")
]


@router.get("", response_model=NotificationsAnswer)
async def poll(
    caller: Subscriber,
    service: CurrentService,
    after: After = 0,
    subscription: Only = None,
    by: By = "subscription",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_SECONDS, description="Seconds to wait for one.")] = 0.0,
    newest: Annotated[bool, Query(description="The last ones instead, to go on from there.")] = False,
    describe: Describe = False,
) -> Any:
    """The next notifications after a number; ask again with `next`."""
    only = None if subscription is None else qualified_name(caller.tenant, subscription)
    if newest:
        found = await in_thread(service.feed.before, caller.tenant, None, limit=limit, subscription=only, by=by)
        found.reverse()
        return await in_thread(_page, service, caller.tenant, found, after, describe=describe)
    deadline = time.monotonic() + wait
    while True:
        seen = service.feed_watcher.seq
        found = await in_thread(service.feed.after, caller.tenant, after, limit=limit, subscription=only, by=by)
        left = deadline - time.monotonic()
        if found or left <= 0 or service.stopping.is_set():
            break
        await service.feed_watcher.after(max(seen, after), left)
    return await in_thread(_page, service, caller.tenant, found, after, describe=describe)


@router.get("/stream", response_class=StreamingResponse, responses={200: _STREAM})
async def stream(
    caller: Subscriber,
    service: CurrentService,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="From here on; from now on without.")] = None,
    subscription: Only = None,
    by: By = "subscription",
    describe: Describe = False,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> StreamingResponse:
    """Notifications as server-sent events; a browser that connects again goes on where it was."""
    only = None if subscription is None else qualified_name(caller.tenant, subscription)
    seq = service.feed_watcher.seq if after is None else after
    if last_event_id is not None and _SEQ.fullmatch(last_event_id):
        seq = int(last_event_id)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    read = partial(service.feed.after, caller.tenant, limit=_AT_ONCE, subscription=only, by=by)
    return StreamingResponse(
        _events(service, caller.tenant, read, seq, describe=describe), headers=headers, media_type=_EVENTS
    )


async def _events(service: Service, tenant: str, read: Read, seq: int, *, describe: bool) -> AsyncIterator[bytes]:
    """Server-sent events of the notifications after a number, as long as the service runs."""
    yield _WELCOME
    while not service.stopping.is_set():
        seen = service.feed_watcher.seq
        end, text = await in_thread(_encode_after, service, tenant, read, seq, describe=describe)
        if text:
            seq = end
            yield text
        elif not service.stopping.is_set() and not await service.feed_watcher.after(max(seen, seq), _IDLE_SECONDS):
            yield _STILL_HERE


def _encode_after(service: Service, tenant: str, read: Read, seq: int, *, describe: bool) -> tuple[int, bytes]:
    """The next notifications after a number as events, and the number of the last."""
    found = read(seq)
    if describe:
        contents = [to_json(each) for each in describe_notifications(service, tenant, found)]
    else:
        contents = [_ONE.dump_json(each) for each in found]
    texts = [
        b"event: notification\ndata: %b\nid: %d\n\n" % (content, each.seq)
        for content, each in zip(contents, found, strict=True)
    ]
    return (found[-1].seq if found else seq), b"".join(texts)


def _page(
    service: Service, tenant: str, found: list[TenantNotification], after: int, *, describe: bool
) -> Response:
    """The answer to a poll, serialized without pydantic models: it may have thousands of notifications."""
    end = found[-1].seq if found else after
    items = to_json(describe_notifications(service, tenant, found)) if describe else _MANY.dump_json(found)
    return Response(b'{"items":%b,"next":%d}' % (items, end), media_type="application/json")


def describe_notifications(
    service: Service, tenant: str, found: Sequence[TenantNotification]
) -> list[dict[str, Any]]:
    """Notifications with what became of them, and the condition that their subscriptions had, null if not kept.

    Those that an earlier version wrote have no label; they get the subscription's, too.
    """
    became = _deliveries(service, tenant, found)
    known = service.subscriptions.conditions_at(tenant, {(each.subscription_id, each.revision) for each in found})
    items = []
    for each, item in zip(found, serializers.notifications(found), strict=True):
        label, condition = known.get((each.subscription_id, each.revision), (None, None))
        more = {"condition": condition, "delivery": became[each.id]}
        items.append({**item, "label": label if each.label is None else each.label, **more})
    return items


def _deliveries(service: Service, tenant: str, found: Sequence[TenantNotification]) -> dict[str, dict[str, Any]]:
    """What became of notifications until now, by their ids."""
    asked = [(each.id, qualified_name(tenant, each.subscription_id), each.seq) for each in found]
    became = service.webhooks.deliveries(asked)
    return {id: {"state": each.state, "reason": each.reason} for id, each in became.items()}


@router.get("/{id}", response_model=TraceAnswer)
async def trace(
    id: Annotated[str, Path(description="The id of a notification.")], caller: Subscriber, service: CurrentService
) -> Any:
    """One notification: its event, the subscription as it was, whether it is delivered, and every attempt."""

    def look() -> bytes:
        found, event = _trace(service, caller.tenant, id)
        return serializers.with_text(found, "event", None if event is None else event.value)

    return Response(await in_thread(look), media_type="application/json")


def trace_notification(service: Service, tenant: str, id: str) -> dict[str, Any]:
    """Everything about a notification.

    Raises:
        NotFound: The tenant has none of that id.
    """
    found, event = _trace(service, tenant, id)
    return {**found, "event": None if event is None else event.event()}


def _trace(service: Service, tenant: str, id: str) -> tuple[dict[str, Any], InboxEvent | None]:
    found = service.feed.get(tenant, id)
    if found is None:
        msg = f"there is no notification {id!r}"
        raise NotFound(msg)
    name = qualified_name(tenant, found.event_id)
    event = service.inbox.get([name]).get(name)
    was = [
        each
        for each in service.subscriptions.history(tenant, found.subscription_id)
        if each.revision == found.revision
    ]
    told = {
        **serializers.notifications([found])[0],
        "subscription": serializers.change(was[0]) if was else None,
        "delivery": _deliveries(service, tenant, [found])[id],
        "attempts": serializers.attempts(service.webhooks.attempts(id)),
    }
    return told, event
