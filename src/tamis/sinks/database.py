"""Sinks in a SQL database: the rows of a batch and its commit are one transaction.

`tamis_commits` has one row for each sink, query and batch (see `tamis.sql.commits`). The id of a notification is a
primary key, and a row that is there stays: a notification is left out for as long as its row is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from tamis.notifications import ADDED
from tamis.sinks.base import (
    BatchKey,
    Committed,
    Delivery,
    Part,
    SinkError,
    TaskWriter,
    require,
    without_duplicates,
)
from tamis.sinks.formats import time_texts
from tamis.sinks.staging import (
    STAGED_DEAD_LETTERS,
    STAGED_NOTIFICATIONS,
    StagedTarget,
    create_staging_tables,
    publish_staged,
    staging_writer,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from tamis.sql.database import Database

_ROWS_AT_ONCE = 50_000
"""How many rows are Python objects at the same time."""


class DatabaseSink:
    """The tables of a sink in a database.

    Attributes:
        is_queue: Notifications are to be delivered from there, one by one.
        title: Its description for people.
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
        if "://" not in url:
            msg = f"sink {self.name}: url must be like sqlite:///file.db or postgresql://user@host/database"
            raise SinkError(msg)
        self._database = _database(self.name, url)
        self._has_tables = False
        tables = _tables()
        self._commits, self._dead = tables["tamis_commits"], tables["tamis_dead_letters"]
        self._notifications = tables["tamis_deliveries" if self.is_queue else "tamis_notifications"]

    def commit(self, delivery: Delivery) -> Committed:
        """Insert what is new of a delivery, unless it was committed before."""
        from tamis.sql.commits import commit_once

        batch = {"query": delivery.query, "batch": delivery.batch}
        at = _text(delivery.at)
        new = without_duplicates(delivery)
        due = self._due(at)

        def write() -> tuple[int, int]:
            written = _insert(connection, self._notifications, new.notifications, due)
            _insert(connection, self._dead, new.dead, batch)
            return written, new.notifications.num_rows - written

        self._create_tables()
        with self._database.writing() as connection:
            values = {"at": at, "version": delivery.version, "dead": new.dead.num_rows}
            return Committed(*commit_once(connection, self._commits, {"sink": self.name, **batch}, values, write))

    def task_writer(self, batch: BatchKey) -> TaskWriter | None:
        """What tasks load rows into PostgreSQL with; SQLite has one writer, the driver."""
        if self._database.is_sqlite:
            return None
        self._create_tables()
        return staging_writer(self._database.engine, batch)

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Take over what tasks have loaded, in one transaction, unless the batch was committed before."""
        at, key = _text(batch.at), {"query": batch.query, "batch": batch.batch}
        targets = (
            StagedTarget(STAGED_NOTIFICATIONS, self._notifications, self._due(at), order="id, event_time"),
            StagedTarget(STAGED_DEAD_LETTERS, self._dead, key),
        )
        values = {"at": at, "version": batch.version}
        commit = {"sink": self.name, **key}
        return publish_staged(self._database, batch, parts, self._commits, commit, values, targets)

    def _due(self, at: str) -> dict[str, Any]:
        """The columns of a queue."""
        return {"state": "waiting", "attempts": 0, "next_attempt": at} if self.is_queue else {}

    def delete_before(self, time: datetime) -> None:
        """Delete the rows of notifications, dead letters and commits from before a time, but no newest commit.

        A query may do its last batch again, however long ago that was.
        """
        from sqlalchemy import func, select

        when, commits = time.astimezone(UTC).replace(tzinfo=None), self._commits
        same = commits.alias()
        newest = select(func.max(same.c.batch)).where(same.c.sink == self.name, same.c.query == commits.c.query)
        old = commits.c.sink == self.name, commits.c.at < when, commits.c.batch < newest.scalar_subquery()
        with self._database.writing() as connection:
            for table, column in ((self._notifications, "matched_at"), (self._dead, "at")):
                connection.execute(table.delete().where(table.c[column] < when))
            connection.execute(commits.delete().where(*old))

    def check(self) -> None:
        """Check that the database can be reached, and that its tables have our columns, if they are there.

        Raises:
            SinkError: It cannot, or they do not.
        """
        if self._database.path is not None and not Path(self._database.path).exists():
            self._check_folder(Path(self._database.path).absolute().parent)  # connecting would create the file
            return
        self._check_tables()

    def _check_tables(self) -> None:
        from sqlalchemy import inspect

        with self._database.reading() as connection:
            inspector = inspect(connection)
            for table in (self._commits, self._dead, self._notifications):
                if inspector.has_table(table.name):
                    present = {column["name"] for column in inspector.get_columns(table.name)}
                    if missing := sorted(set(table.columns.keys()) - present - {*ADDED}):
                        msg = f"{self._place()}: table {table.name} has no column {', '.join(missing)}"
                        raise SinkError(msg)

    def _check_folder(self, folder: Path) -> None:
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            msg = f"{self._place()}: {folder} is no folder that can be written"
            raise SinkError(msg)

    def describe(self) -> str:
        """What it is and where, without a password."""
        return f"{self.title} in {self._database.where}, exactly once"

    def close(self) -> None:
        self._database.close()

    def _create_tables(self) -> None:
        if not self._has_tables:
            self._database.create_missing((self._commits, self._dead, self._notifications))
            self._check_tables()
            self._database.add_missing_columns((self._notifications,))
            if not self._database.is_sqlite:
                create_staging_tables(self._database)
            self._has_tables = True

    def _place(self) -> str:
        return f"sink {self.name}: {self._database.where}"


def _insert(connection: Connection, table: Table, rows: pa.Table, constants: Mapping[str, Any]) -> int:
    """Insert the rows whose keys are not there, with columns that are the same in all; gives how many."""
    from tamis.sql.rows import KEEP, insert_rows

    names = (*rows.column_names, *constants)
    return insert_rows(connection, table, names, _tuples(rows, tuple(constants.values())), rows.num_rows, KEEP)


def _tuples(rows: pa.Table, constants: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
        part = rows.slice(start, _ROWS_AT_ONCE)
        for row in zip(*(_values(part[name]) for name in part.column_names), strict=True):
            yield row + constants


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = (time_texts(column) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return values


def _text(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def _database(sink: str, url: str) -> Database:
    try:
        from tamis.sql.database import Database
    except ImportError as error:
        msg = f"sink {sink}: needs SQLAlchemy, which comes with the extra `store`"
        raise SinkError(msg) from error
    # The file may be one that its owner shares with other programs: its journal stays as it is.
    return Database(url, error=lambda message, _: SinkError(f"sink {sink}: {message}"), wal=False)


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
            *(sa.Column(name, sa.Text) for name in ADDED if name != "priority"),
            sa.Column("priority", sa.BigInteger, nullable=False, server_default="0"),
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
