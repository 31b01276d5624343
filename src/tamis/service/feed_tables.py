"""The tables of the feed: every notification under a growing number, dead letters, and what was committed.

A match is a row. The matches of one event that are one subscriber's have a further row, the message that names
them all: its `subscription_id` is the address of the subscriber, so whatever reads the rows of a subscription
reads those of a subscriber as well.

Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

from tamis.sql.database import EARLIER_NAME

metadata = MetaData()

_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

feed = Table(
    "tamis_feed",
    metadata,
    Column("seq", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("tenant", Text, nullable=False),
    Column("subscription_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("event_time", BigInteger),
    Column("matched_at", BigInteger, nullable=False),
    Column("query", Text, nullable=False),
    Column("batch", BigInteger, nullable=False),
    # These came later: databases of earlier versions get them when they are opened.
    Column("label", Text),
    Column("attributes", Text),  # a JSON object
    Column("priority", BigInteger, nullable=False, server_default="0"),
    Column("subscriber", Text),  # the address of whose it is
    Column("subscriptions", Text),  # of a message of a subscriber, what it names: a JSON array
    sqlite_autoincrement=True,
)
Index("tamis_feed_tenant", feed.c.tenant, feed.c.seq)
Index("tamis_feed_subscription", feed.c.subscription_id, feed.c.seq)
Index("tamis_feed_event", feed.c.event_id)

dead_letters = Table(
    "tamis_feed_dead_letters",  # not tamis_dead_letters, which a sink may write into the same database
    metadata,
    Column("seq", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("tenant", Text, nullable=False),
    Column("event_id", Text),
    Column("kind", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("original", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("query", Text, nullable=False),
    Column("batch", BigInteger, nullable=False),
    sqlite_autoincrement=True,
    info={EARLIER_NAME: "tamis_bad_events"},
)
Index("tamis_feed_dead_letters_tenant", dead_letters.c.tenant, dead_letters.c.seq)
Index("tamis_feed_dead_letters_event", dead_letters.c.event_id)

commits = Table(
    "tamis_feed_commits",
    metadata,
    Column("query", Text, primary_key=True),
    Column("batch", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("written", BigInteger, nullable=False),
    Column("repeated", BigInteger, nullable=False),
    Column("dead", BigInteger, nullable=False),
)

# Events that go to neighbours: written with the batch that found their entries, sent in the order of numbers.
outbox = Table(
    "tamis_outbox",
    metadata,
    Column("link", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the event in the inbox
    Column("event_id", Text, nullable=False),
    Column("entry", Text, nullable=False),  # one of those that the event satisfies
    Column("at", BigInteger, nullable=False),
    Column("sent", BigInteger),
    Column("outcome", Text),  # what became of it there, once that is known
)
_IS_PENDING = outbox.c.sent.is_(None)
Index(
    "tamis_outbox_pending", outbox.c.link, outbox.c.number, sqlite_where=_IS_PENDING, postgresql_where=_IS_PENDING
)
_IS_OPEN = outbox.c.outcome.is_(None)
Index("tamis_outbox_open", outbox.c.link, outbox.c.number, sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN)
Index("tamis_outbox_event", outbox.c.event_id)
