"""The parts that the HTTP API and the page share, opened once for the process.

Everything durable is in the databases; what is in memory here can be lost at any moment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tamis.events.event_type import EventType
from tamis.language.lint import SeenAttributes
from tamis.service.accounts import DEFAULT_TENANT, Accounts
from tamis.service.advertising import Advertising
from tamis.service.backup import Backup
from tamis.service.feed import FeedReader
from tamis.service.feed_watcher import FeedWatcher
from tamis.service.group_commit import GroupCommit
from tamis.service.inbox import Arrival
from tamis.service.inboxes import open_inbox
from tamis.service.matching import RequestMatching
from tamis.service.metrics import ServiceMetrics
from tamis.service.names import tenant_of
from tamis.service.peers.sender import Senders
from tamis.service.peers.site import Site
from tamis.service.reports import Reports
from tamis.service.settings import ServiceSettings
from tamis.service.stream import PROGRESS, STREAM
from tamis.service.subscriptions import TenantSubscriptions
from tamis.service.supervisor import State, Supervisor
from tamis.service.testing import seen_attributes
from tamis.service.webhooks.addresses import Gate
from tamis.service.webhooks.deliverer import Deliverer
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.settings import DeliveryPolicy
from tamis.store import Store
from tamis.store.records import microseconds

_log = logging.getLogger(__name__)

TOKEN_FILE = "token"
_TIDY_SECONDS = 60.0
_FRESH_SECONDS = 0.5
_SEEN_SECONDS = 5.0
"""Reading the last events takes longer than writing a subscription."""
_SEEN_EVENTS = 1_000
_SEEN_TYPES = 100


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether events are matched as soon as they are published.

    Attributes:
        state: Of the stream, "elsewhere" if the service does not run it, or "stopping".
        since: From when on, if that is known.
        waits_for: What the stream waits for while it warms up.
        reason: Why it failed last, if it has not run since.
    """

    state: State | Literal["elsewhere", "stopping"]
    since: datetime | None = None
    waits_for: str | None = None
    reason: str | None = None

    @property
    def is_ready(self) -> bool:
        """Nobody knows of a stream elsewhere, so it is not held against the service."""
        return self.state in ("running", "elsewhere")

    @property
    def sentence(self) -> str:
        """The state, for people."""
        subject = "the service" if self.state == "stopping" else "the stream"
        waiting = f", and waits for {self.waits_for}" if self.waits_for else ""
        failure = f": {self.reason}" if self.reason and self.state == "failed" else ""
        before = f"; it failed before: {self.reason}" if self.reason and self.state != "failed" else ""
        return f"{subject} is {self.state}{waiting}{failure}{before}"


class Service:
    """The parts of a running service.

    Attributes:
        settings: All of them.
        store: The subscriptions of record.
        accounts: Tenants, tokens, tickets and advertisements.
        subscriptions: Subscriptions as their owners see them.
        advertising: What publishers say of their events.
        backup: Reads and restores what people have set up.
        inbox: Published events.
        inbox_commits: Writes the events of many requests to the inbox together.
        feed: Notifications and dead letters.
        webhooks: The state of all webhooks, and their attempts.
        deliverer: Calls the receivers of webhooks.
        feed_watcher: Knows the newest notification, and wakes those that wait for the next.
        site: This service among those that it is linked with.
        reports: What the stream did.
        metrics: Metrics of the service, for Prometheus.
        supervisor: Keeps the stream running; None if it runs elsewhere.
        started: When the service was, in seconds since 1970.
        stopping: Is set when the service ends, so that long polls and streams end, too.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        """Open everything; nothing runs yet.

        Raises:
            TamisError: Something cannot be opened.
        """
        self.settings = settings
        settings.folder.mkdir(parents=True, exist_ok=True)
        settings.operators.load()
        delivery = DeliveryPolicy(
            attempts=settings.webhook_attempts,
            pause_after=settings.webhook_pause_after,
            pause_calls=settings.webhook_pause_calls,
            pause_seconds=settings.webhook_pause_seconds,
            base=settings.webhook_base_seconds,
            timeout=settings.webhook_timeout_seconds,
            allow=settings.webhook_networks,
        )
        self._open = ExitStack()
        try:
            self.store = self._open.enter_context(Store.open(settings.database("store")))
            self.accounts = Accounts(settings.database("store"))
            self._open.callback(self.accounts.close)
            self.feed = FeedReader(settings.database("feed"))
            self._open.callback(self.feed.close)
            self.inbox = open_inbox(settings)
            self._open.callback(self.inbox.close)
        except BaseException:
            self._open.close()
            raise
        self.webhooks = Webhooks(self.feed.database, gate=Gate(settings.webhook_networks))
        self.subscriptions = TenantSubscriptions(self.store, self.accounts, self.webhooks, settings)
        self.matching = RequestMatching(self.store, self.subscriptions, settings.call_order)
        self.advertising = Advertising(self.accounts, self.subscriptions)
        self.inbox_commits: GroupCommit[Arrival, bool] = GroupCommit(self.inbox.append)
        self.deliverer = Deliverer(self.webhooks, self._event_of, delivery)
        self.feed_watcher = FeedWatcher(self.feed, self._wake_webhooks)
        self.site = Site(self)
        self.backup = Backup(self.store, self.accounts, self.subscriptions, self.webhooks, self.site.links)
        self.reports = Reports(settings.folder / STREAM / PROGRESS)
        self.supervisor = Supervisor(settings) if settings.stream else None
        self.metrics = ServiceMetrics(self)
        self.started = time.time()
        self.stopping = asyncio.Event()
        self._types: dict[str, tuple[float, Mapping[str, EventType]]] = {}
        self._seen: dict[str, tuple[float, SeenAttributes | None]] = {}
        self._seen_lock = threading.Lock()
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
        """Run the background tasks until `stopping` is set."""
        stop = self.stopping
        tasks = [self.feed_watcher.run(stop), self.reports.run(stop), self.deliverer.run(stop), self._tidy(stop)]
        if self.site.name:
            tasks.append(Senders(self, self.site).run(stop))
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
            await self.inbox_commits.close()

    def close(self) -> None:
        self._open.close()

    async def backlog(self) -> int:
        """How many events wait for the stream, as of a moment ago."""
        at, waiting = self._backlog
        if time.monotonic() - at > _FRESH_SECONDS:
            waiting = await asyncio.to_thread(self.inbox.waiting)
            self._backlog = time.monotonic(), waiting
        return waiting

    async def types_of(self, tenant: str) -> Mapping[str, EventType]:
        """The event types that a tenant has declared, as of a moment ago, by name; see `forget_types`."""
        at, types = self._types.get(tenant, (0.0, {}))
        if time.monotonic() - at > _FRESH_SECONDS:
            types = await asyncio.to_thread(self.subscriptions.event_types, tenant)
            self._types[tenant] = time.monotonic(), types
        return types

    def seen_attributes(self, event_type: EventType) -> SeenAttributes | None:
        """The attributes of the last events of a schemaless type, under its qualified name, as of a moment ago.

        None if it is typed, or has no events.
        """
        if event_type.attributes is not None:
            return None
        with self._seen_lock:
            at, seen = self._seen.pop(event_type.name, (-_SEEN_SECONDS, None))
            if time.monotonic() - at >= _SEEN_SECONDS:
                tenant = tenant_of(event_type.name)
                recent = self.inbox.recent(tenant, limit=_SEEN_EVENTS, event_type=event_type.name)
                at, seen = time.monotonic(), seen_attributes([each.value for each in recent], event_type)
            self._seen[event_type.name] = at, seen
            while len(self._seen) > _SEEN_TYPES:
                self._seen.pop(next(iter(self._seen)))
        return seen

    def forget_types(self) -> None:
        """Drop the cached event types, after one was declared or dropped."""
        self._types.clear()

    def readiness(self) -> Readiness:
        """Whether events are matched, and what keeps them from it."""
        if self.stopping.is_set():
            return Readiness("stopping")
        stream = self.supervisor
        if stream is None:
            return Readiness("elsewhere", datetime.fromtimestamp(self.started, UTC))
        return Readiness(stream.state, stream.since, stream.waits_for, stream.reason)

    def tidy(self) -> None:
        """Delete old events and notifications, and what belongs to subscriptions that have ended."""
        now = datetime.now(UTC)
        self.store.expire(now)
        gone = self.accounts.forget_ended_tickets()
        for id in self.subscriptions.ended_webhooks():
            self.webhooks.remove(id)
        old = now - timedelta(days=self.settings.keep_events_days)
        self.site.tidy(microseconds(old))
        events = self.inbox.forget(old, self.site.outbox.first_unsent())
        notifications = self.feed.forget(now - timedelta(days=self.settings.keep_feed_days))
        attempts = self.webhooks.trim(microseconds(now - timedelta(days=self.settings.keep_attempts_days)))
        changes = self.store.trim_older(now - timedelta(days=self.settings.keep_changes_days))
        if gone or events or notifications or attempts or changes:
            _log.info(
                "forgot %d tickets, %d events, %d notifications, %d attempts and failed deliveries, %d changes",
                gone,
                events,
                notifications,
                attempts,
                changes,
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

    def _wake_webhooks(self, before: int, now: int) -> None:
        self.deliverer.wake(self.webhooks.subscriptions_between(before, now))


def _write_secret(file: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically."""
    aside = file.with_suffix(".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text + "\n")
    aside.replace(file)
