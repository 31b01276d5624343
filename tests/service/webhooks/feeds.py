"""A feed to deliver from, and a deliverer that runs beside the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import insert

from tamis.service.feed_tables import feed, metadata
from tamis.service.webhooks.addresses import Gate
from tamis.service.webhooks.client import WebhookClient
from tamis.service.webhooks.deliverer import Deliverer
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import DeliveryPolicy
from tamis.sql.database import Database

LOOPBACK = "127.0.0.1/32"
QUICK = DeliveryPolicy(attempts=4, base=0.01, cap=0.05, timeout=30, allow=(LOOPBACK,))
"""Waits that a test can wait for."""


def open_database(url: str) -> Database:
    """The database of a feed, with its tables."""
    return Database(url, metadata)


class Feed:
    """Notifications by number, as the stream writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count = 0

    def write(self, *subscription_ids: str, priority: int = 0) -> list[str]:
        """One notification to each; gives their ids."""
        rows = [self._row(id) | {"priority": priority} for id in subscription_ids]
        with self._database.writing() as connection:
            connection.execute(insert(feed), rows)
        return [str(row["id"]) for row in rows]

    def _row(self, subscription_id: str) -> dict[str, Any]:
        self._count += 1
        tenant = subscription_id.partition("/")[0]
        return {
            "id": f"{self._count:032x}",
            "tenant": tenant,
            "subscription_id": subscription_id,
            "event_id": f"{tenant}/e{self._count}",
            "event_type": f"{tenant}/order",
            "revision": 1,
            "version": 7,
            "event_time": None,
            "matched_at": 1_700_000_000_000_000 + self._count,
            "query": "q",
            "batch": 3,
        }


def event_of(event_id: str) -> bytes | None:
    """The event of any id."""
    return json.dumps({"name": event_id, "price": 1.50}).encode()


def webhooks_of(database: Database, delivery: DeliveryPolicy = QUICK) -> Webhooks:
    return Webhooks(database, gate=Gate(delivery.allow))


@contextmanager
def delivering(
    webhooks: Webhooks, delivery: DeliveryPolicy = QUICK, *, caller: WebhookClient | None = None
) -> Iterator[Deliverer]:
    """A deliverer in a thread, stopped at the end as a service would stop it."""
    deliverer = Deliverer(webhooks, event_of, delivery, caller=caller)
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_started = threading.Event()

    async def run() -> None:
        stop = asyncio.Event()
        started.append((asyncio.get_running_loop(), stop))
        running = asyncio.create_task(deliverer.run(stop))
        await asyncio.sleep(0)
        is_started.set()
        await running

    failures: list[BaseException] = []

    def run_in_thread() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            failures.append(error)
            is_started.set()

    thread = threading.Thread(target=run_in_thread)
    thread.start()
    is_started.wait()
    try:
        yield deliverer
    finally:
        if not failures:
            loop, stop = started[0]
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    assert not failures, failures
