"""The real service on a port of this machine, with faults between it and whoever asks.

A test adds faults: answers that say "later", connections that break within an answer or a stream. What was asked
is on record. Only Spark is left out: `match` does with the parts of the stream what it does with a batch.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, notification_ids
from tamis.service.accounts import TenantRights
from tamis.service.api.app import make_app
from tamis.service.api.problems import problem
from tamis.service.core import Service
from tamis.service.feed import FeedSink
from tamis.service.settings import ServiceSettings
from tamis.sinks import Committed, Delivery
from tamis.spark.event_reading import Reading
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import DEAD, FOUND, PAIR, StreamTask
from tamis.store import Publisher
from tests.service.webhooks.receiver import until

STREAM = "/v1/notifications/stream"
ROLES = ("publish", "subscribe", "admin")
_READING = Reading(
    json="value",
    id_column="id",
    type_column="event_type",
    event_time="time",
    keep=("kept",),
    on_misfit="dead letter",
)
_numbers = count()


@dataclass
class Fault:
    """What goes wrong with the next request to a path.

    Attributes:
        path: The request's path starts so.
        status: Answer this, and do nothing; None: do it, and cut the answer in the middle.
        headers: Of that answer.
        body: Of that answer; a problem of the service if None.
    """

    path: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Asked:
    """A request that came, and its body."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytearray


class Served:
    """A service that runs, and what goes wrong on the way to it.

    Attributes:
        service: Its parts.
        url: Where it listens.
        faults: Still to come; the first that fits is used up.
        cuts: For each stream that is opened, after how many notifications it breaks in the middle of the next.
        asked: Every request.
    """

    def __init__(self, service: Service, url: str) -> None:
        self.service = service
        self.url = url
        self.faults: list[Fault] = []
        self.cuts: deque[int] = deque()
        self.asked: list[Asked] = []
        self._sink = FeedSink(url=service.settings.database("feed"))
        self._publisher = Publisher(service.store, service.settings.folder / "snapshot")
        self._batches = count()
        self._query = f"query {next(_numbers)}"
        self._matched = service.inbox.end() - service.inbox.waiting()

    def requests(self, path: str = "", method: str = "") -> list[Asked]:
        """What was asked of paths that start so."""
        return [each for each in self.asked if each.path.startswith(path) and method in ("", each.method)]

    def new_tenant(self, rights: TenantRights | None = None) -> str:
        """A tenant that nobody else has."""
        name = f"tenant-{next(_numbers)}"
        self.service.accounts.set_rights(name, rights or TenantRights())
        self.service.subscriptions.prepare(name)
        return name

    def token(self, tenant: str, *roles: str) -> str:
        """A token of a tenant, with all roles if none are given."""
        return self.service.accounts.new_token(tenant, roles or ROLES)[1]

    def match(self) -> Committed:
        """Match what was published since the last time, and commit it to the feed."""
        end = self.service.inbox.end()
        ref = SnapshotRef(self._publisher.url, self._publisher.sync().snapshot_version)
        ids, types, values, _ = [*zip(*self.service.inbox.between(self._matched, end), strict=True)] or [()] * 4
        columns = [pa.array(ids, pa.string()), pa.array(types, pa.string()), pa.array(values, pa.binary())]
        batch = pa.RecordBatch.from_arrays(columns, ["id", "event_type", "value"])
        task = StreamTask((ref,), _READING)
        found = pa.Table.from_batches(task(iter([batch])), FOUND)
        delivery = _delivery(self._query, next(self._batches), ref.version, found)
        self._matched = end
        self.service.inbox.begin(end)
        committed = self._sink.commit(delivery)
        self.service.inbox.finish()  # not before: an event is done once its notifications are there
        return committed

    def close(self) -> None:
        """Give back what is open."""
        self._sink.close()


def _delivery(query: str, batch: int, version: int, found: pa.Table) -> Delivery:
    now = datetime.now(UTC)
    pairs, dead = (found.filter(pc.equal(found["row_kind"], kind)) for kind in (PAIR, DEAD))
    ids = notification_ids(pairs["event_id"], pairs["subscription_id"], pairs["revision"])
    more = {"id": ids, "version": [version] * len(ids), "matched_at": [now] * len(ids)}
    notifications = _table(NOTIFICATIONS, pairs, more)
    ids = dead_letter_ids(dead["kind"], dead["original"])
    return Delivery(
        query, batch, now, version, notifications, _table(DEAD_LETTERS, dead, {"id": ids, "at": [now] * len(ids)})
    )


def _table(schema: pa.Schema, found: pa.Table, more: dict[str, Any]) -> pa.Table:
    columns = [pa.array(more[each.name], each.type) if each.name in more else found[each.name] for each in schema]
    return pa.table(columns, schema=schema)


class Between:
    """Writes requests down, and lets go wrong what shall."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app = app
        self._served = served
        self.loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            self.loop = asyncio.get_running_loop()
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        asked = Asked(scope["method"], scope["path"], scope["query_string"].decode(), headers, bytearray())
        self._served.asked.append(asked)
        fault = next((each for each in self._served.faults if asked.path.startswith(each.path)), None)
        if fault is not None:
            self._served.faults.remove(fault)
        if fault is not None and fault.status is not None:
            await _answer(fault, fault.status, send)
        elif fault is not None:
            await self._app(scope, _noting(receive, asked), _cut_in_half(send))
        elif asked.path == STREAM and self._served.cuts:
            await self._app(scope, receive, _cut_after(self._served.cuts.popleft(), send))
        else:
            await self._app(scope, _noting(receive, asked), send)


async def _answer(fault: Fault, status: int, send: Send) -> None:
    body = fault.body
    if body is None:
        body = bytes(problem(status, "rate" if status == 429 else "unavailable", "come back later").body)
    headers = {"content-type": "application/problem+json", "content-length": str(len(body)), **fault.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _noting(receive: Receive, asked: Asked) -> Receive:
    async def noted() -> Message:
        message = await receive()
        asked.body.extend(message.get("body", b""))
        return message

    return noted


def _cut_in_half(send: Send) -> Send:
    async def cut(message: Message) -> None:
        if message["type"] == "http.response.body":
            await _break(send, message["body"])
        await send(message)

    return cut


def _cut_after(notifications: int, send: Send) -> Send:
    left = notifications

    async def cut(message: Message) -> None:
        nonlocal left
        if message["type"] == "http.response.body":
            for event in message.get("body", b"").split(b"\n\n")[:-1]:
                if b"event: notification" in event:
                    if not left:
                        await _break(send, event)
                    left -= 1
                await send({**message, "body": event + b"\n\n", "more_body": True})
        else:
            await send(message)

    return cut


async def _break(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content[: len(content) // 2], "more_body": True})
    msg = "the connection breaks"
    raise ConnectionResetError(msg)


@contextmanager
def serving(folder: Path, port: int = 0, **settings: Any) -> Iterator[Served]:
    """A service with its data in a folder, in a thread; by default on any port that is free."""
    service = Service(ServiceSettings(data=str(folder), stream=False, **settings))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        served = Served(service, f"http://127.0.0.1:{listening.getsockname()[1]}")
        app = Between(make_app(service), served)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        until(lambda: server.started or not thread.is_alive(), "the service starts")
        try:
            yield served
        finally:
            if app.loop is not None:
                app.loop.call_soon_threadsafe(service.stopping.set)
            server.should_exit = True
            thread.join()
            served.close()
            service.close()
