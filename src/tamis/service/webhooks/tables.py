"""The tables of webhooks, beside the feed of notifications in the same database.

`tamis_webhooks` has one row a subscription that is delivered so. Its `cursor` is the number in the feed up to
which everything of the subscription was delivered or parked; `attempts` and `next_attempt` are of what comes next.
`failures` counts the deliveries in a row that failed, `failed_calls` the calls; `since` is when the webhook came
into its state. With `digest_seconds`, what has come meanwhile is one message, at most once in that time;
`digest_upto` is written before its first call, so that every attempt has the same notifications.
`tamis_failed` has what was parked; `next_attempt` is set while it is to be replayed. Rows of `tamis_attempts` are
only ever appended, and cut from the old end. Times are microseconds since 1970, UTC.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, Table, Text
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.elements import KeyedColumnElement

from tamis.service.feed_tables import feed

__all__ = [
    "CONFIRMED",
    "PAUSED",
    "PENDING",
    "REFUSED",
    "STATES",
    "attempts",
    "failed",
    "feed",
    "metadata",
    "of_tenant",
    "webhooks",
]

STATES = PENDING, CONFIRMED, PAUSED, REFUSED = "pending", "confirmed", "paused", "refused"

# By bytes in every database, so that the ids of a tenant are together.
_ORDERED = Text().with_variant(Text(collation="C"), "postgresql")
_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up integers only

metadata = MetaData()

webhooks = Table(
    "tamis_webhooks",
    metadata,
    Column("subscription_id", _ORDERED, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),  # why it is refused or paused
    Column("cursor", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    # These two came later: databases of earlier versions get them when they are opened.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("since", BigInteger),
    # So did these: how long a digest gathers, and up to which number that goes which is being delivered.
    Column("digest_seconds", Double),
    Column("digest_upto", BigInteger),
    # And these: how many calls in a row have failed, and when the first of them did.
    Column("failed_calls", Integer, nullable=False, server_default="0"),
    Column("failing_since", BigInteger),
)

attempts = Table(
    "tamis_attempts",
    metadata,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("notification_id", Text, nullable=False),  # of a handshake, the id of that message
    Column("subscription_id", _ORDERED, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", Integer),
    Column("error", Text),
    Column("outcome", Text, nullable=False),
)
Index("tamis_attempts_notification", attempts.c.notification_id)
Index("tamis_attempts_subscription", attempts.c.subscription_id, attempts.c.number)
Index("tamis_attempts_at", attempts.c.at)

failed = Table(
    "tamis_failed",
    metadata,
    Column("notification_id", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("subscription_id", _ORDERED, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("tries", Integer, nullable=False),  # of the present replay
    Column("next_attempt", BigInteger),
    Column("digest_after", BigInteger),  # of a digest: it has what comes after this number, up to `seq`
)
Index("tamis_failed_subscription", failed.c.subscription_id, failed.c.seq)
_IS_REPLAYED = failed.c.next_attempt.is_not(None)
Index("tamis_failed_replayed", failed.c.next_attempt, sqlite_where=_IS_REPLAYED, postgresql_where=_IS_REPLAYED)


def of_tenant(id: KeyedColumnElement[str], tenant: str | None) -> list[ColumnElement[bool]]:
    """That an id starts with the tenant's name and a slash; `0` is the character after it. None for any tenant."""
    return [] if tenant is None else [id >= f"{tenant}/", id < f"{tenant}0"]
