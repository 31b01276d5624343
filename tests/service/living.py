"""A service without its HTTP: its databases, and its stream in a Spark that tests share."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tamis.events.event_type import EventType
from tamis.progress import BatchReport, History
from tamis.service.accounts import Accounts
from tamis.service.feed import FeedReader
from tamis.service.inbox import Arrival
from tamis.service.inboxes import open_inbox
from tamis.service.names import qualified_name
from tamis.service.settings import ServiceSettings
from tamis.service.stream import PROGRESS, STREAM, start
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_SECONDS = 300
_SLOW = "Timed out while waiting for the Python worker to connect back"


def until(is_so: Callable[[], Any], why: Callable[[], Any] = lambda: "it does not happen") -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, why()
        time.sleep(0.02)


def arrival(tenant: str, id: str, event: Mapping[str, Any] | bytes, event_type: str = "event") -> Arrival:
    """An event as the inbox takes it."""
    value = event if isinstance(event, bytes) else json.dumps(event).encode()
    return Arrival(qualified_name(tenant, id), qualified_name(tenant, event_type), value)


class Living:
    """The databases of a service, and its stream, which may be stopped and started again."""

    def __init__(self, spark: SparkSession, settings: ServiceSettings) -> None:
        self.settings = settings
        self._spark = spark
        self._open = ExitStack()
        settings.folder.mkdir(parents=True, exist_ok=True)
        self.store = self._open.enter_context(Store.open(settings.database("store")))
        self.accounts = Accounts(settings.database("store"))
        self._open.callback(self.accounts.close)
        self.inbox = open_inbox(settings)
        self._open.callback(self.inbox.close)
        self.feed = FeedReader(settings.database("feed"))
        self._open.callback(self.feed.close)
        self._stream = ExitStack()
        self.query: Any = None

    def subscribe(self, tenant: str, id: str, condition: str, **fields: Any) -> None:
        """Subscribe to the schemaless events of a tenant."""
        if qualified_name(tenant, "event") not in self.store.event_types():
            self.store.set_event_type(EventType(qualified_name(tenant, "event")))
        options = {"event_type": qualified_name(tenant, "event"), "owner": tenant, **fields}
        self.store.add(qualified_name(tenant, id), condition, **options)

    def publish(self, *arrivals: Arrival) -> list[bool]:
        """Take events together; for each, was it new?"""
        return self.inbox.append(arrivals)

    def start(self) -> None:
        """Start the stream, or start it again."""
        self._stream = ExitStack()
        self.query = start(self.settings, self._spark, self._stream)

    def settle(self) -> None:
        """Wait until no event waits."""

        def is_done() -> bool:
            if not self.query.isActive:  # as the supervisor does: on a busy machine Spark may give its workers up
                assert _SLOW in str(self.query.exception()), self.query.exception()
                self._stream.close()
                self.start()
            return self.inbox.waiting() == 0

        until(is_done)

    def stop(self) -> None:
        """Stop the stream."""
        if self.query is not None:
            self.query.stop()
        self._stream.close()

    def pairs(self, tenant: str) -> list[tuple[str, str]]:
        """Event and subscription of each notification of a tenant, sorted."""
        found = self.feed.after(tenant, 0, limit=100_000)
        return sorted((each.event_id, each.subscription_id) for each in found)

    def reports(self, count: int) -> list[BatchReport]:
        """What each of so many batches did: a report comes after what it reports."""
        history = History(self.settings.folder / STREAM / PROGRESS)
        until(lambda: len(history.read()) >= count, history.read)
        return history.read()

    def close(self) -> None:
        """Stop and close everything."""
        self.stop()
        self._open.close()
