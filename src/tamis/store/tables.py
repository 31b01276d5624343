"""The tables of a store, the same in every database.

`tamis_subscriptions` has a row for every living subscription, and for every one that ended as long as the log has
its end: without its condition, or with it if it expired. `tamis_changes` has the state after each change; rows are
only appended, and trimmed from the old end. Times are microseconds since 1970, UTC.

A revision of an id is never used twice, or two matches would have one notification id. While the row is there, an
id that comes back continues from it. When rows are forgotten, the column `floor` of `tamis_meta` rises to the
highest revision among them, and every id without a row begins above it. One number is kept instead of a row for
each id that ever was.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, SmallInteger, Table, Text

from tamis.language.dialects import SQL


# Columns that came later: stores of earlier versions get them when they are opened. The actor is another.
def _dialect_column() -> Column[str]:
    return Column("dialect", Text, nullable=False, server_default=SQL)


LAYOUT = 2
"""The arrangement of these tables; a store of a higher one was made by a newer tamis.

1: rows of ended subscriptions stay for ever; such a store becomes 2 when it is trimmed. 2: they are forgotten, and
`floor` counts, which a tamis that knows 1 only would not look at."""

ACTIVE, WAITING, PAUSED, REMOVED, EXPIRED = "active", "waiting", "paused", "removed", "expired"
LIVING = (ACTIVE, WAITING, PAUSED)

# By bytes in every database, so that pages of ids come in the same order.
_ORDERED = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()

meta = Table(
    "tamis_meta",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("layout", Integer, nullable=False),
    Column("store", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("trimmed", BigInteger, nullable=False),
    Column("floor", Integer, nullable=False, server_default="0"),
)

event_types = Table(
    "tamis_event_types",
    metadata,
    Column("name", _ORDERED, primary_key=True),
    Column("description", Text, nullable=False),
)

subscriptions = Table(
    "tamis_subscriptions",
    metadata,
    Column("id", _ORDERED, primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("condition", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("owner", Text),
    Column("label", Text),
    Column("priority", BigInteger, nullable=False),
    Column("valid_from", BigInteger),
    Column("expires", BigInteger),
    Column("created", BigInteger, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("refusal", Text),
    _dialect_column(),
    Column("due", BigInteger),  # when it starts or expires, whichever comes next
)
Index("tamis_subscriptions_owner", subscriptions.c.owner, subscriptions.c.id)
_IS_DUE_ONCE = subscriptions.c.due.is_not(None)
Index("tamis_subscriptions_due", subscriptions.c.due, sqlite_where=_IS_DUE_ONCE, postgresql_where=_IS_DUE_ONCE)

changes = Table(
    "tamis_changes",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", _ORDERED),
    Column("revision", Integer),
    Column("condition", Text),
    Column("event_type", Text, nullable=False),
    Column("owner", Text),
    Column("label", Text),
    Column("priority", BigInteger),
    Column("valid_from", BigInteger),
    Column("expires", BigInteger),
    Column("state", Text),
    Column("refusal", Text),
    _dialect_column(),
    Column("actor", Text),
    sqlite_with_rowid=False,
)
Index("tamis_changes_id", changes.c.id)


class Row(NamedTuple):
    """A row of `tamis_subscriptions`, without what follows from the rest."""

    id: str
    revision: int
    condition: str
    event_type: str
    owner: str | None
    label: str | None
    priority: int
    valid_from: int | None
    expires: int | None
    created: int
    changed: int
    state: str
    refusal: str | None
    dialect: str = SQL

    @property
    def living(self) -> bool:
        """Has it been neither removed nor expired?"""
        return self.state in LIVING

    def column_values(self) -> tuple[object, ...]:
        """The values of all columns; of one that is gone, only what keeps its revisions apart."""
        if self.state == EXPIRED and self.expires is not None:
            return (*self, None)  # events that were accepted before may still have to be matched
        if not self.living:
            return (*self._replace(condition="", valid_from=None, expires=None, refusal=None, dialect=SQL), None)
        return (*self, self.valid_from if self.state == WAITING else self.expires)

    def log_values(self) -> tuple[object, ...]:
        """The columns from `id` on of the change log, but for the actor."""
        return (*self[:9], self.state, self.refusal, self.dialect)


ROW_COLUMNS = tuple(subscriptions.c[name] for name in Row._fields)
