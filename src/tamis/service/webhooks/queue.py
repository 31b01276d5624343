"""Who is to be called, how far each receiver has got, and what came of every attempt.

Each webhook walks along its subscription's rows of the feed in their order; its cursor moves in the same
transaction that records the attempt. So what is killed between a call and its record makes the call again, under
the same id, and nothing is left out. All methods may be called from several threads and processes, and block.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Select, and_, delete, exists, func, insert, or_, select, update
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.elements import KeyedColumnElement

from tamis.service.webhooks import tables
from tamis.service.webhooks.addresses import AddressError, Gate
from tamis.service.webhooks.recording import record
from tamis.service.webhooks.records import (
    Attempt,
    Due,
    Failed,
    Notification,
    Replay,
    Step,
    Turn,
    Webhook,
    WebhookError,
)
from tamis.service.webhooks.signing import new_secret
from tamis.service.webhooks.tables import CONFIRMED, PENDING, REFUSED, attempts, failed, feed, webhooks
from tamis.store.records import now_us

_IDS_AT_ONCE = 500
"""How many ids one question may name."""
_ASK_ALL = 10_000
"""For more ids than this it is quicker to look through all webhooks."""
_FAILED_COLUMNS = [failed.c[name] for name in Failed.__dataclass_fields__]
_FEED_COLUMNS = [feed.c[name] for name in Notification._fields]
_WEBHOOK_COLUMNS = [webhooks.c[name] for name in Webhook.__dataclass_fields__]


class Webhooks:
    """The webhooks of a feed's database."""

    def __init__(self, engine: Engine, *, gate: Gate | None = None, create: bool = True) -> None:
        """Use the database that has the feed.

        Args:
            engine: Of that database.
            gate: What says which addresses may be called; only public ones, if not given.
            create: Make the tables that are not there?
        """
        self._engine = engine
        self._gate = gate or Gate()
        if create:
            tables.metadata.create_all(engine)

    # --- what a subscriber does --------------------------------------------------------------------------

    def add(self, subscription_id: str, url: str, *, connection: Connection | None = None) -> str:
        """Deliver what a subscription matches from now on; one that is there is replaced.

        Args:
            subscription_id: With the tenant in front.
            url: The receiver, http or https.
            connection: To take part in a transaction.

        Returns:
            The secret with which calls are signed, to be shown once.

        Raises:
            WebhookError: The URL cannot be one, or may not be called.
        """
        try:
            self._gate.check(url)
        except AddressError as error:
            msg = f"webhook of subscription {subscription_id!r}: {error}"
            raise WebhookError(msg) from error
        secret = new_secret()
        newest = select(func.coalesce(func.max(feed.c.seq), 0)).scalar_subquery()
        row = {
            "subscription_id": subscription_id,
            "url": url,
            "secret": secret,
            "state": PENDING,
            "cursor": newest,
            "attempts": 0,
            "next_attempt": 0,
            "created": now_us(),
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

    def reopen(self, subscription_id: str) -> None:
        """Shake hands again with a receiver that has refused, and go on where it was.

        Raises:
            WebhookError: There is no such webhook, or it is not refused.
        """
        values = {"state": PENDING, "reason": None, "attempts": 0, "next_attempt": 0}
        mine = and_(webhooks.c.subscription_id == subscription_id, webhooks.c.state == REFUSED)
        with self._writing() as connection:
            if connection.execute(update(webhooks).where(mine).values(**values)).rowcount == 0:
                msg = f"subscription {subscription_id!r} has no webhook that was refused"
                raise WebhookError(msg)

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
            mine = [failed.c.notification_id == notification_id, *_of_tenant(failed.c.subscription_id, tenant)]
            if connection.execute(update(failed).where(*mine).values(**values)).rowcount == 0:
                msg = f"there is no failed delivery of a notification {notification_id!r}"
                raise WebhookError(msg)
            query = select(webhooks.c.subscription_id, webhooks.c.state, feed.c.id).select_from(
                failed.join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id).outerjoin(
                    feed, feed.c.id == failed.c.notification_id
                )
            )
            found = connection.execute(query.where(failed.c.notification_id == notification_id)).one_or_none()
            if found is None or found.state == REFUSED:
                msg = f"notification {notification_id!r} has no webhook that wants it"
                raise WebhookError(msg)
            if found.id is None:
                msg = f"notification {notification_id!r} is not in the feed any more"
                raise WebhookError(msg)
            subscription_id: str = found.subscription_id
            return subscription_id

    # --- reading -----------------------------------------------------------------------------------------

    def get(self, subscription_id: str) -> Webhook | None:
        """The webhook of a subscription."""
        rows = self._rows(select(*_WEBHOOK_COLUMNS).where(webhooks.c.subscription_id == subscription_id))
        return Webhook(*rows[0]) if rows else None

    def get_many(self, subscription_ids: Collection[str]) -> dict[str, Webhook]:
        """The webhooks of those subscriptions that have one."""
        found: dict[str, Webhook] = {}
        for ids in _parts(subscription_ids):
            rows = self._rows(select(*_WEBHOOK_COLUMNS).where(webhooks.c.subscription_id.in_(ids)))
            found |= {row[0]: Webhook(*row) for row in rows}
        return found

    def list(
        self, *, tenant: str | None = None, after: str = "", limit: int | None = None
    ) -> builtins.list[Webhook]:
        """Webhooks in the order of their subscriptions' ids, which come after `after`."""
        mine = _of_tenant(webhooks.c.subscription_id, tenant)
        query = select(*_WEBHOOK_COLUMNS).where(webhooks.c.subscription_id > after, *mine)
        return [Webhook(*row) for row in self._rows(query.order_by(webhooks.c.subscription_id).limit(limit))]

    def failed(
        self, *, tenant: str | None = None, after: int = 0, limit: int | None = None
    ) -> builtins.list[Failed]:
        """What was parked, in the order of the feed, after number `after` of it."""
        mine = _of_tenant(failed.c.subscription_id, tenant)
        query = select(*_FAILED_COLUMNS).where(failed.c.seq > after, *mine).order_by(failed.c.seq).limit(limit)
        return [Failed(*row) for row in self._rows(query)]

    def attempts(self, notification_id: str) -> builtins.list[Attempt]:
        """Every call that was made for a notification, the oldest first."""
        return self._attempts(attempts.c.notification_id == notification_id, newest=False, limit=None)

    def recent_attempts(self, subscription_id: str, limit: int = 100) -> builtins.list[Attempt]:
        """The last calls of a webhook, handshakes included, the newest first."""
        return self._attempts(attempts.c.subscription_id == subscription_id, newest=True, limit=limit)

    def counts(self, *, tenant: str | None = None) -> dict[str, int]:
        """How many webhooks there are by state, and how many notifications are parked (`failed`)."""
        mine = _of_tenant(webhooks.c.subscription_id, tenant)
        rows = self._rows(select(webhooks.c.state, func.count()).where(*mine).group_by(webhooks.c.state))
        counts = {state: int(number) for state, number in rows}
        parked_mine = _of_tenant(failed.c.subscription_id, tenant)
        parked = self._rows(select(func.count()).select_from(failed).where(*parked_mine))[0][0]
        return {PENDING: 0, CONFIRMED: 0, REFUSED: 0} | counts | {"failed": int(parked)}

    def trim(self, before: int) -> int:
        """Forget the attempts and parked notifications from before a time; gives how many."""
        with self._writing() as connection:
            gone = connection.execute(delete(attempts).where(attempts.c.at < before)).rowcount
            old = and_(failed.c.at < before, failed.c.next_attempt.is_(None))
            return gone + connection.execute(delete(failed).where(old)).rowcount

    # --- what the deliverer does -------------------------------------------------------------------------

    def due(self, subscription_ids: Collection[str] | None = None) -> builtins.list[Due]:
        """Everything that is to be done, now or later, of all webhooks or some."""
        if subscription_ids is None or len(subscription_ids) > _ASK_ALL:
            return self._due([])
        return [
            due for ids in _parts(subscription_ids) for due in self._due([webhooks.c.subscription_id.in_(ids)])
        ]

    def touched(self, after: int, upto: int) -> set[str]:
        """The subscriptions with a webhook that have notifications between two numbers of the feed."""
        query = select(feed.c.subscription_id).where(feed.c.seq > after, feed.c.seq <= upto).distinct()
        query = query.join(webhooks, webhooks.c.subscription_id == feed.c.subscription_id)
        return {row[0] for row in self._rows(query)}

    def turn(self, subscription_id: str, limit: int) -> Turn | None:
        """What a webhook has to do next, which may be nothing yet; None if it is gone or refused."""
        webhook = self.get(subscription_id)
        if webhook is None or webhook.state == REFUSED:
            return None
        if webhook.state == PENDING:
            return Turn(webhook, ())
        mine = and_(feed.c.subscription_id == subscription_id, feed.c.seq > webhook.cursor)
        rows = self._rows(select(*_FEED_COLUMNS).where(mine).order_by(feed.c.seq).limit(limit))
        return Turn(webhook, tuple(Notification(*row) for row in rows))

    def replay_of(self, notification_id: str) -> Replay | None:
        """The parked notification that is to be tried again, if it still is and its receiver takes calls."""
        columns = [failed.c.attempts.label("tried"), failed.c.tries, failed.c.next_attempt.label("when")]
        query = (
            select(*columns, *_WEBHOOK_COLUMNS, *_FEED_COLUMNS)
            .select_from(
                failed.join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id).join(
                    feed, feed.c.id == failed.c.notification_id
                )
            )
            .where(failed.c.notification_id == notification_id)
            .where(failed.c.next_attempt.is_not(None), webhooks.c.state == CONFIRMED)
        )
        for row in self._rows(query):
            tried, tries, when, *rest = row
            webhook, notification = rest[: len(_WEBHOOK_COLUMNS)], rest[len(_WEBHOOK_COLUMNS) :]
            return Replay(Webhook(*webhook), Notification(*notification), tried, tries, when)
        return None

    def record(self, steps: builtins.list[Step]) -> None:
        """Note attempts and what follows from them, all or nothing."""
        with self._writing() as connection:
            record(connection, steps)

    # --- inside ------------------------------------------------------------------------------------------

    def _due(self, which: builtins.list[ColumnElement[bool]]) -> builtins.list[Due]:
        is_behind = exists().where(
            feed.c.subscription_id == webhooks.c.subscription_id, feed.c.seq > webhooks.c.cursor
        )
        turns = select(webhooks.c.subscription_id, webhooks.c.url, webhooks.c.next_attempt).where(
            or_(webhooks.c.state == PENDING, and_(webhooks.c.state == CONFIRMED, is_behind)), *which
        )
        replays = (
            select(failed.c.notification_id, webhooks.c.url, failed.c.next_attempt)
            .join(webhooks, webhooks.c.subscription_id == failed.c.subscription_id)
            .where(failed.c.next_attempt.is_not(None), webhooks.c.state == CONFIRMED, *which)
        )
        return [Due("turn", *row) for row in self._rows(turns)] + [
            Due("replay", *row) for row in self._rows(replays)
        ]

    def _attempts(self, which: ColumnElement[bool], *, newest: bool, limit: int | None) -> builtins.list[Attempt]:
        columns = [attempts.c[name] for name in Attempt.__dataclass_fields__]
        order = attempts.c.number.desc() if newest else attempts.c.number
        return [Attempt(*row) for row in self._rows(select(*columns).where(which).order_by(order).limit(limit))]

    def _rows(self, query: Select[Any]) -> builtins.list[tuple[Any, ...]]:
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(query)]

    @contextmanager
    def _writing(self, connection: Connection | None = None) -> Iterator[Connection]:
        if connection is not None:
            yield connection
            return
        with self._engine.connect().execution_options(tamis_writes=True) as mine, mine.begin():
            yield mine


def _of_tenant(id: KeyedColumnElement[str], tenant: str | None) -> builtins.list[ColumnElement[bool]]:
    """That an id starts with the tenant's name and a slash; `0` is the character after it."""
    return [] if tenant is None else [id >= f"{tenant}/", id < f"{tenant}0"]


def _parts(ids: Collection[str]) -> Iterator[builtins.list[str]]:
    ordered = builtins.list(ids)
    for first in range(0, len(ordered), _IDS_AT_ONCE):
        yield ordered[first : first + _IDS_AT_ONCE]
