"""The feed: notifications by number, for whoever asks what is new; and the sink that fills it, once.

A batch becomes part of the feed whole, in one transaction with its commit. Numbers grow with every notification
and become visible in their order, so a reader that keeps the last number it has seen misses nothing and sees
nothing twice. A notification that is there stays where it is when its event comes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, ClassVar

import pyarrow as pa
from sqlalchemy import Connection, Table, func, insert, select, update
from sqlalchemy.dialects import postgresql

from tamis.notifications import dead_letter_ids
from tamis.service.databases import Database
from tamis.service.feed_tables import commits, dead_letters, feed, metadata
from tamis.service.inbox import counts_between, first_since
from tamis.service.names import inside, outside, tenant_of
from tamis.sinks.base import Committed, Delivery, without_duplicates
from tamis.store.records import microseconds, moment

_ROWS = 5_000


class FeedSink:
    """Takes what a batch gave into the feed, exactly once."""

    name: ClassVar[str] = "feed"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, url: str) -> None:
        """Connect, and make the tables if need be."""
        self._database = Database(url, metadata)

    def commit(self, delivery: Delivery) -> Committed:
        """Insert what is new of a delivery, unless it was committed before."""
        key = {"query": delivery.query, "batch": delivery.batch}
        is_this = commits.c.query == delivery.query, commits.c.batch == delivery.batch
        rest = without_duplicates(_named(delivery))
        with self._database.writing() as connection:
            found = connection.execute(select(commits.c.written, commits.c.repeated).where(*is_this)).first()
            if found is not None:
                return Committed(found.written, found.repeated, again=True)
            row = {"at": microseconds(delivery.at), "version": delivery.version, "dead": rest.dead.num_rows}
            connection.execute(insert(commits).values(**key, **row, written=0, repeated=0))
            written = self._add(connection, feed, _feed_rows(rest, key))
            self._add(connection, dead_letters, _dead_rows(rest, key))
            counts = {"written": written, "repeated": rest.notifications.num_rows - written}
            connection.execute(update(commits).where(*is_this).values(**counts))
            return Committed(**counts)

    def check(self) -> None:
        """It was connected to when it was made."""

    def describe(self) -> str:
        """What it is and where, without a password."""
        return f"feed in {self._database.where}, exactly once"

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def _add(self, connection: Connection, table: Table, columns: Mapping[str, list[Any]]) -> int:
        """Insert the rows whose ids are not there; how many were not?"""
        rows = [*zip(*columns.values(), strict=True)]
        if not rows:
            return 0
        if self._database.is_sqlite:
            places = ", ".join("?" for _ in columns)
            text = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places}) ON CONFLICT DO NOTHING"
            counted = connection.execution_options(preserve_rowcount=True)
            return counted.exec_driver_sql(text, rows).rowcount
        made = 0
        for start in range(0, len(rows), _ROWS):
            part = [dict(zip(columns, row, strict=True)) for row in rows[start : start + _ROWS]]
            statement = postgresql.insert(table).on_conflict_do_nothing().returning(table.c.seq)
            made += len(connection.execute(statement, part).all())
        return made


def _named(delivery: Delivery) -> Delivery:
    """The delivery with ids of bad events that depend on the ids of events: whoever else sent the same text."""
    dead = delivery.dead
    ids = dead_letter_ids(dead["event_id"].fill_null(""), dead["id"])
    return replace(delivery, dead=dead.set_column(0, dead.schema.field("id"), ids))


def _feed_rows(delivery: Delivery, key: Mapping[str, Any]) -> dict[str, list[Any]]:
    table = delivery.notifications
    names = ("id", "subscription_id", "event_id", "event_type", "revision", "version")
    columns = {name: table[name].to_pylist() for name in names}
    columns |= {name: table[name].cast(pa.int64()).to_pylist() for name in ("event_time", "matched_at")}
    columns["tenant"] = [tenant_of(id) for id in columns["subscription_id"]]
    return columns | {name: [value] * table.num_rows for name, value in key.items()}


def _dead_rows(delivery: Delivery, key: Mapping[str, Any]) -> dict[str, list[Any]]:
    table = delivery.dead
    columns = {name: table[name].to_pylist() for name in ("id", "event_id", "kind", "reason", "original")}
    columns["at"] = table["at"].cast(pa.int64()).to_pylist()
    columns["tenant"] = [tenant_of(id or "") for id in columns["event_id"]]
    told = zip(columns["reason"], columns["tenant"], strict=True)
    columns["reason"] = [reason.replace(f"'{inside(tenant, '')}", "'") for reason, tenant in told]
    return columns | {name: [value] * table.num_rows for name, value in key.items()}


@dataclass(frozen=True, slots=True)
class Notification:
    """A match in the feed.

    Attributes:
        seq: Its number, larger than that of every notification before.
        id: The same wherever it goes.
        subscription_id: As the tenant calls it.
        event_id: As the tenant calls it.
        event_type: As the tenant calls it.
        revision: Of the subscription.
        version: Of the snapshot that the event was matched with.
        event_time: When the event happened, if it says so.
        matched_at: The time of the batch.
        batch: Its number.
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


@dataclass(frozen=True, slots=True)
class BadEvent:
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


class Feed:
    """What readers ask; all methods may be called from any thread and process."""

    def __init__(self, url: str) -> None:
        """Connect, and make the tables if need be."""
        self.database = Database(url, metadata)

    def end(self) -> int:
        """The number of the last notification, 0 if there is none."""
        with self.database.reading() as connection:
            return connection.execute(select(func.max(feed.c.seq))).scalar_one() or 0

    def after(
        self, tenant: str, seq: int, *, limit: int, subscription: str | None = None, upto: int | None = None
    ) -> list[Notification]:
        """The notifications of a tenant with greater numbers, the oldest first."""
        query = select(*_SHOWN).where(feed.c.seq > seq, _whose(tenant, subscription)).order_by(feed.c.seq)
        if upto is not None:
            query = query.where(feed.c.seq <= upto)
        return self._notifications(query.limit(limit))

    def before(
        self, tenant: str, seq: int | None, *, limit: int, subscription: str | None = None
    ) -> list[Notification]:
        """The notifications of a tenant with smaller numbers, the newest first."""
        query = select(*_SHOWN).where(_whose(tenant, subscription)).order_by(feed.c.seq.desc())
        if seq is not None:
            query = query.where(feed.c.seq < seq)
        return self._notifications(query.limit(limit))

    def of_event(self, event_id: str, *, limit: int, after: int = 0) -> list[Notification]:
        """The notifications of an event, by its id inside, with greater numbers."""
        query = select(*_SHOWN).where(feed.c.event_id == event_id, feed.c.seq > after)
        return self._notifications(query.order_by(feed.c.seq).limit(limit))

    def get(self, tenant: str, id: str) -> Notification | None:
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
            return counts_between(connection, feed.c.seq, feed.c.matched_at, _whose(tenant, subscription), us)

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
            feed.c.tenant == tenant, feed.c.seq > after, feed.c.matched_at >= microseconds(since)
        )
        query = query.group_by(feed.c.subscription_id).order_by(counted.desc(), feed.c.subscription_id)
        with self.database.reading() as connection:
            rows = connection.execute(query.limit(limit)).all()
        return [(outside(row[0]), row[1]) for row in rows]

    def bad_events(self, tenant: str, *, before: int | None = None, limit: int) -> list[BadEvent]:
        """What could not be matched, the newest first."""
        table = dead_letters.c
        query = select(dead_letters).where(table.tenant == tenant).order_by(table.seq.desc()).limit(limit)
        if before is not None:
            query = query.where(table.seq < before)
        with self.database.reading() as connection:
            return [_bad(row) for row in connection.execute(query)]

    def bad_event(self, tenant: str, id: str) -> BadEvent | None:
        """One of them."""
        query = select(dead_letters).where(dead_letters.c.tenant == tenant, dead_letters.c.id == id)
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _bad(row)

    def forget_bad(self, tenant: str, id: str) -> None:
        """Remove one of them: it was published again."""
        with self.database.writing() as connection:
            connection.execute(
                dead_letters.delete().where(dead_letters.c.tenant == tenant, dead_letters.c.id == id)
            )

    def forget(self, before: datetime) -> int:
        """Remove notifications and bad events from before a time, but not the last; gives how many."""
        us = microseconds(before)
        with self.database.writing() as connection:
            last = select(func.max(feed.c.seq)).scalar_subquery()
            gone = connection.execute(feed.delete().where(feed.c.matched_at < us, feed.c.seq < last)).rowcount
            # The last batch of a query may be done again, however long ago it was.
            same = commits.alias()
            newest = select(func.max(same.c.batch)).where(same.c.query == commits.c.query).scalar_subquery()
            connection.execute(commits.delete().where(commits.c.at < us, commits.c.batch < newest))
            return gone + connection.execute(dead_letters.delete().where(dead_letters.c.at < us)).rowcount

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def _notifications(self, query: Any) -> list[Notification]:
        with self.database.reading() as connection:
            return [_notification(row) for row in connection.execute(query)]


def _whose(tenant: str, subscription: str | None) -> Any:
    """Of a tenant, or of one of its subscriptions, as called inside."""
    return feed.c.tenant == tenant if subscription is None else feed.c.subscription_id == subscription


_SHOWN = tuple(feed.c[each.name] for each in fields(Notification))


def _notification(row: Any) -> Notification:
    """A row of `_SHOWN`, taken by place: readers ask for tens of thousands in a second."""
    seq, id, subscription_id, event_id, event_type, revision, version, event_time, matched_at, batch = row
    return Notification(
        seq=seq,
        id=id,
        subscription_id=outside(subscription_id),
        event_id=outside(event_id),
        event_type=outside(event_type),
        revision=revision,
        version=version,
        event_time=moment(event_time),
        matched_at=_time(matched_at),
        batch=batch,
    )


def _bad(row: Any) -> BadEvent:
    name = None if row.event_id is None else outside(row.event_id)
    return BadEvent(row.seq, row.id, name, row.kind, row.reason, bytes(row.original), _time(row.at), row.batch)


def _time(us: int) -> datetime:
    found = moment(us)
    assert found is not None, "a number of microseconds is a time"
    return found
