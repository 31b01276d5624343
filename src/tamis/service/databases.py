"""The databases of the service: SQLite files in WAL mode, or PostgreSQL.

Readers never wait. Whoever writes is alone for as long as the transaction takes, and what is committed is on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from tamis.errors import TamisError

_PATIENCE_SECONDS = 60
_CACHE_KIB = 65_536
_CHECKPOINT_PAGES = 8_000
"""How long the log may become, some 32 MB, before it is written into the file."""
_LOCK = 0x74616D6974
"""Of PostgreSQL's advisory locks, the one under which tables are made."""


class DatabaseError(TamisError):
    """A database of the service cannot be reached, read or written: the message names it and what is wrong."""


class Database:
    """Connections to a database that has some tables."""

    def __init__(self, url: str, tables: MetaData) -> None:
        """Connect, and make the tables that are not there.

        Args:
            url: `sqlite:///file.db` or `postgresql://user:password@host/database`.
            tables: What to make.

        Raises:
            DatabaseError: It cannot be reached.
        """
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            msg = f"expected a URL as sqlite:///file.db or postgresql://user@host/database: {error}"
            raise DatabaseError(msg) from error
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.where = parsed.render_as_string(hide_password=True)
        if self.is_sqlite:
            self.engine: Engine = create_engine(parsed, connect_args={"timeout": _PATIENCE_SECONDS})
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        else:
            self.engine = create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
        self._make(tables)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that writes nothing."""
        with self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; it is rolled back if anything is raised."""
        with self._transaction(writes=True) as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        try:
            with (
                self.engine.connect().execution_options(tamis_writes=writes) as connection,
                connection.begin(),
            ):
                yield connection
        except SQLAlchemyError as error:
            msg = f"{self.where}: {getattr(error, 'orig', None) or error}"
            raise DatabaseError(msg) from error

    def _make(self, tables: MetaData) -> None:
        with self.reading() as connection:
            there = set(inspect(connection).get_table_names())
        if there >= tables.tables.keys():
            return
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            for table in tables.sorted_tables:
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_PATIENCE_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")  # ids come in no order: their index is looked at everywhere
    cursor.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    cursor.execute("PRAGMA synchronous=FULL")  # what was answered for is there after a loss of power
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tamis_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
