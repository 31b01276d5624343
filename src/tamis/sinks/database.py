"""Commits in a SQL database: the rows of a batch and its commit are one transaction.

`tamis_commits` has one row a sink, query and batch. It is inserted first: who repeats a commit, at the same moment
even, waits there for the other and finds that it is done. A notification's id is a primary key, and what is there
stays: a notification is left out for as long as its row is there. Rows go in by id, so that two queries that write
the same ones wait for each other and never in a circle.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from tamis.sinks.base import Committed, Delivery, SinkError, require, without_duplicates
from tamis.sinks.formats import time_texts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

ROWS_AT_ONCE = 50_000
BUSY_SECONDS = 60
"""How long SQLite waits for another writer."""


class DatabaseSink:
    """The tables of a sink in a database.

    Attributes:
        is_queue: Notifications are to be delivered from there, one by one.
        title: What people call it.
    """

    name: ClassVar[str]
    exactly_once: ClassVar[bool] = True
    is_queue: ClassVar[bool]
    title: ClassVar[str]

    def __init__(self, *, url: str) -> None:
        """Nothing is touched yet.

        Args:
            url: `sqlite:///file.db` or `postgresql://user:password@host/database`. Tables are made if need be.

        Raises:
            SinkError: An argument is not of its type, or SQLAlchemy is not installed.
        """
        require(self.name, "url", url, str, "the URL of a database")
        self._engine = _engine(self.name, url)
        self._are_tables_made = False
        tables = _tables()
        self._commits, self._dead = tables["tamis_commits"], tables["tamis_dead_letters"]
        self._notifications = tables["tamis_deliveries" if self.is_queue else "tamis_notifications"]

    def commit(self, delivery: Delivery) -> Committed:
        """Insert what is new of a delivery, unless it was committed before."""
        from sqlalchemy import select, update

        commits = self._commits.c
        key = {"sink": self.name, "query": delivery.query, "batch": delivery.batch}
        is_this = [commits[name] == value for name, value in key.items()]
        with self._reporting():
            self._make_tables()
            with self._engine.begin() as connection:
                rest = without_duplicates(delivery)
                row = {**key, "at": _text(delivery.at), "version": delivery.version, "dead": rest.dead.num_rows}
                new = {name: [value] for name, value in {**row, "written": 0, "repeated": 0}.items()}
                if not _insert(connection, self._commits, new):
                    query = select(commits.written, commits.repeated).where(*is_this)
                    written, repeated = connection.execute(query).one()
                    return Committed(written, repeated, again=True)
                due = {"state": "waiting", "attempts": 0, "next_attempt": _text(delivery.at)}
                more = due if self.is_queue else {}
                written = self._insert_table(connection, self._notifications, rest.notifications, more)
                batch = {"query": delivery.query, "batch": delivery.batch}
                self._insert_table(connection, self._dead, rest.dead, batch)
                counts = {"written": written, "repeated": rest.notifications.num_rows - written}
                connection.execute(update(self._commits).where(*is_this).values(**counts))
                return Committed(**counts)

    def check(self) -> None:
        """Can it be reached, and are the tables as they should be, if they are there?

        Raises:
            SinkError: No.
        """
        from sqlalchemy import inspect

        if self._engine.dialect.name == "sqlite" and not Path(self._engine.url.database or "").exists():
            self._check_folder()  # connecting would make the file
            return
        with self._reporting(), self._engine.connect() as connection:
            inspector = inspect(connection)
            for table in (self._commits, self._dead, self._notifications):
                if inspector.has_table(table.name):
                    found = {column["name"] for column in inspector.get_columns(table.name)}
                    if missing := sorted(set(table.columns.keys()) - found):
                        msg = f"{self._place()}: table {table.name} has no column {', '.join(missing)}"
                        raise SinkError(msg)

    def _check_folder(self) -> None:
        folder = Path(self._engine.url.database or "").absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            msg = f"{self._place()}: {folder} is no folder that can be written"
            raise SinkError(msg)

    def describe(self) -> str:
        """What it is and where, without a password."""
        return f"{self.title} in {self._where()}, exactly once"

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _insert_table(self, connection: Connection, table: Table, rows: pa.Table, more: Mapping[str, Any]) -> int:
        """Insert the rows whose keys are not there, with some values that are the same in all; how many were not?

        The driver gets columns as they are: SQLAlchemy would take most of the time to look at single values.
        """
        inserted = 0
        for start in range(0, rows.num_rows, ROWS_AT_ONCE):
            part = rows.slice(start, ROWS_AT_ONCE)
            columns = {name: _values(part[name]) for name in part.column_names}
            columns |= {name: [value] * part.num_rows for name, value in more.items()}
            inserted += _insert(connection, table, columns)
        return inserted

    def _make_tables(self) -> None:
        if self._are_tables_made:
            return
        from sqlalchemy.schema import CreateIndex, CreateTable

        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                # There, two that create a table at the same moment collide, even with IF NOT EXISTS.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('tamis_commits'))")
            for table in (self._commits, self._dead, self._notifications):
                connection.execute(CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    connection.execute(CreateIndex(index, if_not_exists=True))
        self._are_tables_made = True

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except SQLAlchemyError as error:
            reason = getattr(error, "orig", None) or error
            msg = f"{self._place()}: {reason}"
            raise SinkError(msg) from error

    def _place(self) -> str:
        return f"sink {self.name}: {self._where()}"

    def _where(self) -> str:
        return self._engine.url.render_as_string(hide_password=True)


def _insert(connection: Connection, table: Table, columns: Mapping[str, list[Any]]) -> int:
    """Insert the rows whose keys are not there; how many were not?"""
    connection = connection.execution_options(preserve_rowcount=True)
    quote = connection.dialect.identifier_preparer.quote
    names = ", ".join(quote(name) for name in columns)
    into = f"INSERT INTO {quote(table.name)} ({names})"
    rows = list(zip(*columns.values(), strict=True))
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite or len(rows) == 1:
        places = ", ".join("?" if is_sqlite else "%s" for _ in columns)
        statement = f"{into} VALUES ({places}) ON CONFLICT DO NOTHING"
        return connection.exec_driver_sql(statement, rows).rowcount
    # Loading into a table of the connection's own, and taking what is new from there, is the quickest way.
    loaded = quote(f"{table.name}_loaded")
    like = f"(LIKE {quote(table.name)}) ON COMMIT DELETE ROWS"
    connection.exec_driver_sql(f"CREATE TEMPORARY TABLE IF NOT EXISTS {loaded} {like}")
    connection.exec_driver_sql(f"TRUNCATE {loaded}")
    cursor: Any = connection.connection.cursor()
    with cursor, cursor.copy(f"COPY {loaded} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    return connection.exec_driver_sql(f"{into} SELECT {names} FROM {loaded} ON CONFLICT DO NOTHING").rowcount


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = (time_texts(column) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def _text(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _engine(sink: str, url: str) -> Engine:
    try:
        import sqlalchemy as sa
    except ImportError as error:
        msg = f"sink {sink}: needs SQLAlchemy, which comes with the extra `store`"
        raise SinkError(msg) from error
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        msg = f"sink {sink}: url must be like sqlite:///file.db or postgresql://user@host/database"
        raise SinkError(msg) from error
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        msg = f"sink {sink}: url must be of SQLite or PostgreSQL, found {backend}"
        raise SinkError(msg)
    if backend == "sqlite":
        return sa.create_engine(parsed, connect_args={"timeout": BUSY_SECONDS})
    # Times are sent as texts in UTC.
    in_utc = {"options": "-c timezone=UTC"}
    return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True, connect_args=in_utc)


def _tables() -> Mapping[str, Table]:
    import sqlalchemy as sa

    metadata = sa.MetaData()

    def time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
        return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)

    def notification() -> list[sa.Column[Any]]:
        return [
            sa.Column("id", sa.String(32), primary_key=True),
            sa.Column("event_id", sa.Text, nullable=False),
            sa.Column("subscription_id", sa.Text, nullable=False),
            sa.Column("revision", sa.BigInteger, nullable=False),
            sa.Column("event_type", sa.Text, nullable=False),
            sa.Column("version", sa.BigInteger, nullable=False),
            time("event_time", nullable=True),
            time("matched_at"),
        ]

    def batch() -> list[sa.Column[Any]]:
        return [
            sa.Column("query", sa.Text, primary_key=True),
            sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
        ]

    sa.Table("tamis_notifications", metadata, *notification())
    sa.Table(
        "tamis_deliveries",
        metadata,
        *notification(),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        time("next_attempt"),
        sa.Index("tamis_deliveries_due", "state", "next_attempt"),
    )
    sa.Table(
        "tamis_dead_letters",
        metadata,
        *batch(),
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("event_id", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("original", sa.LargeBinary, nullable=False),
        time("at"),
    )
    sa.Table(
        "tamis_commits",
        metadata,
        sa.Column("sink", sa.Text, primary_key=True),
        *batch(),
        time("at"),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("version", "written", "repeated", "dead")),
    )
    return metadata.tables
