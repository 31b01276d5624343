"""The feed: all notifications under growing numbers, the sink that writes them, and the reader.

A batch is written in one transaction with the record of its commit, so it is in the feed once. Numbers become
visible in their order: a reader that keeps the last number it has seen misses nothing and sees nothing twice. A
notification keeps its number when its event is matched again. Within a batch those of higher priority have lower
numbers.

The matches of one event with subscriptions of one subscriber are one message, a row of its own that is written in
the same transaction. Its id is a function of the event and the subscriber: the first 32 hexadecimal digits of
the SHA-256 hash of the number of characters of the event id, `:`, the event id and the subscriber's address, as
UTF-8. A batch that is done again is matched with the same version of the subscriptions, and so names the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, Table, and_, func, or_, select
from sqlalchemy.sql import ColumnElement

from tamis.notifications import dead_letter_ids
from tamis.service.feed_tables import commits, dead_letters, feed, metadata
from tamis.service.inbox import counts_between, first_since
from tamis.service.names import local_name, subscriber_of, tenant_of
from tamis.service.peers.outbox import Places, split_forwards, write_forwards
from tamis.sinks.base import BatchKey, Committed, Delivery, Part, TaskWriter, without_duplicates
from tamis.sinks.staging import (
    STAGED_DEAD_LETTERS,
    STAGED_NOTIFICATIONS,
    StagedTarget,
    create_staging_tables,
    publish_staged,
    staging_writer,
)
from tamis.sql.commits import commit_once
from tamis.sql.database import Database
from tamis.sql.rows import KEEP, insert_rows
from tamis.store.records import microseconds, moment

View: TypeAlias = Literal["subscription", "subscriber"]
"""How notifications are shown: as matches, or once per event and subscriber."""


class FeedSink:
    """Takes what a batch gave into the feed, exactly once.

    Tasks load it into PostgreSQL; SQLite has one writer, the driver.
    """

    name: ClassVar[str] = "feed"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, url: str, places: Places | None = None) -> None:
        """Connect, and make the tables if need be.

        Args:
            url: Of the database.
            places: Looks up the events that go to neighbours; None for a service that has none. With it the driver
                writes on PostgreSQL, too: an event goes to a neighbour once, whichever tasks found its entries.
        """
        self._places = places
        self._database = Database(url, metadata)
        if not self._database.is_sqlite:
            create_staging_tables(self._database)

    def task_writer(self, batch: BatchKey) -> TaskWriter | None:
        """What tasks load rows with, if they can."""
        if self._database.is_sqlite or self._places is not None:
            return None
        return staging_writer(self._database.engine, batch, with_tenant_ids)

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Take over what tasks have loaded, in one transaction, unless the batch was committed before."""
        key = {"query": batch.query, "batch": batch.batch}
        targets = (
            # Nobody else writes to the feed, so the order of ids need not come first.
            StagedTarget(STAGED_NOTIFICATIONS, feed, key, _FEED_SQL, "priority DESC, id, event_time"),
            StagedTarget(STAGED_DEAD_LETTERS, dead_letters, key, _DEAD_SQL),
            StagedMessages(),
        )
        values = {"at": microseconds(batch.at), "version": batch.version}
        return publish_staged(self._database, batch, parts, commits, key, values, targets)

    def commit(self, delivery: Delivery) -> Committed:
        """Insert what is new of a delivery, unless it was committed before."""
        key = {"query": delivery.query, "batch": delivery.batch}
        new = without_duplicates(replace(delivery, dead=with_tenant_ids(delivery.dead)))
        own, entries = split_forwards(new.notifications)
        new = replace(new, notifications=own)
        count = own.num_rows

        def write() -> tuple[int, int]:
            if self._places is not None and entries.num_rows:
                write_forwards(connection, entries, self._places, microseconds(delivery.at))
            written = _insert(connection, feed, _feed_rows(new, key))
            _insert(connection, feed, _message_rows(new, key))
            _insert(connection, dead_letters, _dead_rows(new, key))
            return written, count - written

        with self._database.writing() as connection:
            values = {"at": microseconds(delivery.at), "version": delivery.version, "dead": new.dead.num_rows}
            return Committed(*commit_once(connection, commits, key, values, write))

    def check(self) -> None:
        """Begin a transaction that may write, and write nothing."""
        with self._database.writing():
            pass

    def describe(self) -> str:
        """What it is and where, without a password."""
        return f"feed in {self._database.where}, exactly once"

    def close(self) -> None:
        self._database.close()


def _insert(connection: Connection, table: Table, columns: Mapping[str, list[Any]]) -> int:
    """Insert the rows whose ids are not there; gives how many that were."""
    rows = zip(*columns.values(), strict=True)
    return insert_rows(connection, table, columns, rows, len(columns["id"]), KEEP)


def with_tenant_ids(dead: pa.Table) -> pa.Table:
    """Dead letters with ids made of the ids of events, too: two tenants may send the same text."""
    ids = dead_letter_ids(dead["event_id"].fill_null(""), dead["id"])
    return dead.set_column(0, dead.schema.field("id"), ids)


def _microseconds_sql(column: str) -> str:
    return f"(extract(epoch FROM {column}) * 1000000)::bigint"


_FEED_SQL = {
    "tenant": "split_part(subscription_id, '/', 1)",
    "subscriber": "CASE WHEN strpos(owner, '/') > 0 THEN owner END",
    **{name: _microseconds_sql(name) for name in ("event_time", "matched_at")},
}
_DEAD_SQL = {"tenant": "split_part(coalesce(event_id, ''), '/', 1)", "at": _microseconds_sql("at")}
"""What differs from the staged columns."""


_COPIED = "id subscription_id event_id event_type revision version label attributes priority".split()


def _feed_rows(delivery: Delivery, key: Mapping[str, Any]) -> dict[str, list[Any]]:
    table = delivery.notifications
    owners = table["owner"].to_pylist()
    columns = {name: table[name].to_pylist() for name in _COPIED}
    columns |= {name: table[name].cast(pa.int64()).to_pylist() for name in ("event_time", "matched_at")}
    columns["tenant"] = [tenant_of(id) for id in columns["subscription_id"]]
    columns["subscriber"] = [None if owner is None or "/" not in owner else owner for owner in owners]
    return columns | {name: [value] * table.num_rows for name, value in key.items()}


def message_id(event_id: str, subscriber: str) -> str:
    """The id of the message to a subscriber, by its address, about an event; the module says how it is computed.

    >>> message_id("acme/e1", "acme/@ann")
    '12d7851f9e215263f296c0071eade527'
    """
    return sha256(f"{len(event_id)}:{event_id}{subscriber}".encode()).hexdigest()[:32]


def _message_rows(delivery: Delivery, key: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The messages to subscribers, of matches that are in the order of their priorities."""
    table = delivery.notifications
    columns = _feed_rows(delivery, key)
    found: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero(np.asarray(pc.fill_null(pc.match_substring(table["owner"], "/"), False))).tolist():
        found.setdefault((columns["event_id"][place], columns["subscriber"][place]), []).append(place)
    rows: dict[str, list[Any]] = {name: [] for name in (*columns, "subscriptions")}
    for (event, subscriber), unordered in found.items():
        places = sorted(unordered, key=lambda at: (-columns["priority"][at], columns["subscription_id"][at]))
        named = [
            {
                "id": local_name(columns["subscription_id"][at]),
                "revision": columns["revision"][at],
                "label": columns["label"][at],
            }
            for at in places
        ]
        own = {"id": message_id(event, subscriber), "subscription_id": subscriber, "revision": 0, "label": None}
        for name, values in columns.items():
            rows[name].append(own[name] if name in own else values[places[0]])
        rows["subscriptions"].append(json.dumps(named, ensure_ascii=False))
    return rows


class StagedMessages:
    """The messages to subscribers, made by PostgreSQL of the matches that tasks have staged."""

    def take(self, connection: Connection, batch: BatchKey, parts: Sequence[Part]) -> int:
        """Insert those that are not there; gives how many."""
        which = (batch.query, batch.batch, [part.token for part in parts])
        return int(connection.exec_driver_sql(_MESSAGES_SQL, which).rowcount)


_MESSAGES_SQL = f"""
INSERT INTO {feed.name} (
    id, tenant, subscription_id, subscriber, event_id, event_type, revision, version, event_time, matched_at,
    query, batch, attributes, priority, subscriptions
)
SELECT left(encode(sha256(convert_to(char_length(event_id) || ':' || event_id || owner, 'UTF8')), 'hex'), 32),
    split_part(owner, '/', 1), owner, owner, event_id, min(event_type), 0, min(version),
    {_microseconds_sql("min(event_time)")}, {_microseconds_sql("min(matched_at)")}, min(query), min(batch),
    max(attributes), max(priority), json_agg(
        json_build_object(
            'id', substr(subscription_id, strpos(subscription_id, '/') + 1), 'revision', revision, 'label', label
        ) ORDER BY priority DESC, subscription_id COLLATE "C"
    )::text
FROM (
    SELECT DISTINCT ON (id) * FROM {STAGED_NOTIFICATIONS}
    WHERE query = %s AND batch = %s AND token = ANY(%s) AND strpos(owner, '/') > 0 ORDER BY id, event_time
) AS matches
GROUP BY event_id, owner ORDER BY max(priority) DESC, 1 ON CONFLICT DO NOTHING
"""


def _dead_rows(delivery: Delivery, key: Mapping[str, Any]) -> dict[str, list[Any]]:
    table = delivery.dead
    columns = {name: table[name].to_pylist() for name in ("id", "event_id", "kind", "reason", "original")}
    columns["at"] = table["at"].cast(pa.int64()).to_pylist()
    columns["tenant"] = [tenant_of(id or "") for id in columns["event_id"]]
    return columns | {name: [value] * table.num_rows for name, value in key.items()}


@dataclass(frozen=True, slots=True)
class TenantNotification:
    """A match in the feed, or the message to a subscriber about an event.

    Attributes:
        seq: Its number, larger than that of every notification before.
        id: The same wherever it goes.
        subscription_id: As the tenant calls it; of a message, `@` and the name of the subscriber.
        event_id: As the tenant calls it.
        event_type: As the tenant calls it.
        revision: Of the subscription.
        version: Of the snapshot that the event was matched with.
        event_time: When the event happened, if it says so.
        matched_at: When the match was made.
        batch: Its number.
        owner: The tenant.
        label: What the subscription was called when it matched, if it had a label.
        attributes: Those of the event that the settings ask for (`keep_attributes`).
        subscriber: Who gets one message for all of its subscriptions, if the subscription has one.
        subscriptions: Of a message, the subscriptions that it names: `id`, `revision` and `label` of each.
    """

    seq: int
    id: str
    subscription_id: str
    event_id: str
    event_type: str
    revision: int
    version: int
    event_time: datetime | None
    matched_at: datetime
    batch: int
    owner: str
    label: str | None
    attributes: dict[str, Any] | None
    subscriber: str | None = None
    subscriptions: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class FeedDeadLetter:
    """An event that could not be matched.

    Attributes:
        seq: Its number among them.
        id: The same for the same text and kind.
        event_id: As the tenant calls it.
        kind: For programs.
        reason: For people.
        original: Its text, as it came.
        at: When.
        batch: In which batch.
    """

    seq: int
    id: str
    event_id: str | None
    kind: str
    reason: str
    original: bytes
    at: datetime
    batch: int


class FeedReader:
    """Reads the feed; thread-safe, and safe beside other processes."""

    def __init__(self, url: str) -> None:
        """Connect, and make the tables if need be."""
        self.database = Database(url, metadata)

    def end(self) -> int:
        """The number of the last notification, 0 if there is none."""
        with self.database.reading() as connection:
            return connection.execute(select(func.max(feed.c.seq))).scalar_one() or 0

    def after(
        self,
        tenant: str,
        seq: int,
        *,
        limit: int,
        subscription: str | None = None,
        upto: int | None = None,
        by: View = "subscription",
    ) -> list[TenantNotification]:
        """The notifications of a tenant with greater numbers, the oldest first.

        Args:
            tenant: Whose.
            seq: After this number.
            limit: At most so many.
            subscription: Of this subscription, or of the subscriber with this address.
            upto: Up to this number.
            by: "subscription" for matches, "subscriber" for messages and the matches that are in none.
        """
        query = select(*_SHOWN).where(feed.c.seq > seq, *_whose(tenant, subscription, by)).order_by(feed.c.seq)
        if upto is not None:
            query = query.where(feed.c.seq <= upto)
        return self._notifications(query.limit(limit))

    def before(
        self,
        tenant: str,
        seq: int | None,
        *,
        limit: int,
        subscription: str | None = None,
        by: View = "subscription",
    ) -> list[TenantNotification]:
        """The notifications of a tenant with smaller numbers, the newest first; see `after`."""
        query = select(*_SHOWN).where(*_whose(tenant, subscription, by)).order_by(feed.c.seq.desc())
        if seq is not None:
            query = query.where(feed.c.seq < seq)
        return self._notifications(query.limit(limit))

    def of_event(self, event_id: str, *, limit: int, after: int = 0) -> list[TenantNotification]:
        """The notifications of an event, by its qualified id, with greater numbers."""
        query = select(*_SHOWN).where(feed.c.event_id == event_id, feed.c.seq > after, _IS_MATCH)
        return self._notifications(query.order_by(feed.c.seq).limit(limit))

    def newest(self, tenant: str | None, *, limit: int) -> list[tuple[str, int, datetime]]:
        """Qualified event, batch and time of match of the last notifications, of a tenant or of all."""
        query = select(feed.c.event_id, feed.c.batch, feed.c.matched_at).order_by(feed.c.seq.desc()).limit(limit)
        query = query.where(_IS_MATCH)
        if tenant is not None:
            query = query.where(feed.c.tenant == tenant)
        with self.database.reading() as connection:
            return [(id, batch, _time(at)) for id, batch, at in connection.execute(query)]

    def get(self, tenant: str, id: str) -> TenantNotification | None:
        """One notification of a tenant."""
        found = self._notifications(select(*_SHOWN).where(feed.c.id == id, feed.c.tenant == tenant))
        return found[0] if found else None

    def since(self, since: datetime, *, most: int) -> int:
        """The number after which everything is since a time, and of the last so many notifications."""
        with self.database.reading() as connection:
            first = first_since(connection, feed.c.seq, feed.c.matched_at, microseconds(since))
            end = connection.execute(select(func.max(feed.c.seq))).scalar_one() or 0
        return max(first - 1, end - most)

    def spans(self, tenant: str, edges: Sequence[datetime], *, subscription: str | None = None) -> list[int]:
        """How many notifications a tenant, or one of its subscriptions, had between each time and the next."""
        us = [microseconds(edge) for edge in edges]
        with self.database.reading() as connection:
            return counts_between(
                connection, feed.c.seq, feed.c.matched_at, and_(*_whose(tenant, subscription)), us
            )

    def counts(self, tenant: str, since: datetime, *, limit: int, after: int = 0) -> list[tuple[str, int]]:
        """The subscriptions of a tenant with most notifications since a time, and how many each has.

        Args:
            tenant: Whose.
            since: From when on.
            limit: So many subscriptions.
            after: Only notifications with greater numbers, as `since` gives it: then nothing older is looked at.
        """
        counted = func.count().label("count")
        query = select(feed.c.subscription_id, counted).where(
            feed.c.tenant == tenant, feed.c.seq > after, feed.c.matched_at >= microseconds(since), _IS_MATCH
        )
        query = query.group_by(feed.c.subscription_id).order_by(counted.desc(), feed.c.subscription_id)
        with self.database.reading() as connection:
            rows = connection.execute(query.limit(limit)).all()
        return [(local_name(row[0]), row[1]) for row in rows]

    def dead_letters(self, tenant: str, *, before: int | None = None, limit: int) -> list[FeedDeadLetter]:
        """The dead letters of a tenant, the newest first."""
        table = dead_letters.c
        query = select(dead_letters).where(table.tenant == tenant).order_by(table.seq.desc()).limit(limit)
        if before is not None:
            query = query.where(table.seq < before)
        with self.database.reading() as connection:
            return [_dead_letter(row) for row in connection.execute(query)]

    def dead_letter(self, tenant: str, id: str) -> FeedDeadLetter | None:
        """One dead letter of a tenant."""
        query = select(dead_letters).where(dead_letters.c.tenant == tenant, dead_letters.c.id == id)
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _dead_letter(row)

    def dead_letter_of(self, event_id: str) -> FeedDeadLetter | None:
        """The last dead letter that an event became, by its qualified id."""
        query = select(dead_letters).where(dead_letters.c.event_id == event_id)
        with self.database.reading() as connection:
            row = connection.execute(query.order_by(dead_letters.c.seq.desc()).limit(1)).first()
        return None if row is None else _dead_letter(row)

    def forget_dead_letter(self, tenant: str, id: str) -> None:
        """Remove a dead letter, after it was published again."""
        with self.database.writing() as connection:
            connection.execute(
                dead_letters.delete().where(dead_letters.c.tenant == tenant, dead_letters.c.id == id)
            )

    def forget(self, before: datetime) -> int:
        """Remove notifications and dead letters from before a time, but not the last; gives how many."""
        us = microseconds(before)
        with self.database.writing() as connection:
            last = connection.execute(select(func.max(feed.c.seq))).scalar_one() or 0
            end = min(first_since(connection, feed.c.seq, feed.c.matched_at, us), last)
            gone = connection.execute(feed.delete().where(feed.c.matched_at < us, feed.c.seq < end)).rowcount
            # The last batch of a query may be done again, however long ago it was.
            same = commits.alias()
            newest = select(func.max(same.c.batch)).where(same.c.query == commits.c.query).scalar_subquery()
            connection.execute(commits.delete().where(commits.c.at < us, commits.c.batch < newest))
            return gone + connection.execute(dead_letters.delete().where(dead_letters.c.at < us)).rowcount

    def close(self) -> None:
        self.database.close()

    def _notifications(self, query: Any) -> list[TenantNotification]:
        with self.database.reading() as connection:
            return [_notification(row) for row in connection.execute(query)]


_IS_MATCH = feed.c.subscriptions.is_(None)


def _whose(tenant: str, subscription: str | None, by: View = "subscription") -> list[ColumnElement[bool]]:
    """Rows of a tenant, or of one of its subscriptions or subscribers by its qualified id or address."""
    if subscription is not None:
        return [feed.c.subscription_id == subscription]
    shown = _IS_MATCH if by == "subscription" else or_(~_IS_MATCH, feed.c.subscriber.is_(None))
    return [feed.c.tenant == tenant, shown]


_COLUMNS = {"owner": "tenant"}
"""Fields whose columns have other names."""
_SHOWN = tuple(feed.c[_COLUMNS.get(each.name, each.name)] for each in fields(TenantNotification))


def _notification(row: Any) -> TenantNotification:
    """A row of `_SHOWN`, taken by place: readers ask for tens of thousands in a second."""
    (
        seq,
        id,
        subscription_id,
        event_id,
        event_type,
        revision,
        version,
        event_time,
        matched_at,
        batch,
        owner,
        label,
        attributes,
        subscriber,
        subscriptions,
    ) = row
    return TenantNotification(
        seq=seq,
        id=id,
        subscription_id=local_name(subscription_id),
        event_id=local_name(event_id),
        event_type=local_name(event_type),
        revision=revision,
        version=version,
        event_time=moment(event_time),
        matched_at=_time(matched_at),
        batch=batch,
        owner=owner,
        label=label,
        attributes=None if attributes is None else json.loads(attributes),
        subscriber=None if subscriber is None else subscriber_of(subscriber),
        subscriptions=None if subscriptions is None else json.loads(subscriptions),
    )


def _dead_letter(row: Any) -> FeedDeadLetter:
    name = None if row.event_id is None else local_name(row.event_id)
    return FeedDeadLetter(
        row.seq, row.id, name, row.kind, row.reason, bytes(row.original), _time(row.at), row.batch
    )


def _time(us: int) -> datetime:
    found = moment(us)
    assert found is not None, "a number of microseconds is a time"
    return found
