"""The database under a store: SQLite in WAL mode, or PostgreSQL.

Owns connections and transactions. Readers see one state from their first to their last query and never wait;
writers go one after the other, so that versions become visible in order. A transaction is committed whole or not
at all, and once committed it is on disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, Table, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tamis.errors import TamisError
from tamis.store.tables import LAYOUT, ROW_COLUMNS, Row, meta, metadata, subscriptions

_PATIENCE_SECONDS = 300
"""How long a writer waits for the others; a large import takes its time."""
_WORTH_COPY = 200
"""Number of rows from which PostgreSQL's COPY repays its round trips."""
_LOCK = 0x74616D6973
"""Of PostgreSQL's advisory locks, the one under which tables are made."""


class StoreError(TamisError):
    """A store cannot be opened, read or written: the message names it and what is wrong."""


class Database:
    """Connections to one database that has the tables of a store."""

    def __init__(self, url: str | os.PathLike[str], *, create: bool) -> None:
        """Connect, and make the tables if there are none and `create` is set.

        Raises:
            StoreError: There is no store, it is foreign or newer, or cannot be reached.
        """
        parsed = _parsed(os.fspath(url))
        self.url = parsed.database or "" if _is_sqlite(parsed) else parsed.render_as_string(hide_password=True)
        self.is_sqlite = _is_sqlite(parsed)
        if self.is_sqlite and not create and not os.path.exists(self.url):
            msg = f"{self.url}: there is no store here"
            raise StoreError(msg)
        self.engine = self._engine(parsed)
        try:
            self.identity = self._settled(create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state."""
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._transaction(**options) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that no other writer shares; it is rolled back if anything is raised."""
        with self._transaction(tamis_writes=True) as connection:
            if not self.is_sqlite:
                connection.execute(select(meta.c.one).with_for_update())
            yield connection

    def append(self, connection: Connection, table: Table, rows: Iterable[tuple[object, ...]], count: int) -> None:
        """Append `count` rows, with all columns of the table in order."""
        if self.is_sqlite or count < _WORTH_COPY:
            _execute_many(connection, self._insertion(table), rows)
        else:
            _copy(connection, table.name, rows)

    def put(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Write subscriptions, over those of the same ids."""
        stored = (row.stored() for row in rows)
        updates = ", ".join(f"{name} = excluded.{name}" for name in subscriptions.c.keys() if name != "id")
        conflict = f" ON CONFLICT (id) DO UPDATE SET {updates}"
        if self.is_sqlite or len(rows) < _WORTH_COPY:
            _execute_many(connection, self._insertion(subscriptions) + conflict, stored)
            return
        aside = "tamis_incoming"
        connection.exec_driver_sql(f"CREATE TEMP TABLE {aside} (LIKE {subscriptions.name}) ON COMMIT DROP")
        _copy(connection, aside, stored)
        connection.exec_driver_sql(f"INSERT INTO {subscriptions.name} SELECT * FROM {aside}{conflict}")

    def rows(self, connection: Connection, ids: Sequence[str]) -> dict[str, Row]:
        """The rows of these ids, as far as there are any."""
        columns = ", ".join(column.name for column in ROW_COLUMNS)
        query = f"SELECT {columns} FROM {subscriptions.name} WHERE id "
        if self.is_sqlite:
            found = connection.exec_driver_sql(query + "IN (SELECT value FROM json_each(?))", (json.dumps(ids),))
        else:
            found = connection.exec_driver_sql(query + "= ANY(%s)", ([*ids],))
        return {row[0]: Row(*row) for row in found}

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    # --- inside ------------------------------------------------------------------------------------------

    def _engine(self, parsed: URL) -> Engine:
        try:
            if not self.is_sqlite:
                return create_engine(parsed, pool_pre_ping=True)
            engine = create_engine(parsed, connect_args={"timeout": _PATIENCE_SECONDS})
        except ModuleNotFoundError as error:
            msg = f"{self.url}: PostgreSQL needs psycopg; install it with: pip install 'tamis[store]'"
            raise StoreError(msg) from error
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    @contextmanager
    def _transaction(self, **options: Any) -> Iterator[Connection]:
        try:
            with self.engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            msg = f"{self.url}: {getattr(error, 'orig', None) or error}".strip()
            raise StoreError(msg) from error

    def _settled(self, create: bool) -> str:
        """The identity of the store, whose tables are there and of our layout."""
        with self.reading() as connection:
            identity = self._identity(connection)
        if identity is None and create:
            with self._transaction(tamis_writes=True) as connection:
                if not self.is_sqlite:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                identity = self._identity(connection)  # somebody else may have been quicker
                if identity is None:
                    identity = uuid4().hex
                    metadata.create_all(connection)
                    connection.execute(
                        meta.insert().values(one=1, layout=LAYOUT, store=identity, version=0, trimmed=0)
                    )
        if identity is None:
            msg = f"{self.url}: there is no store here"
            raise StoreError(msg)
        return identity

    def _identity(self, connection: Connection) -> str | None:
        inspector = inspect(connection)
        names = set(inspector.get_table_names())
        if not names & metadata.tables.keys():
            return None
        if meta.name not in names or not {"layout", "store"} <= {
            column["name"] for column in inspector.get_columns(meta.name)
        }:
            msg = f"{self.url}: foreign: its tables tamis_... are not those of a store"
            raise StoreError(msg)
        found = connection.execute(select(meta.c.layout, meta.c.store)).one_or_none()
        if found is None:
            msg = f"{self.url}: damaged: {meta.name} has no row"
            raise StoreError(msg)
        if found.layout > LAYOUT:
            msg = f"{self.url}: newer: its layout is {found.layout}, this tamis knows {LAYOUT}"
            raise StoreError(msg)
        identity: str = found.store
        return identity

    def _insertion(self, table: Table) -> str:
        place = "?" if self.is_sqlite else "%s"
        return f"INSERT INTO {table.name} VALUES ({', '.join([place] * len(table.c))})"


def _execute_many(connection: Connection, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
    """As `exec_driver_sql`, which would want a list of the rows."""
    cursor: Any = connection.connection.cursor()
    with closing(cursor):
        cursor.executemany(statement, rows)


def _copy(connection: Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    cursor: Any = connection.connection.cursor()
    with closing(cursor), cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _parsed(text: str) -> URL:
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        msg = f"the URL of the store cannot be read: {error}"
        raise StoreError(msg) from error
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername != "sqlite" or not url.database or url.database == ":memory:":
        shown = url.render_as_string(hide_password=True)
        msg = f"{shown}: expected the path of a SQLite file, sqlite:///... or postgresql://..."
        raise StoreError(msg)
    return url


def _is_sqlite(url: URL) -> bool:
    return url.drivername == "sqlite"


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    cursor = connection.cursor()
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous=FULL")  # a snapshot must never hold what the store has lost
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Switch the journal; SQLite does not wait by itself when another process does the same."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tamis_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
