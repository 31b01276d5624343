"""The database of a store: which store it is, and how it is changed.

Writers go one after the other, so that versions become visible in order. Once committed, a version is on disk: a
snapshot must never hold what the store has lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from sqlalchemy import Connection, exists, func, inspect, select

from tamis.sql.database import Database, DatabaseError
from tamis.sql.rows import insert_rows, overwrite, rows_by_key
from tamis.store.tables import EXPIRED, LAYOUT, REMOVED, Row, changes, meta, metadata, subscriptions

_BUSY_SECONDS = 300
"""How long a writer waits for another one; a large import takes its time."""


class StoreError(DatabaseError):
    """A store cannot be opened, read or written: the message names it and what is wrong."""


class StoreDatabase:
    """Connections to one database that has the tables of a store.

    Attributes:
        where: Its path or URL, without the password.
        identity: An id that is different for every store.
    """

    def __init__(self, url: str | os.PathLike[str], *, create: bool) -> None:
        """Connect, and create the tables if there are none and `create` is set.

        Raises:
            StoreError: There is no store, it is foreign or newer, or cannot be reached.
        """
        self._database = Database(url, error=StoreError, busy_seconds=_BUSY_SECONDS)
        self.where = self._database.path or self._database.where
        if not create and self._database.path is not None and not os.path.exists(self.where):
            raise self._no_store()
        try:
            self.identity = self._open(create=create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that sees one state."""
        with self._database.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction that no other writer shares; it is rolled back if anything is raised."""
        with self._database.writing() as connection:
            if not self._database.is_sqlite:
                connection.execute(select(meta.c.one).with_for_update())
            yield connection

    def close(self) -> None:
        self._database.close()

    def _open(self, *, create: bool) -> str:
        """The identity of the store, which is created if need be."""
        with self.reading() as connection:
            identity = self._identity(connection)
        if identity is None and create:
            with self._database.creating() as connection:
                identity = self._identity(connection)  # another process may have been quicker
                if identity is None:
                    identity = uuid4().hex
                    metadata.create_all(connection)
                    first = {"one": 1, "layout": LAYOUT, "store": identity, "version": 0, "trimmed": 0}
                    connection.execute(meta.insert().values(first))
        if identity is None:
            raise self._no_store()
        self._database.add_missing_columns([meta, subscriptions, changes])
        return identity

    def _identity(self, connection: Connection) -> str | None:
        inspector = inspect(connection)
        names = set(inspector.get_table_names())
        if not names & metadata.tables.keys():
            return None
        if meta.name not in names or not {"layout", "store"} <= {
            column["name"] for column in inspector.get_columns(meta.name)
        }:
            msg = f"{self.where}: foreign: its tables tamis_... are not those of a store"
            raise StoreError(msg)
        row = connection.execute(select(meta.c.layout, meta.c.store)).one_or_none()
        if row is None:
            msg = f"{self.where}: damaged: {meta.name} has no row"
            raise StoreError(msg)
        if row.layout > LAYOUT:
            msg = f"{self.where}: newer: its layout is {row.layout}, this tamis knows {LAYOUT}"
            raise StoreError(msg)
        identity: str = row.store
        return identity

    def _no_store(self) -> StoreError:
        return StoreError(f"{self.where}: there is no store here; `tamis subs type` makes one")


def put_rows(connection: Connection, rows: Sequence[Row]) -> None:
    """Write subscriptions, over those of the same ids."""
    values = (row.column_values() for row in rows)
    conflict = overwrite(subscriptions, "id")
    insert_rows(connection, subscriptions, subscriptions.c.keys(), values, len(rows), conflict)


def rows_of_ids(connection: Connection, ids: Sequence[str]) -> dict[str, Row]:
    """The rows of these ids, as far as there are any."""
    rows = rows_by_key(connection, subscriptions, Row._fields, "id", ids)
    return {row[0]: Row(*row) for row in rows}


def forget_ended(connection: Connection, upto: int, floor: int) -> None:
    """Forget the subscriptions that ended up to a version, before the changes of these versions are cut.

    The floor rises to their highest revision. In a store of layout 1, the changes of many were cut without that.
    """
    log, rows = changes.c, subscriptions.c
    is_old = connection.execute(select(meta.c.layout)).scalar_one() < LAYOUT
    later = exists().where(log.id == rows.id, log.version > upto)
    ended = [rows.state.in_((REMOVED, EXPIRED)), ~later]
    if not is_old:
        # The cut part of the log is short; without it, every row of the store would be looked at each time.
        cut = select(log.id).where(log.version <= upto, log.kind.in_(("remove", "expire")))
        ended.append(rows.id.in_(cut))
    highest = connection.execute(select(func.max(rows.revision)).where(*ended)).scalar()
    if highest is not None:
        connection.execute(subscriptions.delete().where(*ended))
    connection.execute(meta.update().values(layout=LAYOUT, floor=max(floor, highest or 0)))
