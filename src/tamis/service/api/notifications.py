"""Notifications, for whoever asks: by long poll with a cursor, or as a stream that can be taken up again."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

from tamis.service.api import answers, models
from tamis.service.api.problems import RESPONSES
from tamis.service.api.who import Asked, Subscriber, in_thread
from tamis.service.core import Service
from tamis.service.feed import Notification
from tamis.service.inbox import Accepted
from tamis.service.names import inside
from tamis.service.problems import NotFound

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
_ONE = TypeAdapter(Notification)
_MANY = TypeAdapter(list[Notification])

Only = Annotated[str | None, Query(description="Those of this subscription only.")]


@router.get("", response_model=models.NotificationsAnswer)
async def poll(
    caller: Subscriber,
    service: Asked,
    after: After = 0,
    subscription: Only = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_SECONDS, description="Seconds to wait for one.")] = 0.0,
    newest: Annotated[bool, Query(description="The last ones instead, to go on from there.")] = False,
) -> Any:
    """The next notifications after a number; ask again with `next`."""
    only = None if subscription is None else inside(caller.tenant, subscription)
    if newest:
        found = await in_thread(service.feed.before, caller.tenant, None, limit=limit, subscription=only)
        found.reverse()
        return _page(found, after)
    deadline = time.monotonic() + wait
    while True:
        seen = service.news.seq
        found = await in_thread(service.feed.after, caller.tenant, after, limit=limit, subscription=only)
        left = deadline - time.monotonic()
        if found or left <= 0 or service.stopping.is_set():
            break
        await service.news.after(max(seen, after), left)
    return _page(found, after)


@router.get("/stream", response_class=StreamingResponse, responses={200: _STREAM})
async def stream(
    caller: Subscriber,
    service: Asked,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="From here on; from now on without.")] = None,
    subscription: Only = None,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> StreamingResponse:
    """Notifications as server-sent events; a browser that connects again goes on where it was."""
    only = None if subscription is None else inside(caller.tenant, subscription)
    seq = service.news.seq if after is None else after
    if last_event_id is not None and _SEQ.fullmatch(last_event_id):
        seq = int(last_event_id)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(service, caller.tenant, only, seq), headers=headers, media_type=_EVENTS)


async def _events(service: Service, tenant: str, only: str | None, seq: int) -> AsyncIterator[bytes]:
    """The stream after a number, as long as the service runs; what is there at once is sent at once."""
    yield _WELCOME
    while not service.stopping.is_set():
        seen = service.news.seq
        end, text = await in_thread(_written, service, tenant, only, seq)
        if text:
            seq = end
            yield text
        elif not service.stopping.is_set() and not await service.news.after(max(seen, seq), _IDLE_SECONDS):
            yield _STILL_HERE


def _written(service: Service, tenant: str, only: str | None, seq: int) -> tuple[int, bytes]:
    """The next notifications after a number as events, and the number of the last."""
    found = service.feed.after(tenant, seq, limit=_AT_ONCE, subscription=only)
    texts = [b"event: notification\ndata: %b\nid: %d\n\n" % (_ONE.dump_json(each), each.seq) for each in found]
    return (found[-1].seq if found else seq), b"".join(texts)


def _page(found: list[Notification], after: int) -> Response:
    """An answer to a poll, written without a detour: it may have thousands of notifications."""
    end = found[-1].seq if found else after
    return Response(b'{"items":%b,"next":%d}' % (_MANY.dump_json(found), end), media_type="application/json")


@router.get("/{id}", response_model=models.TraceAnswer)
async def trace(
    id: Annotated[str, Path(description="The id of a notification.")], caller: Subscriber, service: Asked
) -> Any:
    """One notification: its event, the subscription as it was, and every attempt to deliver it."""

    def look() -> bytes:
        found, event = _followed(service, caller.tenant, id)
        return answers.with_text(found, "event", None if event is None else event.value)

    return Response(await in_thread(look), media_type="application/json")


def traced(service: Service, tenant: str, id: str) -> dict[str, Any]:
    """Everything about a notification.

    Raises:
        NotFound: The tenant has none of that id.
    """
    found, event = _followed(service, tenant, id)
    return {**found, "event": None if event is None else event.event()}


def _followed(service: Service, tenant: str, id: str) -> tuple[dict[str, Any], Accepted | None]:
    found = service.feed.get(tenant, id)
    if found is None:
        msg = f"there is no notification {id!r}"
        raise NotFound(msg)
    name = inside(tenant, found.event_id)
    event = service.inbox.get([name]).get(name)
    was = [
        each
        for each in service.subscriptions.history(tenant, found.subscription_id)
        if each.revision == found.revision
    ]
    told = {
        **answers.notifications([found])[0],
        "subscription": answers.change(was[0]) if was else None,
        "attempts": answers.attempts(service.webhooks.attempts(id)),
    }
    return told, event
