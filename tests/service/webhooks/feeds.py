"""A feed to deliver from, and a deliverer that runs beside the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
)

from tamis.service.webhooks.addresses import Gate
from tamis.service.webhooks.calling import Caller
from tamis.service.webhooks.delivering import Deliverer
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import Delivery

LOOPBACK = "127.0.0.1/32"
QUICK = Delivery(attempts=4, base=0.01, cap=0.05, timeout=30, allow=(LOOPBACK,))
"""Waits that a test can wait for."""

_metadata = MetaData()
feed = Table(
    "tamis_feed",
    _metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("tenant", Text, nullable=False),
    Column("subscription_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("event_time", BigInteger),
    Column("matched_at", BigInteger, nullable=False),
    Column("query", Text, nullable=False),
    Column("batch", BigInteger, nullable=False),
)
Index("tamis_feed_subscription", feed.c.subscription_id, feed.c.seq)


def open_engine(url: str) -> Engine:
    """The database of a feed."""
    if not url.startswith("sqlite"):
        return create_engine(url)
    engine = create_engine(url, connect_args={"timeout": 60})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")

    return engine


class Feed:
    """Notifications by number, as the stream writes them."""

    def __init__(self, engine: Engine) -> None:
        _metadata.create_all(engine)
        self._engine = engine
        self._count = 0

    def write(self, *subscription_ids: str) -> list[str]:
        """One notification to each; gives their ids."""
        rows = [self._row(id) for id in subscription_ids]
        with self._engine.begin() as connection:
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


def webhooks_of(engine: Engine, delivery: Delivery = QUICK) -> Webhooks:
    return Webhooks(engine, gate=Gate(delivery.allow))


@contextmanager
def delivering(
    webhooks: Webhooks, delivery: Delivery = QUICK, *, caller: Caller | None = None
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
