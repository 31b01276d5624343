"""The durable state of webhooks: receivers, cursors, attempts and parked notifications.

A webhook reads the rows of its subscription from the feed in order; its cursor moves in the transaction that
records the attempt. A crash between a call and its record repeats the call under the same id, and skips nothing.
All methods block, and may be called from several threads and processes.
"""

from __future__ import annotations

import builtins
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, exists, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement

from tamis.service.names import qualified_name, tenant_of
from tamis.service.webhooks import tables
from tamis.service.webhooks.addresses import AddressError, Gate
from tamis.service.webhooks.failed_filter import EVERY_FAILED, FailedFilter
from tamis.service.webhooks.records import (
    DeliveryAttempt,
    Digest,
    DueJob,
    FeedRow,
    NotificationDelivery,
    ParkedDelivery,
    Replay,
    ReplayResult,
    Transition,
    Turn,
    Webhook,
    WebhookError,
    WebhookStatus,
)
from tamis.service.webhooks.settings import NEVER, PauseRule
from tamis.service.webhooks.signatures import new_secret
from tamis.service.webhooks.status import (
    WEBHOOK_COLUMNS,
    count_deliveries,
    notification_deliveries,
    webhook_statuses,
)
from tamis.service.webhooks.tables import (
    CONFIRMED,
    PAUSED,
    PENDING,
    REFUSED,
    attempts,
    failed,
    feed,
    of_tenant,
    webhooks,
)
from tamis.service.webhooks.transitions import record_transitions
from tamis.sql.database import Database
from tamis.store.records import now_us

_IDS_AT_ONCE = 500
"""How many ids one question may name."""
_ASK_ALL = 10_000
"""For more ids than this it is quicker to look through all webhooks."""
_MOST_OF_DIGEST = 10_000
"""Notifications that are one message; those beyond are in the next."""
_FIRST_OF_DIGEST = 10
_SUBSCRIPTIONS_OF_DIGEST = 100
_FAILED_COLUMNS = [failed.c[name] for name in ParkedDelivery.__dataclass_fields__]
_FEED_COLUMNS = [feed.c[name] for name in FeedRow._fields]


class Webhooks:
    """The webhooks of a feed's database."""

    def __init__(self, database: Database, *, gate: Gate | None = None, create: bool = True) -> None:
        """Use the database that has the feed.

        Args:
            database: With the feed.
            gate: What says which addresses may be called; only public ones, if not given.
            create: Make the tables that are not there?
        """
        self._database = database
        self._gate = gate or Gate()
        if create:
            database.prepare(tables.metadata)

    # --- what a subscriber does --------------------------------------------------------------------------

    def add(
        self,
        subscription_id: str,
        url: str,
        *,
        connection: Connection | None = None,
        secret: str | None = None,
        state: str = PENDING,
        digest_seconds: float | None = None,
    ) -> str:
        """Deliver what a subscription matches from now on; one that is there is replaced.

        Args:
            subscription_id: With the tenant in front.
            url: The receiver, http or https.
            connection: To take part in a transaction.
            secret: Of a backup; a new one by default.
            state: Of a backup; by default the receiver has to agree first.
            digest_seconds: Gather notifications for so long into one message; None for one message each.

        Returns:
            The secret with which calls are signed, to be shown once.

        Raises:
            WebhookError: The URL cannot be one, or may not be called.
        """
        try:
            self._gate.check(url)
        except AddressError as error:
            raise WebhookError(str(error), subscription_id=subscription_id) from error
        secret, now = secret or new_secret(), now_us()
        newest = select(func.coalesce(func.max(feed.c.seq), 0)).scalar_subquery()
        row = {
            "subscription_id": subscription_id,
            "url": url,
            "secret": secret,
            "state": state,
            "cursor": newest,
            "attempts": 0,
            "next_attempt": 0,
            "created": now,
            "since": now,
            "digest_seconds": digest_seconds,
        }
        with self._writing(connection) as transaction:
            transaction.execute(delete(webhooks).where(webhooks.c.subscription_id == subscription_id))
            transaction.execute(delete(failed).where(failed.c.subscription_id == subscription_id))
            transaction.execute(insert(webhooks).values(**row))
        return secret

    def remove(self, subscription_id: str, *, connection: Connection | None = None) -> bool:
        """Stop; what was parked goes with it, the record of attempts stays. Was there one?"""
        with self._writing(connection) as transaction:
            transaction.execute(delete(failed).where(failed.c.subscription_id == subscription_id))
            gone = transaction.execute(delete(webhooks).where(webhooks.c.subscription_id == subscription_id))
            return gone.rowcount > 0

    def resume(self, subscription_id: str) -> None:
        """Shake hands again with a receiver that has refused or is paused; if it agrees, go on where it was.

        Raises:
            WebhookError: There is no such webhook, or it is neither refused nor paused.
        """
        values = {"state": PENDING, "reason": None, "attempts": 0, "next_attempt": 0, "since": now_us()}
        mine = webhooks.c.subscription_id == subscription_id
        stopped = webhooks.c.state.in_([PAUSED, REFUSED])
        with self._writing() as connection:
            if connection.execute(update(webhooks).where(mine, stopped).values(**values)).rowcount == 0:
                state = connection.execute(select(webhooks.c.state).where(mine)).scalar_one_or_none()
                msg = "there is none" if state is None else f"it is {state}, neither paused nor refused"
                raise WebhookError(msg, "unknown" if state is None else "running", subscription_id)

    def replay(self, notification_id: str, *, tenant: str | None = None) -> str:
        """Deliver a parked notification again, under the same id; it overtakes what is waiting.

        Args:
            notification_id: Of which.
            tenant: Whose it has to be.

        Returns:
            The id of its subscription, for `Deliverer.wake`.

        Raises:
            WebhookError: It is not parked, is not in the feed any more, or the receiver wants no calls.
        """
        with self._writing() as connection:
            values = {"tries": 0, "next_attempt": now_us()}
            mine = [failed.c.notification_id == notification_id, *of_tenant(failed.c.subscription_id, tenant)]
            if connection.execute(update(failed).where(*mine).values(**values)).rowcount == 0:
                msg = f"there is no failed delivery of a notification {notification_id!r}"
                raise WebhookError(msg, "unknown")
            query = select(webhooks.c.subscription_id, webhooks.c.state, feed.c.id).select_from(
                failed.join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id).outerjoin(
                    feed, feed.c.id == failed.c.notification_id
                )
            )
            found = connection.execute(query.where(failed.c.notification_id == notification_id)).one_or_none()
            if found is None or found.state == REFUSED:
                msg = f"notification {notification_id!r} has no webhook that wants it"
                raise WebhookError(msg, "unwanted")
            if found.id is None:
                msg = f"notification {notification_id!r} is not in the feed any more"
                raise WebhookError(msg, "expired")
            subscription_id: str = found.subscription_id
            return subscription_id

    def replay_many(self, which: FailedFilter) -> ReplayResult:
        """Deliver all parked notifications again that a filter names and that can be delivered."""
        now, still = now_us(), failed.c.next_attempt.is_(None)
        has_webhook = exists().where(
            webhooks.c.subscription_id == failed.c.subscription_id, webhooks.c.state != REFUSED
        )
        is_kept = exists().where(feed.c.id == failed.c.notification_id)
        with self._writing() as connection:
            ready = [*which.clauses(), still, has_webhook, is_kept]
            ids = connection.execute(select(failed.c.subscription_id).where(*ready).distinct()).scalars().all()
            values = {"tries": 0, "next_attempt": now}
            replayed = connection.execute(update(failed).where(*ready).values(**values)).rowcount
            left = select(func.count()).select_from(failed).where(*which.clauses(), still)
            return ReplayResult(replayed, connection.execute(left).scalar_one(), frozenset(ids))

    # --- reading -----------------------------------------------------------------------------------------

    def get(self, subscription_id: str) -> Webhook | None:
        """The webhook of a subscription."""
        rows = self._rows(select(*WEBHOOK_COLUMNS).where(webhooks.c.subscription_id == subscription_id))
        return Webhook(*rows[0]) if rows else None

    def get_many(self, subscription_ids: Collection[str]) -> dict[str, Webhook]:
        """The webhooks of those subscriptions that have one."""
        found: dict[str, Webhook] = {}
        for ids in _parts(subscription_ids):
            rows = self._rows(select(*WEBHOOK_COLUMNS).where(webhooks.c.subscription_id.in_(ids)))
            found |= {row[0]: Webhook(*row) for row in rows}
        return found

    def list(
        self, *, tenant: str | None = None, after: str = "", limit: int | None = None
    ) -> builtins.list[Webhook]:
        """Webhooks in the order of their subscriptions' ids, which come after `after`."""
        mine = of_tenant(webhooks.c.subscription_id, tenant)
        query = select(*WEBHOOK_COLUMNS).where(webhooks.c.subscription_id > after, *mine)
        return [Webhook(*row) for row in self._rows(query.order_by(webhooks.c.subscription_id).limit(limit))]

    def parked_deliveries(
        self, which: FailedFilter = EVERY_FAILED, *, after: int = 0, limit: int | None = None
    ) -> builtins.list[ParkedDelivery]:
        """What was parked, in the order of the feed, after number `after` of it."""
        query = select(*_FAILED_COLUMNS).where(failed.c.seq > after, *which.clauses())
        return [ParkedDelivery(*row) for row in self._rows(query.order_by(failed.c.seq).limit(limit))]

    def attempts(self, notification_id: str) -> builtins.list[DeliveryAttempt]:
        """Every call that was made for a notification, the oldest first."""
        return self._attempts(attempts.c.notification_id == notification_id, newest=False, limit=None)

    def recent_attempts(self, subscription_id: str, limit: int = 100) -> builtins.list[DeliveryAttempt]:
        """The last calls of a webhook, handshakes included, the newest first."""
        return self._attempts(attempts.c.subscription_id == subscription_id, newest=True, limit=limit)

    def counts(self, *, tenant: str | None = None) -> dict[str, int]:
        """How many webhooks there are by state, and deliveries that are not done; see `count_deliveries`."""
        return count_deliveries(self._database, tenant=tenant)

    def statuses(self, **filters: Any) -> builtins.list[WebhookStatus]:
        """Webhooks with what they have yet to do; the filters are those of `webhook_statuses`."""
        return webhook_statuses(self._database, **filters)

    def deliveries(self, notifications: Sequence[tuple[str, str, int]]) -> dict[str, NotificationDelivery]:
        """What became of notifications; see `notification_deliveries`."""
        return notification_deliveries(self._database, notifications)

    def trim(self, before: int) -> int:
        """Forget the attempts from before a time, and what was parked and is not in the feed any more."""
        is_kept = exists().where(feed.c.id == failed.c.notification_id)
        with self._writing() as connection:
            gone = connection.execute(delete(attempts).where(attempts.c.at < before)).rowcount
            return gone + connection.execute(delete(failed).where(~is_kept)).rowcount

    # --- what the deliverer does -------------------------------------------------------------------------

    def due(self, subscription_ids: Collection[str] | None = None) -> builtins.list[DueJob]:
        """Everything that is to be done, now or later, of all webhooks or some."""
        if subscription_ids is None or len(subscription_ids) > _ASK_ALL:
            return self._due([])
        return [
            due for ids in _parts(subscription_ids) for due in self._due([webhooks.c.subscription_id.in_(ids)])
        ]

    def subscriptions_between(self, after: int, upto: int) -> set[str]:
        """The subscriptions with a webhook that have notifications between two numbers of the feed."""
        query = select(feed.c.subscription_id).where(feed.c.seq > after, feed.c.seq <= upto).distinct()
        query = query.join(webhooks, webhooks.c.subscription_id == feed.c.subscription_id)
        return {row[0] for row in self._rows(query)}

    def turn(self, subscription_id: str, limit: int) -> Turn | None:
        """What a webhook has to do next, which may be nothing yet; None if it is gone, paused or refused."""
        webhook = self.get(subscription_id)
        if webhook is None or webhook.state in (PAUSED, REFUSED):
            return None
        if webhook.next_attempt > now_us():
            return Turn(webhook, is_early=True)
        if webhook.state == PENDING:
            return Turn(webhook)
        if webhook.digest_seconds is not None:
            return Turn(webhook, digest=self._next_digest(webhook))
        mine = and_(feed.c.subscription_id == subscription_id, feed.c.seq > webhook.cursor)
        rows = self._rows(select(*_FEED_COLUMNS).where(mine).order_by(feed.c.seq).limit(limit))
        return Turn(webhook, tuple(FeedRow(*row) for row in rows))

    def _next_digest(self, webhook: Webhook) -> Digest | None:
        """The digest that is due, which is the same until it is delivered or parked; None if there is nothing."""
        if webhook.digest_upto is not None:
            digest = self._digest(webhook.subscription_id, webhook.cursor, webhook.digest_upto)
            if digest is not None:
                return digest  # else its last notification is not kept any more
        mine = and_(feed.c.subscription_id == webhook.subscription_id, feed.c.seq > webhook.cursor)
        gathered = select(feed.c.seq).where(mine).order_by(feed.c.seq).limit(_MOST_OF_DIGEST).subquery()
        upto = self._rows(select(func.max(gathered.c.seq)))[0][0]
        if upto is None:
            return None
        # Whoever else delivers meanwhile has fixed a digest, or moved the cursor: then this one is not ours.
        same = ("subscription_id", "created", "cursor", "digest_upto")
        this = and_(*(webhooks.c[name].is_not_distinct_from(getattr(webhook, name)) for name in same))
        with self._writing() as connection:
            is_fixed = connection.execute(update(webhooks).where(this).values(digest_upto=upto)).rowcount > 0
        return self._digest(webhook.subscription_id, webhook.cursor, upto) if is_fixed else None

    def _digest(self, subscription_id: str, after: int, upto: int) -> Digest | None:
        """The notifications between two numbers as one message; None if the last of them is not kept any more."""
        mine = and_(feed.c.subscription_id == subscription_id, feed.c.seq > after, feed.c.seq <= upto)
        rows = self._rows(select(*_FEED_COLUMNS).where(mine).order_by(feed.c.seq).limit(_FIRST_OF_DIGEST))
        last = self._rows(select(*_FEED_COLUMNS).where(mine, feed.c.seq == upto))
        if not last:
            return None
        first, tenant = tuple(FeedRow(*row) for row in rows), tenant_of(subscription_id)
        every = [text for (text,) in self._rows(select(feed.c.subscriptions).where(mine))]
        counts = Counter(
            id
            for text in every
            for id in (
                [subscription_id]
                if text is None
                else [qualified_name(tenant, each["id"]) for each in json.loads(text)]
            )
        )
        listed = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_SUBSCRIPTIONS_OF_DIGEST]
        return Digest(after, FeedRow(*last[0]), len(every), first, tuple(listed))

    def replay_of(self, notification_id: str) -> Replay | None:
        """The parked notification that is to be tried again, if it still is and its receiver takes calls."""
        columns = [failed.c.attempts.label("tried"), failed.c.tries, failed.c.next_attempt.label("when")]
        columns.append(failed.c.digest_after)
        query = (
            select(*columns, *WEBHOOK_COLUMNS, *_FEED_COLUMNS)
            .select_from(
                failed.join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id).join(
                    feed, feed.c.id == failed.c.notification_id
                )
            )
            .where(failed.c.notification_id == notification_id)
            .where(failed.c.next_attempt.is_not(None), webhooks.c.state == CONFIRMED)
        )
        for row in self._rows(query):
            tried, tries, when, after, *rest = row
            webhook = Webhook(*rest[: len(WEBHOOK_COLUMNS)])
            notification = FeedRow(*rest[len(WEBHOOK_COLUMNS) :])
            digest = None if after is None else self._digest(webhook.subscription_id, after, notification.seq)
            return Replay(webhook, notification, tried, tries, when, digest)
        return None

    def record(self, steps: builtins.list[Transition], pause: PauseRule = NEVER) -> None:
        """Note attempts and what follows from them, all or nothing; see `record_transitions`."""
        with self._writing() as connection:
            record_transitions(connection, steps, pause)

    # --- inside ------------------------------------------------------------------------------------------

    def _due(self, which: builtins.list[ColumnElement[bool]]) -> builtins.list[DueJob]:
        following = (
            select(feed.c.priority)
            .where(feed.c.subscription_id == webhooks.c.subscription_id, feed.c.seq > webhooks.c.cursor)
            .order_by(feed.c.seq)
            .limit(1)
            .correlate(webhooks)
            .scalar_subquery()
        )
        turn = (webhooks.c.subscription_id, webhooks.c.url, webhooks.c.next_attempt, func.coalesce(following, 0))
        turns = select(*turn).where(
            or_(webhooks.c.state == PENDING, and_(webhooks.c.state == CONFIRMED, following.is_not(None))), *which
        )
        of_replay = select(feed.c.priority).where(feed.c.id == failed.c.notification_id).correlate(failed)
        priority = func.coalesce(of_replay.scalar_subquery(), 0)
        replays = (
            select(failed.c.notification_id, webhooks.c.url, failed.c.next_attempt, priority)
            .join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id)
            .where(failed.c.next_attempt.is_not(None), webhooks.c.state == CONFIRMED, *which)
            .order_by(failed.c.seq)
        )
        return [DueJob("turn", *row) for row in self._rows(turns)] + [
            DueJob("replay", *row) for row in self._rows(replays)
        ]

    def _attempts(
        self, which: ColumnElement[bool], *, newest: bool, limit: int | None
    ) -> builtins.list[DeliveryAttempt]:
        columns = [attempts.c[name] for name in DeliveryAttempt.__dataclass_fields__]
        order = attempts.c.number.desc() if newest else attempts.c.number
        return [
            DeliveryAttempt(*row) for row in self._rows(select(*columns).where(which).order_by(order).limit(limit))
        ]

    def _rows(self, query: Select[Any]) -> builtins.list[tuple[Any, ...]]:
        with self._database.reading() as connection:
            return [tuple(row) for row in connection.execute(query)]

    @contextmanager
    def _writing(self, connection: Connection | None = None) -> Iterator[Connection]:
        if connection is not None:
            yield connection
            return
        with self._database.writing() as mine:
            yield mine


def _parts(ids: Collection[str]) -> Iterator[builtins.list[str]]:
    ordered = builtins.list(ids)
    for first in range(0, len(ordered), _IDS_AT_ONCE):
        yield ordered[first : first + _IDS_AT_ONCE]
