"""Connections to a SQLite file or a PostgreSQL server, and their transactions.

A reader sees one state from its first query to its last and never waits. A transaction is committed whole or not
at all, and once committed it is on disk. In SQLite, one writer at a time: a writer takes the lock when its
transaction begins, so it waits there, and never fails half-way because another one was quicker. In PostgreSQL,
writers exclude each other only by the locks that they ask for.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Literal, TypeAlias

from sqlalchemy import Column, Connection, Engine, MetaData, Table, create_engine, event, inspect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from tamis.errors import TamisError, install_command

_BUSY_SECONDS = 60
_CACHE_KIB = 65_536
_CHECKPOINT_PAGES = 8_000
"""How long the write-ahead log may become, some 32 MB, before it is written into the file."""
_SCHEMA_LOCK = 0x74616D6973
"""The advisory lock of PostgreSQL under which tables are created: without it, two that create the same table at
the same moment collide, even with IF NOT EXISTS."""
EARLIER_NAME = "earlier name"
"""Where `Table.info` has the name of the table in databases of an earlier version."""


DatabaseProblem: TypeAlias = Literal["full", "read-only", "failed"]
_SQLITE_PROBLEMS: dict[int, DatabaseProblem] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
}
_POSTGRESQL_PROBLEMS: dict[str, DatabaseProblem] = {
    "53100": "full",  # disk_full
    "25006": "read-only",  # read_only_sql_transaction
}


class DatabaseError(TamisError):
    """A database cannot be reached, read or written: the message names it and what is wrong.

    Attributes:
        kind: "full": its disk has no space left; "read-only": it may not be written; "failed": anything else, no
            answer for example.
    """

    def __init__(self, message: str, kind: DatabaseProblem = "failed") -> None:
        """Keep the kind, so that a program can tell what to do."""
        super().__init__(message, kind)  # both survive pickling
        self.kind: DatabaseProblem = kind

    def __str__(self) -> str:
        return str(self.args[0])


class Database:
    """Connections to one database; all methods may be called from several threads.

    Attributes:
        engine: The pool of connections.
        is_sqlite: SQLite, or else PostgreSQL.
        where: The path or URL as given, without the password.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        tables: MetaData | None = None,
        *,
        error: Callable[[str, DatabaseProblem], TamisError] = DatabaseError,
        busy_seconds: int = _BUSY_SECONDS,
        wal: bool = True,
    ) -> None:
        """Connect, and create missing tables and columns; without `tables`, nothing is touched yet.

        Args:
            url: Path of a SQLite file, `sqlite:///file.db` or `postgresql://user:password@host/database`.
            tables: Tables to create where they are missing, and to complete where columns are.
            error: What to raise, made of a message and the kind of the problem.
            busy_seconds: How long a writer waits for another one; SQLite only.
            wal: Switch a SQLite file to the write-ahead log, so that readers and a writer do not wait for each
                other?

        Raises:
            DatabaseError: Or what `error` makes: the URL is not of such a database, or it cannot be reached.
        """
        self._error = error
        parsed = self._parse(os.fspath(url))
        self.is_sqlite = parsed.drivername == "sqlite"
        self.where = os.fspath(url) if "://" not in os.fspath(url) else parsed.render_as_string(hide_password=True)
        self.engine = self._create_engine(parsed, busy_seconds, wal)
        if tables is not None:
            self.prepare(tables)

    @property
    def path(self) -> str | None:
        """The file of a SQLite database."""
        return self.engine.url.database if self.is_sqlite else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that sees one state and writes nothing."""
        options = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self._transaction(**options) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Begin a transaction that may write; it is rolled back if anything is raised."""
        with self._transaction(tamis_writes=True) as connection:
            yield connection

    def lock(self, connection: Connection, key: int) -> None:
        """Exclude other transactions under the same key until this one ends; SQLite excludes all writers."""
        if not self.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({key})")

    def prepare(self, tables: MetaData) -> None:
        """Create the tables that are not there, and bring those of an earlier version up to date."""
        self.rename_earlier(tables.sorted_tables)
        self.create_missing(tables.sorted_tables)
        self.add_missing_columns(tables.sorted_tables)

    def rename_earlier(self, tables: Iterable[Table]) -> None:
        """Rename tables that the database has under their `EARLIER_NAME`, with their rows and indexes."""
        wanted = [table for table in tables if EARLIER_NAME in table.info]
        with self.reading() as connection:
            if not _under_earlier_names(connection, wanted):
                return
        with self.creating() as connection:
            for table in _under_earlier_names(connection, wanted):
                earlier = table.info[EARLIER_NAME]
                connection.exec_driver_sql(f"ALTER TABLE {earlier} RENAME TO {table.name}")
                for index in table.indexes:  # SQLite renames no index
                    suffix = str(index.name).removeprefix(table.name)
                    connection.exec_driver_sql(f"DROP INDEX IF EXISTS {earlier}{suffix}")
                    connection.execute(CreateIndex(index))

    def create_missing(self, tables: Iterable[Table]) -> None:
        """Create the tables that are not there, with their indexes, in one transaction."""
        wanted = {table.name: table for table in tables}
        with self.reading() as connection:
            present = set(inspect(connection).get_table_names())
        if wanted.keys() <= present:
            return
        with self.creating() as connection:
            for table in wanted.values():
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))

    def add_missing_columns(self, tables: Iterable[Table]) -> None:
        """Give tables of an earlier version the columns that they lack; these are nullable or have a default."""
        wanted = [*tables]
        with self.reading() as connection:
            if not _missing_columns(connection, wanted):
                return
        with self.creating() as connection:
            for column in _missing_columns(connection, wanted):
                specification = CreateColumn(column).compile(dialect=self.engine.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {specification}")

    @contextmanager
    def creating(self) -> Iterator[Connection]:
        """Begin a transaction that creates tables, one at a time in a database."""
        with self.writing() as connection:
            self.lock(connection, _SCHEMA_LOCK)
            yield connection

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def _transaction(self, **options: Any) -> Iterator[Connection]:
        try:
            with self.engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            msg = f"{self.where}: {getattr(error, 'orig', None) or error}".strip()
            raise self._error(msg, _problem(error)) from error

    def _parse(self, text: str) -> URL:
        if "://" not in text:
            return URL.create("sqlite", database=text)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError) as error:
            msg = f"the URL of the database cannot be read: {error}"
            raise self._error(msg, "failed") from error
        if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
            # Times without a zone, as the sinks write them, are in UTC, whatever the server thinks.
            options = url.query.get("options", "")
            given = options if isinstance(options, str) else " ".join(options)
            in_utc = {"options": f"{given} -c timezone=UTC".strip()}
            return url.set(drivername="postgresql+psycopg").update_query_dict(in_utc)
        if url.drivername != "sqlite" or not url.database or url.database == ":memory:":
            shown = url.render_as_string(hide_password=True)
            msg = f"{shown}: expected a SQLite file (sqlite:///...) or PostgreSQL (postgresql://...)"
            raise self._error(msg, "failed")
        return url

    def _create_engine(self, url: URL, busy_seconds: int, wal: bool) -> Engine:
        try:
            if not self.is_sqlite:
                return create_engine(url, pool_pre_ping=True)
            engine = create_engine(url, connect_args={"timeout": busy_seconds})
        except ModuleNotFoundError as error:
            msg = f"{self.where}: PostgreSQL needs psycopg; install it with: {install_command('store')}"
            raise self._error(msg, "failed") from error
        event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, busy_seconds, wal))
        event.listen(engine, "begin", _begin_sqlite)
        return engine


def _problem(error: Exception) -> DatabaseProblem:
    """What kind of problem an error of a driver, or of SQLAlchemy around it, is."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        # The low byte is the primary code. An error that is no answer of SQLite has no code.
        return _SQLITE_PROBLEMS.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "failed")
    return _POSTGRESQL_PROBLEMS.get(getattr(cause, "sqlstate", None) or "", "failed")


def _under_earlier_names(connection: Connection, tables: Iterable[Table]) -> list[Table]:
    """The tables that the database has under their earlier names only."""
    present = set(inspect(connection).get_table_names())
    return [table for table in tables if table.name not in present and table.info[EARLIER_NAME] in present]


def copy_sqlite(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a SQLite file, in one state of it, while other processes may write it.

    Raises:
        DatabaseError: The file cannot be read, or the copy cannot be written.
    """
    try:
        with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as copy:
            here.backup(copy)
    except sqlite3.Error as error:
        msg = f"{os.fspath(source)}: {error}"
        raise DatabaseError(msg) from error


def _missing_columns(connection: Connection, tables: Iterable[Table]) -> list[Column[Any]]:
    """The columns that tables of the database lack."""
    inspector = inspect(connection)
    there = {table: {column["name"] for column in inspector.get_columns(table.name)} for table in tables}
    return [column for table, names in there.items() for column in table.columns if column.name not in names]


def _prepare_sqlite(connection: sqlite3.Connection, busy_seconds: int, wal: bool) -> None:
    connection.isolation_level = None  # transactions begin in `_begin_sqlite`, not before the first write
    cursor = connection.cursor()
    if wal and cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(cursor, busy_seconds)
    cursor.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")  # ids arrive in no order, so all of their index is hot
    cursor.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    cursor.execute("PRAGMA synchronous=FULL")  # what was acknowledged is there after a loss of power
    cursor.close()


def _switch_to_wal(cursor: sqlite3.Cursor, busy_seconds: int) -> None:
    """Switch the journal; SQLite does not wait by itself when another process does the same."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            # The low byte is the primary code; another process that switches, too, makes the file busy.
            is_busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later fails if another one wrote in between: a writer locks at
    # once.
    writes = connection.get_execution_options().get("tamis_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
