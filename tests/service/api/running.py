"""The real application on a real port, and a feed that the test fills in the stream's stead."""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, notification_ids
from tamis.service.accounts import DEFAULT_TENANT, TenantRights
from tamis.service.core import Service
from tamis.service.feed import FeedSink
from tamis.service.names import qualified_name
from tamis.service.server import Server
from tamis.service.settings import ServiceSettings
from tamis.sinks.base import Delivery

DEADLINE_SECONDS = 60.0


@dataclass
class Tenant:
    """A tenant of a running service, with a client for each role."""

    name: str
    publish: httpx2.Client
    subscribe: httpx2.Client
    admin: httpx2.Client


@dataclass
class Running:
    """A service that answers at an address."""

    service: Service
    server: Server
    url: str
    _clients: list[httpx2.Client] = field(default_factory=list)
    _batches: count[int] = field(default_factory=count)
    _tenants: count[int] = field(default_factory=lambda: count(1))

    def client(self, token: str | None = None, **headers: str) -> httpx2.Client:
        """A client that shows a token."""
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        # Without a look at certificates, which takes longer than a request.
        options: dict[str, Any] = {"verify": False, "timeout": DEADLINE_SECONDS}
        client = httpx2.Client(base_url=self.url, headers={**shown, **headers}, **options)
        self._clients.append(client)
        return client

    def token(self, *roles: str, tenant: str = DEFAULT_TENANT) -> str:
        """A new token."""
        return self.service.accounts.new_token(tenant, roles)[1]

    def tenant(self, rights: TenantRights | None = None, name: str = "") -> Tenant:
        """A tenant that nobody else uses."""
        name = name or f"tenant-{next(self._tenants)}"
        self.service.accounts.set_rights(name, rights or TenantRights())
        self.service.subscriptions.prepare(name)
        clients = [self.client(self.token(role, tenant=name)) for role in ("publish", "subscribe", "admin")]
        return Tenant(name, *clients)

    def match(
        self,
        tenant: str,
        subscription: str,
        *event_ids: str,
        revision: int = 1,
        label: str | None = None,
        attributes: str | None = None,
        owner: str | None = None,
    ) -> list[str]:
        """Write a batch of notifications as the stream would; gives their ids."""
        now, rows = datetime.now(UTC), len(event_ids)
        events = pa.array([qualified_name(tenant, id) for id in event_ids])
        subscriptions = pa.array([qualified_name(tenant, subscription)] * rows)
        revisions = pa.array([revision] * rows, pa.int64())
        ids = notification_ids(events, subscriptions, revisions)
        columns = {
            "id": ids,
            "event_id": events,
            "subscription_id": subscriptions,
            "revision": revisions,
            "event_type": pa.array([qualified_name(tenant, "event")] * rows),
            "version": pa.array([7] * rows, pa.int64()),
            "event_time": pa.array([None] * rows, NOTIFICATIONS.field("event_time").type),
            "matched_at": pa.array([now] * rows, NOTIFICATIONS.field("matched_at").type),
            "owner": pa.array([owner or tenant] * rows),
            "label": pa.array([label] * rows, pa.string()),
            "attributes": pa.array([attributes] * rows, pa.string()),
        }
        self._commit(now, pa.table(columns), DEAD_LETTERS.empty_table())
        found: list[str] = ids.to_pylist()
        return found

    def spoil(self, tenant: str, event_id: str, original: bytes, reason: str = "a reason") -> None:
        """Write a dead letter as the stream would."""
        now = datetime.now(UTC)
        kinds, originals = pa.array(["event"]), pa.array([original], pa.binary())
        ids = dead_letter_ids(kinds, originals)
        columns = {
            "id": ids,
            "event_id": pa.array([qualified_name(tenant, event_id)]),
            "kind": kinds,
            "reason": pa.array([reason]),
            "original": originals,
            "at": pa.array([now], DEAD_LETTERS.field("at").type),
        }
        self._commit(now, NOTIFICATIONS.empty_table(), pa.table(columns, schema=DEAD_LETTERS))

    def _commit(self, now: datetime, notifications: pa.Table, dead: pa.Table) -> None:
        sink = FeedSink(url=self.service.settings.database("feed"))
        try:
            sink.commit(Delivery("test", next(self._batches), now, 7, notifications, dead))
        finally:
            sink.close()

    def stop(self) -> None:
        """End as a signal would end it."""
        self.server.handle_exit(signal.SIGTERM, None)

    def close(self) -> None:
        """Close what clients hold open."""
        for client in self._clients:
            client.close()


@contextmanager
def running(folder: Path, **settings: Any) -> Iterator[Running]:
    """A service without a stream, in a thread, at a given `port` or any; a test may stop it earlier."""
    service = Service(ServiceSettings(data=str(folder), stream=False, **settings))
    listening = socket.create_server(("127.0.0.1", settings.get("port", 0)))
    server = Server(service)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    made = Running(service, server, f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        yield made
    finally:
        made.close()
        made.stop()
        thread.join()
        service.close()
        listening.close()


def problem(answer: httpx2.Response, status: int, kind: str, *more: str) -> dict[str, Any]:
    """The problem that an answer is, which has the one shape of all, and maybe some members more."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = json.loads(answer.content)
    assert said.keys() - {"problems"} == {"type", "title", "status", "detail", *more}
    assert said["type"] == f"https://tamis.invalid/problems/{kind}"
    assert said["status"] == status
    assert said["title"] and said["detail"]
    return said
