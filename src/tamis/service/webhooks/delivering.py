"""Brings notifications to their receivers: in order per subscription, at least once.

The truth is in the database: what is kept here is only whom to look at and when, and is found again after a kill.
No transaction is open while a receiver is called, and what a call gave is recorded before the next notification of
the same subscription is sent. So a notification may come twice, under one id, and a later one never before an
earlier one that was not parked.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from tamis.service.webhooks.addresses import AddressError, target
from tamis.service.webhooks.book import Book
from tamis.service.webhooks.calling import Answer, Caller
from tamis.service.webhooks.lines import Lines
from tamis.service.webhooks.messages import handshake_body, handshake_problem, new_challenge, notification_body
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import Attempt, Due, Notification, Outcome, Step, Then, Webhook
from tamis.service.webhooks.settings import Delivery
from tamis.service.webhooks.signing import signed_headers
from tamis.service.webhooks.tables import PENDING
from tamis.store.records import now_us

EventOf: TypeAlias = Callable[[str], bytes | None]
"""The JSON of an event by its id, if it is still there; blocks."""
Job: TypeAlias = tuple[Literal["turn", "replay"], str]

GONE = 410
_NOTIFICATIONS_A_TURN = 16
"""After so many a webhook stands in line again, so that others of the same host get their turn."""
_TROUBLE_SECONDS = 2.0
"""How long to wait when our own database, or we, cannot go on."""
_SECOND = 1_000_000

_log = logging.getLogger(__name__)


class Deliverer:
    """Calls the receivers of all webhooks while it runs."""

    def __init__(
        self,
        webhooks: Webhooks,
        event_of: EventOf,
        delivery: Delivery | None = None,
        *,
        caller: Caller | None = None,
    ) -> None:
        """Nobody is called yet.

        Args:
            webhooks: Whom to call.
            event_of: Gives the event of a notification; called in threads.
            delivery: The settings.
            caller: How to call, if not as the settings say; closed at the end of `run`.
        """
        self._webhooks = webhooks
        self._event_of = event_of
        self._delivery = delivery or Delivery()
        self._caller = caller
        self._book = Book(webhooks)
        self._lines: Lines[Job] = Lines(self._delivery.concurrent, self._delivery.concurrent_per_host)
        self._tasks: set[asyncio.Task[None]] = set()
        self._woken: set[str] = set()
        self._bell = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._random = random.Random()

    def wake(self, subscription_ids: Iterable[str]) -> None:
        """Tell that there is something new of these subscriptions: in the feed, a webhook, a replay.

        From any thread, and at any time: before `run` and after it nothing is lost, since `run` begins by looking
        at everything. Subscriptions without a webhook are passed over.
        """
        ids = frozenset(subscription_ids)
        loop = self._loop
        if loop is None or not ids:
            return
        try:
            loop.call_soon_threadsafe(self._take, ids)
        except RuntimeError:  # the loop was closed in between
            return

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until told to stop; calls that are under way are finished. Runs once."""
        self._loop = asyncio.get_running_loop()
        caller = self._caller = self._caller or Caller(self._delivery)
        watch = asyncio.create_task(self._ring_at(stop))
        try:
            await self._look_until(stop)
            self._is_stopping = True
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._delivery.timeout + _TROUBLE_SECONDS)
        finally:
            self._loop, self._is_stopping = None, True
            if self._timer is not None:
                self._timer.cancel()
            watch.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(watch, *self._tasks, return_exceptions=True)
            await self._book.close()
            await caller.close()

    # --- whom to look at ---------------------------------------------------------------------------------

    async def _look_until(self, stop: asyncio.Event) -> None:
        """Find out what is to be done: of everything at the start and now and then, else of those woken."""
        loop = asyncio.get_running_loop()
        next_sweep = loop.time()
        while not stop.is_set():
            self._bell.clear()
            ids, self._woken = self._woken, set()
            is_sweep = loop.time() >= next_sweep
            try:
                found = await asyncio.to_thread(self._webhooks.due, None if is_sweep else ids)
            except Exception:
                _log.exception("the webhooks cannot be looked through; trying again")
                self._woken |= ids
                await _at_most(_TROUBLE_SECONDS, stop)
                continue
            for due in found:
                self._lines.put((due.kind, due.id), _host(due), due.at)
            self._start()
            if is_sweep:
                next_sweep = loop.time() + self._delivery.sweep
            await _at_most(next_sweep - loop.time(), self._bell)

    async def _ring_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._bell.set()

    def _take(self, ids: frozenset[str]) -> None:
        self._woken |= ids
        self._bell.set()

    # --- whom to call now --------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start what may run, and come back when the next one may."""
        if self._loop is None or self._is_stopping:
            return
        now = now_us()
        for job in self._lines.start(now):
            task = self._loop.create_task(self._do(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._timer is not None:
            self._timer.cancel()
        when = self._lines.next_time()
        seconds = None if when is None else max(0.001, (when - now) / _SECOND)
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._start)

    async def _do(self, job: Job) -> None:
        kind, id = job
        again: int | None = None
        try:
            again = await (self._take_turn(id) if kind == "turn" else self._replay(id))
        except Exception:
            _log.exception("webhook: the %s of %s was broken off; trying again", kind, id)
            again = now_us() + int(_TROUBLE_SECONDS * _SECOND)
        finally:
            self._lines.done(job, again)
            self._start()

    async def _take_turn(self, subscription_id: str) -> int | None:
        """Do what a webhook has to do; gives when it wants its next turn."""
        turn = await asyncio.to_thread(self._webhooks.turn, subscription_id, _NOTIFICATIONS_A_TURN)
        if turn is None:
            return None
        webhook = turn.webhook
        if webhook.next_attempt > now_us():
            return webhook.next_attempt
        if webhook.state == PENDING:
            return await self._shake_hands(webhook)
        tried = webhook.attempts
        for notification in turn.notifications:
            if self._is_stopping:
                return None
            step = await self._send(webhook, notification, tried + 1, tried + 1)
            if step.then in ("again", "refuse"):
                return step.next_attempt if step.then == "again" else None
            tried = 0
        return 0 if len(turn.notifications) == _NOTIFICATIONS_A_TURN else None

    async def _replay(self, notification_id: str) -> int | None:
        """Try a parked notification again; gives when it is to be tried once more."""
        replay = await asyncio.to_thread(self._webhooks.replay_of, notification_id)
        if replay is None:
            return None
        if replay.next_attempt > now_us():
            return replay.next_attempt
        step = await self._send(
            replay.webhook, replay.notification, replay.attempts + 1, replay.tries + 1, is_replay=True
        )
        return step.next_attempt if step.then == "again" else None

    # --- calling -----------------------------------------------------------------------------------------

    async def _shake_hands(self, webhook: Webhook) -> int | None:
        """Ask a receiver whether it wants to be one."""
        id, challenge, at = f"handshake-{secrets.token_hex(8)}", new_challenge(), now_us()
        answer = await self._call(webhook, id, handshake_body(webhook.subscription_id, challenge, at))
        problem = handshake_problem(answer, challenge)
        attempt = _attempt(webhook, id, at, webhook.attempts + 1, answer, problem)
        then, next_attempt = self._after(answer, problem, attempt.attempt)
        step = Step(attempt, webhook.created, None, "confirm" if then == "go on" else then, next_attempt)
        await self._book.record(step)
        if step.then == "confirm":
            self._take(frozenset([webhook.subscription_id]))  # replays have waited for it
            return 0
        if step.then != "again":
            _log.warning("webhook of %s refused: %s", webhook.subscription_id, problem)
        return next_attempt if step.then == "again" else None

    async def _send(
        self, webhook: Webhook, notification: Notification, number: int, tries: int, *, is_replay: bool = False
    ) -> Step:
        """Attempt number `number` at a notification, which is number `tries` since it was parked, if it was."""
        event = await asyncio.to_thread(self._event_of, notification.event_id)
        at = now_us()
        answer = await self._call(webhook, notification.id, notification_body(notification, event))
        attempt = _attempt(webhook, notification.id, at, number, answer, answer.error)
        then, next_attempt = self._after(answer, answer.error, tries)
        step = Step(attempt, webhook.created, notification.seq, then, next_attempt, is_replay)
        await self._book.record(step)
        if then in ("park", "refuse"):
            _log.warning(
                "webhook of %s: notification %s parked: %s", webhook.subscription_id, notification.id, answer.error
            )
        return step

    async def _call(self, webhook: Webhook, id: str, body: bytes) -> Answer:
        assert self._caller is not None
        headers = signed_headers(webhook.secret, id, now_us() // _SECOND, body)
        return await self._caller.call(webhook.url, headers, body)

    def _after(self, answer: Answer, problem: str | None, tries: int) -> tuple[Then, int]:
        """What follows from the answer to try number `tries`, and when."""
        if problem is None:
            return "go on", 0
        if answer.status == GONE:
            return "refuse", 0
        if tries >= self._delivery.attempts:
            return "park", 0
        # Anything between nothing and the longest wait: receivers that failed together do not come back together.
        wait = self._random.uniform(0, self._delivery.longest_wait(tries))
        wait = min(self._delivery.cap, max(wait, answer.retry_after or 0))
        return "again", now_us() + int(wait * _SECOND)


def _attempt(webhook: Webhook, id: str, at: int, number: int, answer: Answer, problem: str | None) -> Attempt:
    outcome: Outcome = "delivered" if problem is None else "failed"
    if answer.refused or answer.status == GONE:
        outcome = "refused"
    return Attempt(id, webhook.subscription_id, at, answer.seconds, number, answer.status, problem, outcome)


def _host(due: Due) -> str:
    try:
        return target(due.url).host
    except AddressError:  # of an earlier version's taste; the call will say what is wrong
        return ""


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not longer than this."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        return
