"""The outbox: the events that go to each neighbour, durable, in the order in which they were accepted here.

A row is written in the transaction that commits the batch in which the event satisfied an entry of the link, so a
batch that is done again adds nothing. It stays after it was sent, with what became of the event there, until
events of its age are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection, func, select, update

from tamis.service.feed_tables import feed, outbox
from tamis.service.names import link_of, link_owner
from tamis.sql.database import Database
from tamis.sql.rows import KEEP, insert_rows, rows_by_key
from tamis.store.records import now_us

USEFUL, IN_VAIN, UNKNOWN = "useful", "in vain", "unknown"
"""What became of an event at a neighbour: it was notified or sent on, it was neither, or nobody knows any more."""

Places: TypeAlias = Callable[[Sequence[str]], Mapping[str, tuple[int, tuple[str, ...]]]]
"""The numbers of events in the inbox and the sites that they have passed, by id."""
_COLUMNS = ("link", "number", "event_id", "entry", "at")


@dataclass(frozen=True, slots=True)
class Forward:
    """An event that goes to a neighbour."""

    link: str
    number: int
    event_id: str
    entry: str
    sent: int | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class LinkTotals:
    """What the outbox of a link holds.

    Attributes:
        backlog: Events that are not sent.
        oldest: When the first of them was matched, in microseconds.
        forwarded: Events that were sent, as far as they are kept.
        in_vain: Of these, those that found nothing there.
        useful: Those that did.
    """

    backlog: int = 0
    oldest: int | None = None
    forwarded: int = 0
    in_vain: int = 0
    useful: int = 0


def split_forwards(notifications: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Notifications of subscriptions, and those of routing entries."""
    is_entry = pc.starts_with(notifications["subscription_id"], link_owner(""))
    return notifications.filter(pc.invert(is_entry)), notifications.filter(is_entry)


def write_forwards(connection: Connection, matched: pa.Table, places: Places, at: int) -> int:
    """Put the events that satisfy entries into the outbox, once for each link; gives how many are new.

    An event never goes to a site that it has passed.

    Args:
        connection: In the transaction of the batch.
        matched: The notifications of entries.
        places: Looks events up.
        at: When the batch was matched, in microseconds.
    """
    ids, entries = matched["event_id"].to_pylist(), matched["subscription_id"].to_pylist()
    known = places([*dict.fromkeys(ids)])
    rows: dict[tuple[str, int], tuple[Any, ...]] = {}
    for id, entry in sorted(zip(ids, entries, strict=True)):
        link = link_of(entry)
        number, path = known[id]
        if link is not None and link not in path:
            rows.setdefault((link, number), (link, number, id, entry, at))
    return insert_rows(connection, outbox, _COLUMNS, [rows[key] for key in sorted(rows)], len(rows), KEEP)


class Outbox:
    """The outboxes of all links, in the database of the feed; thread-safe."""

    def __init__(self, database: Database) -> None:
        """Of a database whose tables are there."""
        self._database = database

    def pending(self, link: str, limit: int) -> list[int]:
        """The numbers of the first events that were not sent."""
        query = select(outbox.c.number).where(outbox.c.link == link, outbox.c.sent.is_(None))
        with self._database.reading() as connection:
            return [*connection.execute(query.order_by(outbox.c.number).limit(limit)).scalars()]

    def first_unsent(self) -> int | None:
        """The least number of an event that some link has not sent; None if all are."""
        with self._database.reading() as connection:
            found: int | None = connection.execute(
                select(func.min(outbox.c.number)).where(outbox.c.sent.is_(None))
            ).scalar()
        return found

    def acknowledge(self, link: str, numbers: Sequence[int]) -> None:
        """The neighbour has taken these events."""
        which = outbox.c.link == link, outbox.c.number.in_(numbers)
        with self._database.writing() as connection:
            connection.execute(update(outbox).where(*which).values(sent=now_us()))

    def undecided(self, link: str, limit: int) -> list[tuple[int, str]]:
        """Numbers and ids of the first events that were sent, and of which nobody knows what became of them."""
        which = outbox.c.link == link, outbox.c.outcome.is_(None), outbox.c.sent.is_not(None)
        query = select(outbox.c.number, outbox.c.event_id).where(*which).order_by(outbox.c.number).limit(limit)
        with self._database.reading() as connection:
            return [(number, id) for number, id in connection.execute(query)]

    def decide(self, link: str, outcomes: Mapping[int, str]) -> None:
        """Keep what became of events at the neighbour."""
        with self._database.writing() as connection:
            for outcome in (USEFUL, IN_VAIN, UNKNOWN):
                numbers = [number for number, each in outcomes.items() if each == outcome]
                if numbers:
                    which = outbox.c.link == link, outbox.c.number.in_(numbers)
                    connection.execute(update(outbox).where(*which).values(outcome=outcome))

    def useful_events(self, ids: Sequence[str]) -> set[str]:
        """Those of the events that were notified here or that go on from here."""
        with self._database.reading() as connection:
            return {
                id
                for table in (feed, outbox)
                for (id,) in rows_by_key(connection, table, ("event_id",), "event_id", ids)
            }

    def of_event(self, id: str) -> list[Forward]:
        """Where an event goes from here, and which entry takes it there."""
        columns = [outbox.c[each] for each in ("link", "number", "event_id", "entry", "sent", "outcome")]
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns).where(outbox.c.event_id == id).order_by(outbox.c.link))
            return [Forward(*row) for row in rows]

    def totals(self) -> dict[str, LinkTotals]:
        """What each outbox holds."""
        count = func.count()
        is_unsent = outbox.c.sent.is_(None)
        query = select(
            outbox.c.link,
            count.filter(is_unsent),
            func.min(outbox.c.at).filter(is_unsent),
            count.filter(outbox.c.sent.is_not(None)),
            count.filter(outbox.c.outcome == IN_VAIN),
            count.filter(outbox.c.outcome == USEFUL),
        ).group_by(outbox.c.link)
        with self._database.reading() as connection:
            return {link: LinkTotals(*rest) for link, *rest in connection.execute(query)}

    def forget(self, before: int, links: Sequence[str]) -> int:
        """Remove what was sent before a time, in microseconds, and all of links that are gone; gives how many."""
        is_gone = outbox.c.link.not_in(links)
        with self._database.writing() as connection:
            return connection.execute(outbox.delete().where((outbox.c.sent < before) | is_gone)).rowcount
