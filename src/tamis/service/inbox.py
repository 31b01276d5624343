"""The inbox: an append-only table of all accepted events, written before a publisher gets its answer.

An event gets the next number and keeps it until it is old and the stream has finished with it; the stream reads
ranges of numbers. An event whose id is known is not accepted a second time.

If the stream reads from Kafka, events are written there first. Then the inbox is a copy, for pages and to
recognise ids; an event whose copy was not written before a crash may be in Kafka twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    func,
    insert,
    select,
    update,
)

from tamis.service.names import tenant_of
from tamis.sql.database import Database
from tamis.sql.rows import insert_rows, rows_by_key
from tamis.store.records import microseconds, moment, now_us

_LOCK = 0x74616D6975
"""Of PostgreSQL's advisory locks, the one that lets numbers become visible in their order."""

metadata = MetaData()

# One more with each event: SQLite's rowid, which needs exactly the type INTEGER.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

events = Table(
    "tamis_events",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("key", Text, unique=True),  # the id, of one that was published; none of one that was replayed
    Column("id", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("path", Text),  # sites that an event from elsewhere has passed, from its origin on; it came later
    sqlite_autoincrement=True,
)
Index("tamis_events_tenant", events.c.tenant, events.c.number)

position = Table(
    "tamis_position",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("begun", BigInteger, nullable=False),
    Column("done", BigInteger, nullable=False),
)


class Arrival(NamedTuple):
    """An event to append: its qualified id and type, its JSON text, and the sites that it has passed."""

    id: str
    event_type: str
    value: bytes
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InboxEvent:
    """An event in the inbox.

    Attributes:
        number: One more than that of the event before.
        id: Qualified.
        event_type: Qualified.
        at: When it was accepted.
        value: Its JSON text.
        path: The sites that it has passed before this one, the first is where it was published.
    """

    number: int
    id: str
    event_type: str
    at: datetime
    value: bytes
    path: tuple[str, ...] = ()

    def event(self) -> Any:
        return json.loads(self.value)


class Log(Protocol):
    """Where the stream reads events, if not here."""

    def write(self, arrivals: Sequence[Arrival]) -> None:
        """Take events; when this returns they are there for good."""

    def close(self) -> None:
        """Give back what is open."""


class Inbox:
    """The events of a database; all methods may be called from any thread and process."""

    def __init__(self, url: str, log: Log | None = None) -> None:
        """Connect, and make the tables if need be.

        Args:
            url: Of the database.
            log: Where events go first, if the stream reads them there.
        """
        self._log = log
        self._database = Database(url, metadata)
        with self._database.reading() as connection:
            is_known = connection.execute(select(position.c.one)).first() is not None
        if not is_known:
            with self._database.writing() as connection:
                if connection.execute(select(position.c.one)).first() is None:
                    connection.execute(insert(position).values(one=1, begun=0, done=0))

    def append(self, arrivals: Sequence[Arrival], *, replay: bool = False) -> list[bool]:
        """Take events; for each, was it new?

        Args:
            arrivals: In their order.
            replay: Take them again, under the same ids?
        """
        if self._log is not None:
            self._log.write(arrivals if replay else self._unknown(arrivals))
        with self._database.writing() as connection:
            self._database.lock(connection, _LOCK)
            at = now_us()
            known = set() if replay else _known_ids(connection, [each.id for each in arrivals])
            rows, is_new = [], []
            for each in arrivals:
                is_new.append(each.id not in known)
                if is_new[-1]:
                    if not replay:
                        known.add(each.id)
                    key = None if replay else each.id
                    path = " ".join(each.path) or None
                    rows.append((key, each.id, tenant_of(each.id), each.event_type, at, each.value, path))
            insert_rows(connection, events, _COLUMNS, rows, len(rows))
        return is_new

    def end(self) -> int:
        """The number of the last event, 0 if there never was one."""
        with self._database.reading() as connection:
            return self._end(connection)

    def waiting(self) -> int:
        """How many events the stream has not done with."""
        with self._database.reading() as connection:
            done: int = connection.execute(select(position.c.done)).scalar_one()
            return max(0, self._end(connection) - done)

    def done(self) -> int:
        """The stream is done with all events up to this number."""
        with self._database.reading() as connection:
            number: int = connection.execute(select(position.c.done)).scalar_one()
            return number

    def behind(self, tenant: str | None = None) -> tuple[int, datetime | None]:
        """How many events, of a tenant or of all, the stream has not done with, and when the oldest came."""
        whose = [] if tenant is None else [events.c.tenant == tenant]
        done = select(position.c.done).scalar_subquery()
        waiting = [*whose, events.c.number > done]
        with self._database.reading() as connection:
            count = connection.execute(select(func.count()).select_from(events).where(*waiting)).scalar_one()
            first = select(events.c.at).where(*waiting).order_by(events.c.number).limit(1)
            return count, moment(connection.execute(first).scalar_one_or_none())

    def spans(self, tenant: str, edges: Sequence[datetime]) -> list[int]:
        """How many events of a tenant were accepted between each time and the next."""
        us = [microseconds(edge) for edge in edges]
        with self._database.reading() as connection:
            return counts_between(connection, events.c.number, events.c.at, events.c.tenant == tenant, us)

    def waiting_seconds(self) -> float:
        """How long the oldest event has waited that the stream has not done with; 0 if there is none."""
        done = select(position.c.done).scalar_subquery()
        query = select(events.c.at).where(events.c.number > done).order_by(events.c.number).limit(1)
        with self._database.reading() as connection:
            at = connection.execute(query).scalar()
        return 0.0 if at is None else max(0.0, (now_us() - at) / 1_000_000)

    def begin(self, number: int) -> None:
        """The stream reads up to this number now."""
        with self._database.writing() as connection:
            connection.execute(update(position).values(begun=number))

    def finish(self) -> None:
        """The stream is done with what it had begun."""
        with self._database.writing() as connection:
            connection.execute(update(position).values(done=position.c.begun))

    def finish_upto(self, number: int) -> None:
        """The stream is done with everything up to this number."""
        with self._database.writing() as connection:
            connection.execute(update(position).where(position.c.done < number).values(begun=number, done=number))

    def between(self, after: int, upto: int) -> list[tuple[str, str, bytes, int]]:
        """Id, type and text of the events after one number and up to another, and when they were accepted."""
        columns = events.c.id, events.c.event_type, events.c.value, events.c.at
        query = select(*columns).where(events.c.number > after, events.c.number <= upto).order_by(events.c.number)
        with self._database.reading() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def get(self, ids: Iterable[str]) -> dict[str, InboxEvent]:
        """Events by their qualified ids, as far as they are kept."""
        wanted = [*ids]
        found: dict[str, InboxEvent] = {}
        with self._database.reading() as connection:
            for start in range(0, len(wanted), 500):
                query = select(*_SHOWN).where(events.c.key.in_(wanted[start : start + 500]))
                found |= {row.id: _inbox_event(row) for row in connection.execute(query)}
        return found

    def accepted_at(self, ids: Sequence[str]) -> dict[str, datetime]:
        """When events were accepted, by their qualified ids, as far as they are kept."""
        with self._database.reading() as connection:
            rows = [*rows_by_key(connection, events, ("key", "at"), "key", ids)]
        return {key: _time(at) for key, at in rows}

    def numbered(self, numbers: Sequence[int]) -> list[InboxEvent]:
        """Events by their numbers, in that order, as far as they are kept."""
        query = select(*_SHOWN).where(events.c.number.in_(numbers)).order_by(events.c.number)
        with self._database.reading() as connection:
            return [_inbox_event(row) for row in connection.execute(query)]

    def places(self, ids: Sequence[str]) -> dict[str, tuple[int, tuple[str, ...]]]:
        """The numbers of events and the sites that they have passed, by their qualified ids."""
        with self._database.reading() as connection:
            rows = rows_by_key(connection, events, ("key", "number", "path"), "key", ids)
            return {key: (number, _path(path)) for key, number, path in rows}

    def recent(
        self, tenant: str, *, limit: int, before: int | None = None, event_type: str | None = None
    ) -> list[InboxEvent]:
        """The events of a tenant that were accepted last, the newest first."""
        query = select(*_SHOWN).where(events.c.tenant == tenant).order_by(events.c.number.desc()).limit(limit)
        if before is not None:
            query = query.where(events.c.number < before)
        if event_type is not None:
            query = query.where(events.c.event_type == event_type)
        with self._database.reading() as connection:
            return [_inbox_event(row) for row in connection.execute(query)]

    def numbers(self, tenant: str, event_type: str, *, after: int, limit: int) -> list[int]:
        """The numbers of the events of a type that were accepted last, after that number, rising."""
        query = select(events.c.number).where(events.c.tenant == tenant, events.c.event_type == event_type)
        with self._database.reading() as connection:
            rows = connection.execute(
                query.where(events.c.number > after).order_by(events.c.number.desc()).limit(limit)
            )
            return [row.number for row in rows][::-1]

    def forget(self, before: datetime, unsent: int | None = None) -> int:
        """Remove events that were accepted earlier than that and are done with; gives how many.

        Those from the number `unsent` on stay, too: a neighbour has not got them yet.
        """
        with self._database.writing() as connection:
            done = select(position.c.done).scalar_subquery()
            last = select(func.max(events.c.number)).scalar_subquery()
            us = microseconds(before)
            kept = first_since(connection, events.c.number, events.c.at, us)  # finds it without a look at all rows
            old = events.c.at < us, events.c.number <= done, events.c.number < last, events.c.number < kept
            unneeded = events.delete().where(*old)
            if unsent is not None:
                unneeded = unneeded.where(events.c.number < unsent)
            return connection.execute(unneeded).rowcount

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        self._database.close()

    def _unknown(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """The first of each id that is not here."""
        with self._database.reading() as connection:
            known = _known_ids(connection, [each.id for each in arrivals])
        first: dict[str, Arrival] = {}
        for each in arrivals:
            if each.id not in known:
                first.setdefault(each.id, each)
        return [*first.values()]

    def _end(self, connection: Any) -> int:
        return connection.execute(select(func.max(events.c.number))).scalar_one() or 0


def _known_ids(connection: Connection, ids: list[str]) -> set[str]:
    """Those of the ids under which an event was published."""
    return {key for (key,) in rows_by_key(connection, events, ("key",), "key", ids)}


_COLUMNS = ("key", "id", "tenant", "event_type", "at", "value", "path")
_SHOWN = events.c.number, events.c.id, events.c.event_type, events.c.at, events.c.value, events.c.path


def _inbox_event(row: Any) -> InboxEvent:
    return InboxEvent(row.number, row.id, row.event_type, _time(row.at), bytes(row.value), _path(row.path))


def _path(text: str | None) -> tuple[str, ...]:
    return tuple(text.split()) if text else ()


def _time(us: int) -> datetime:
    at = moment(us)
    assert at is not None, "a number of microseconds is a time"
    return at


# Numbers and times grow together, but only numbers are indexed: a moment is found by halving, and what lies
# between two moments is counted in an index, however long the table. The feed does the same.


def first_since(connection: Connection, number: Column[int], at: Column[int], us: int, low: int = 0) -> int:
    """The least number of a row that is not older than a time, in microseconds; one more than all if none is."""
    high = (connection.execute(select(func.max(number))).scalar_one() or 0) + 1
    if not low:
        low = connection.execute(select(func.min(number))).scalar_one() or high
    while low < high:
        middle = (low + high) // 2
        row: Any = connection.execute(select(number, at).where(number >= middle).order_by(number).limit(1)).first()
        if row is None or row[1] >= us:
            high = middle
        else:
            low = row[0] + 1
    return low


def counts_between(
    connection: Connection,
    number: Column[int],
    at: Column[int],
    which: ColumnElement[bool],
    edges: Sequence[int],
) -> list[int]:
    """How many rows of a kind are between each time and the next, in microseconds."""
    numbers: list[int] = []
    for edge in edges:
        numbers.append(first_since(connection, number, at, edge, numbers[-1] if numbers else 0))
    counted = []
    for first, end in pairwise(numbers):
        query = select(func.count()).where(which, number >= first, number < end)
        counted.append(0 if first == end else int(connection.execute(query).scalar_one()))
    return counted
