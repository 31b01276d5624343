"""Everything that the HTTP API and the page stand on, opened once for the process and run until it ends.

What must outlive the process is in the databases; what is here can be lost at any moment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tamis.operators.finding import OperatorSettings
from tamis.service.accounts import DEFAULT_TENANT, Accounts
from tamis.service.feed import Feed
from tamis.service.figures import Figures
from tamis.service.inboxes import open_inbox
from tamis.service.news import News
from tamis.service.publishing import Publishing
from tamis.service.reports import Reports
from tamis.service.settings import Settings
from tamis.service.stream import PROGRESS, STREAM
from tamis.service.subscribing import Subscriptions
from tamis.service.supervising import Supervisor
from tamis.service.webhooks.addresses import Gate
from tamis.service.webhooks.delivering import Deliverer
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import Delivery
from tamis.store import Store
from tamis.store.records import microseconds

_log = logging.getLogger(__name__)

TOKEN_FILE = "token"
_TIDY_SECONDS = 60.0
_FRESH_SECONDS = 0.5


class Service:
    """The parts of a running service.

    Attributes:
        settings: All of them.
        store: The subscriptions of record.
        accounts: Tenants, tokens, tickets and advertisements.
        subscriptions: Subscriptions as their owners see them.
        inbox: Published events.
        publishing: The way into it.
        feed: Notifications and bad events.
        webhooks: Who is called, and how that went.
        deliverer: Calls them.
        news: Tells of new notifications.
        reports: What the stream did.
        figures: The service in numbers, for Prometheus.
        supervisor: Keeps the stream running; None if it runs elsewhere.
        started: When the service was, in seconds since 1970.
        stopping: Is set when the service ends: whoever waits for news goes home.
    """

    def __init__(self, settings: Settings) -> None:
        """Open everything; nothing runs yet.

        Raises:
            TamisError: Something cannot be opened.
        """
        self.settings = settings
        settings.folder.mkdir(parents=True, exist_ok=True)
        if settings.operators:
            OperatorSettings.of(list(settings.operators)).load()
        delivery = Delivery(
            attempts=settings.webhook_attempts,
            base=settings.webhook_base_seconds,
            timeout=settings.webhook_timeout_seconds,
            allow=settings.webhook_networks,
        )
        self._open = ExitStack()
        try:
            self.store = self._open.enter_context(Store.open(settings.database("store")))
            self.accounts = Accounts(settings.database("store"))
            self._open.callback(self.accounts.close)
            self.feed = Feed(settings.database("feed"))
            self._open.callback(self.feed.close)
            self.inbox = open_inbox(settings)
            self._open.callback(self.inbox.close)
        except BaseException:
            self._open.close()
            raise
        self.webhooks = Webhooks(self.feed.database.engine, gate=Gate(settings.webhook_networks))
        self.subscriptions = Subscriptions(self.store, self.accounts, self.webhooks, settings)
        self.publishing = Publishing(self.inbox)
        self.deliverer = Deliverer(self.webhooks, self._event_of, delivery)
        self.news = News(self.feed, self._tell_webhooks)
        self.reports = Reports(settings.folder / STREAM / PROGRESS)
        self.supervisor = Supervisor(settings) if settings.stream else None
        self.figures = Figures(self)
        self.started = time.time()
        self.stopping = asyncio.Event()
        self._types: dict[str, tuple[float, frozenset[str]]] = {}
        self._backlog = (0.0, 0)
        for tenant in self.accounts.tenants():
            self.subscriptions.prepare(tenant)

    def first_token(self) -> Path | None:
        """Where the token of the first administrator is, made if there is no token at all; None if it is gone."""
        file = self.settings.folder / TOKEN_FILE
        if not self.accounts.tokens(DEFAULT_TENANT):
            label = "made when the service was first started"
            self.accounts.new_token(DEFAULT_TENANT, ["admin"], label, keep=lambda text: _write_secret(file, text))
        return file if file.exists() else None

    async def run(self) -> None:
        """Run what works in the background, until `stopping` is set."""
        stop = self.stopping
        tasks = [self.news.run(stop), self.reports.run(stop), self.deliverer.run(stop), self._tidy(stop)]
        if self.supervisor is not None:
            tasks.append(self.supervisor.run(stop))
        running = [asyncio.create_task(each) for each in tasks]
        try:
            await asyncio.gather(*running)
        except BaseException:
            stop.set()
            await asyncio.gather(*running, return_exceptions=True)
            raise
        finally:
            await self.publishing.close()

    def close(self) -> None:
        """Give everything back."""
        self._open.close()

    async def backlog(self) -> int:
        """How many events wait for the stream, as of a moment ago."""
        at, waiting = self._backlog
        if time.monotonic() - at > _FRESH_SECONDS:
            waiting = await asyncio.to_thread(self.inbox.waiting)
            self._backlog = time.monotonic(), waiting
        return waiting

    async def types_of(self, tenant: str) -> frozenset[str]:
        """The event types that a tenant has declared, as of a moment ago; see `forget_types`."""
        at, names = self._types.get(tenant, (0.0, frozenset()))
        if time.monotonic() - at > _FRESH_SECONDS:
            names = frozenset(await asyncio.to_thread(self.subscriptions.event_types, tenant))
            self._types[tenant] = time.monotonic(), names
        return names

    def forget_types(self) -> None:
        """Event types were declared: look at them anew."""
        self._types.clear()

    def troubles(self) -> list[str]:
        """Why the service is not ready to match events; nothing if it is."""
        if self.stopping.is_set():
            return ["the service is stopping"]
        if self.supervisor is None or self.supervisor.state == "running":
            return []
        why = f": {self.supervisor.reason}" if self.supervisor.reason else ""
        return [f"the stream is {self.supervisor.state}{why}"]

    def tidy(self) -> None:
        """Forget what is old, and what belongs to subscriptions that have ended."""
        now = datetime.now(UTC)
        kept = now - timedelta(days=self.settings.keep_feed_days)
        self.store.expire(now)
        gone = self.accounts.forget_ended_tickets()
        for id in self.subscriptions.ended_webhooks():
            self.webhooks.remove(id)
        events = self.inbox.forget(now - timedelta(days=self.settings.keep_events_days))
        notifications = self.feed.forget(kept)
        attempts = self.webhooks.trim(microseconds(kept))
        if gone or events or notifications or attempts:
            _log.info(
                "forgot %d tickets, %d events, %d notifications, %d attempts",
                gone,
                events,
                notifications,
                attempts,
            )

    async def _tidy(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                await asyncio.to_thread(self.tidy)
            except Exception:
                _log.exception("old rows could not be removed; trying again later")
            try:
                await asyncio.wait_for(stop.wait(), _TIDY_SECONDS)
            except TimeoutError:
                continue

    def _event_of(self, id: str) -> bytes | None:
        found = self.inbox.get([id]).get(id)
        return None if found is None else found.value

    def _tell_webhooks(self, before: int, now: int) -> None:
        self.deliverer.wake(self.webhooks.touched(before, now))


def _write_secret(file: Path, text: str) -> None:
    """Write a file that nobody else can read, whole or not at all."""
    aside = file.with_suffix(".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text + "\n")
    aside.replace(file)
