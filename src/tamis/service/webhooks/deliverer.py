"""Delivers notifications to the receivers of webhooks: in order per subscription, by priority, at least once.

The database has the whole state; memory holds only the schedule, which is rebuilt after a crash. No transaction is
open during a call, and the result of a call is committed before the next notification of the same subscription is
sent. So a receiver may get a notification twice, under the same id, but never a later one before an earlier one
that was not parked.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from tamis.service.group_commit import GroupCommit
from tamis.service.webhooks.addresses import AddressError, parse_url
from tamis.service.webhooks.client import CallResult, WebhookClient
from tamis.service.webhooks.host_queues import HostQueues
from tamis.service.webhooks.messages import (
    digest_body,
    handshake_body,
    handshake_problem,
    new_challenge,
    notification_body,
)
from tamis.service.webhooks.queue import Webhooks
from tamis.service.webhooks.records import (
    Action,
    AttemptOutcome,
    DeliveryAttempt,
    Digest,
    DueJob,
    FeedRow,
    Transition,
    Webhook,
)
from tamis.service.webhooks.settings import DeliveryPolicy
from tamis.service.webhooks.signatures import signed_headers
from tamis.service.webhooks.tables import PENDING
from tamis.store.records import now_us

EventOf: TypeAlias = Callable[[str], bytes | None]
"""The JSON of an event by its id, if it is still there; blocks."""
Job: TypeAlias = tuple[Literal["turn", "replay"], str]

GONE = 410
_NOTIFICATIONS_A_TURN = 16
"""After so many a webhook is queued again, so that others of the same host get their turn."""
_FAILURE_SECONDS = 2.0
"""How long to wait after an error of our own, as of the database."""
_SECOND = 1_000_000

_log = logging.getLogger(__name__)


class Deliverer:
    """Calls the receivers of all webhooks while it runs."""

    def __init__(
        self,
        webhooks: Webhooks,
        event_of: EventOf,
        delivery: DeliveryPolicy | None = None,
        *,
        caller: WebhookClient | None = None,
    ) -> None:
        """Prepare; `run` starts the calls.

        Args:
            webhooks: Whom to call.
            event_of: Gives the event of a notification; called in threads.
            delivery: The settings.
            caller: How to call, if not as the settings say; closed at the end of `run`.
        """
        self._webhooks = webhooks
        self._event_of = event_of
        self._delivery = delivery or DeliveryPolicy()
        self._caller = caller
        self._attempt_log: GroupCommit[Transition, None] = GroupCommit(self._record)
        self._queues: HostQueues[Job] = HostQueues(self._delivery.concurrent, self._delivery.concurrent_per_host)
        self._tasks: set[asyncio.Task[None]] = set()
        self._woken: set[str] = set()
        self._woken_event = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopping = False
        self._random = random.Random()

    def wake(self, subscription_ids: Iterable[str]) -> None:
        """Announce new work for these subscriptions: notifications, a webhook, a replay.

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
        """Deliver until `stop` is set; calls in progress are finished. It can run once only."""
        self._loop = asyncio.get_running_loop()
        caller = self._caller = self._caller or WebhookClient(self._delivery)
        watch = asyncio.create_task(self._wake_at(stop))
        try:
            await self._look_until(stop)
            self._is_stopping = True
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._delivery.timeout + _FAILURE_SECONDS)
        finally:
            self._loop, self._is_stopping = None, True
            if self._timer is not None:
                self._timer.cancel()
            watch.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(watch, *self._tasks, return_exceptions=True)
            await self._attempt_log.close()
            await caller.close()

    # --- whom to look at ---------------------------------------------------------------------------------

    async def _look_until(self, stop: asyncio.Event) -> None:
        """Schedule due work: of all webhooks at the start and in each sweep, of woken ones otherwise."""
        loop = asyncio.get_running_loop()
        next_sweep = loop.time()
        while not stop.is_set():
            self._woken_event.clear()
            ids, self._woken = self._woken, set()
            is_sweep = loop.time() >= next_sweep
            try:
                found = await asyncio.to_thread(self._webhooks.due, None if is_sweep else ids)
            except Exception:
                _log.exception("the webhooks cannot be looked through; trying again")
                self._woken |= ids
                await _at_most(_FAILURE_SECONDS, stop)
                continue
            for due in found:
                self._queues.put((due.kind, due.id), _host(due), due.at, due.priority)
            self._start()
            if is_sweep:
                next_sweep = loop.time() + self._delivery.sweep
            await _at_most(next_sweep - loop.time(), self._woken_event)

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._woken_event.set()

    def _take(self, ids: frozenset[str]) -> None:
        self._woken |= ids
        self._woken_event.set()

    # --- whom to call now --------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start what may run, and come back when the next one may."""
        if self._loop is None or self._is_stopping:
            return
        now = now_us()
        for job in self._queues.start(now):
            task = self._loop.create_task(self._do(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._timer is not None:
            self._timer.cancel()
        when = self._queues.next_time()
        seconds = None if when is None else max(0.001, (when - now) / _SECOND)
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._start)

    async def _do(self, job: Job) -> None:
        kind, id = job
        again: int | None = None
        try:
            again = await (self._take_turn(id) if kind == "turn" else self._replay(id))
        except Exception:
            _log.exception("webhook: the %s of %s was broken off; trying again", kind, id)
            again = now_us() + int(_FAILURE_SECONDS * _SECOND)
        finally:
            self._queues.finish(job, again)
            self._start()

    async def _take_turn(self, subscription_id: str) -> int | None:
        """Do what a webhook has to do; gives when it wants its next turn."""
        turn = await asyncio.to_thread(self._webhooks.turn, subscription_id, _NOTIFICATIONS_A_TURN)
        if turn is None:
            return None
        webhook = turn.webhook
        if turn.is_early:
            return webhook.next_attempt
        if webhook.state == PENDING:
            return await self._shake_hands(webhook)
        tried = webhook.attempts
        if turn.digest is not None:
            transition = await self._send(webhook, turn.digest.last, tried + 1, tried + 1, digest=turn.digest)
            return None if transition.action == "refuse" else transition.next_attempt
        for notification in turn.notifications:
            if self._is_stopping:
                return None
            transition = await self._send(webhook, notification, tried + 1, tried + 1)
            if transition.action != "go on":
                # The next turn finds out whether what was parked has paused the webhook.
                return None if transition.action == "refuse" else transition.next_attempt
            tried = 0
        return 0 if len(turn.notifications) == _NOTIFICATIONS_A_TURN else None

    async def _replay(self, notification_id: str) -> int | None:
        """Try a parked notification again; gives when it is to be tried once more."""
        replay = await asyncio.to_thread(self._webhooks.replay_of, notification_id)
        if replay is None:
            return None
        if replay.next_attempt > now_us():
            return replay.next_attempt
        transition = await self._send(
            *(replay.webhook, replay.notification, replay.attempts + 1, replay.tries + 1),
            is_replay=True,
            digest=replay.digest,
        )
        return transition.next_attempt if transition.action == "again" else None

    # --- calling -----------------------------------------------------------------------------------------

    async def _shake_hands(self, webhook: Webhook) -> int | None:
        """Ask a receiver, once, whether it wants to be one: an address that does not agree is left alone."""
        id, challenge, at = f"handshake-{secrets.token_hex(8)}", new_challenge(), now_us()
        answer = await self._call(webhook, id, handshake_body(webhook.subscription_id, challenge, at))
        problem = handshake_problem(answer, challenge)
        attempt = _attempt(webhook, id, at, 1, answer, problem)
        action: Action = "confirm" if problem is None else "refuse"
        await self._attempt_log.submit([Transition(attempt, webhook.created, None, action)])
        if problem is not None:
            _log.warning("webhook of %s refused: %s", webhook.subscription_id, problem)
            return None
        self._take(frozenset([webhook.subscription_id]))  # replays have waited for it
        return 0

    async def _send(
        self,
        webhook: Webhook,
        notification: FeedRow,
        number: int,
        tries: int,
        *,
        is_replay: bool = False,
        digest: Digest | None = None,
    ) -> Transition:
        """Attempt number `number` at a notification, which is number `tries` since it was parked, if it was.

        Of a digest, the notification is its last one.
        """
        body = await asyncio.to_thread(self._body, notification, digest)
        at = now_us()
        answer = await self._call(webhook, notification.id, body)
        attempt = _attempt(webhook, notification.id, at, number, answer, answer.error)
        action, next_attempt = self._after(answer, answer.error, tries)
        if digest is not None and not is_replay and action in ("go on", "park"):
            next_attempt = now_us() + int((webhook.digest_seconds or 0) * _SECOND)
        after = None if digest is None else digest.after
        transition = Transition(attempt, webhook.created, notification.seq, action, next_attempt, is_replay, after)
        await self._attempt_log.submit([transition])
        if action in ("park", "refuse"):
            _log.warning(
                "webhook of %s: notification %s parked: %s", webhook.subscription_id, notification.id, answer.error
            )
        return transition

    def _body(self, notification: FeedRow, digest: Digest | None) -> bytes:
        if digest is None:
            return notification_body(notification, self._event_of(notification.event_id))
        events = {each.event_id for each in digest.first}
        return digest_body(digest, {id: self._event_of(id) for id in events})

    def _record(self, transitions: list[Transition]) -> list[None]:
        self._webhooks.record(transitions, self._delivery.pause_rule)
        return [None] * len(transitions)

    async def _call(self, webhook: Webhook, id: str, body: bytes) -> CallResult:
        assert self._caller is not None
        headers = signed_headers(webhook.secret, id, now_us() // _SECOND, body)
        return await self._caller.call(webhook.url, headers, body)

    def _after(self, answer: CallResult, problem: str | None, tries: int) -> tuple[Action, int]:
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


def _attempt(
    webhook: Webhook, id: str, at: int, number: int, answer: CallResult, problem: str | None
) -> DeliveryAttempt:
    outcome: AttemptOutcome = "delivered" if problem is None else "failed"
    if answer.refused or answer.status == GONE:
        outcome = "refused"
    return DeliveryAttempt(
        id, webhook.subscription_id, at, answer.seconds, number, answer.status, problem, outcome
    )


def _host(due: DueJob) -> str:
    try:
        return parse_url(due.url).host
    except AddressError:  # of an earlier version's taste; the call will say what is wrong
        return ""


async def _at_most(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, but not longer than this."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await event.wait()
    except TimeoutError:
        return
