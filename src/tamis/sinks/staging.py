"""Rows that tasks load into PostgreSQL, and that the driver's transaction takes over.

A task copies its rows into a staging table under a token of its own, in a transaction of its own. The transaction
that publishes a batch takes the rows of the tasks that succeeded; afterwards all that is staged of the query is
removed. The staging tables are not logged: a crash of the server may empty them, so publishing counts what it
finds, and fails if that is not what tasks wrote; the batch is then done again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from tamis.arrays import U64
from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, Keys, event_keys
from tamis.sinks.base import BatchKey, Committed, DistinctLetters, Part, SinkError, count_letters
from tamis.sinks.formats import time_texts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Table

    from tamis.sql.database import Database

STAGED_NOTIFICATIONS = "tamis_staged_notifications"
STAGED_DEAD_LETTERS = "tamis_staged_dead_letters"
_SCHEMAS = {STAGED_NOTIFICATIONS: NOTIFICATIONS, STAGED_DEAD_LETTERS: DEAD_LETTERS}
_TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.binary(): "bytea",
    pa.timestamp("us", "UTC"): "timestamptz",
}
_COPIED_ROWS = 100_000


def create_staging_tables(database: Database) -> None:
    """Create the staging tables where they are missing."""
    with database.creating() as connection:
        for statement in _create_statements():
            connection.exec_driver_sql(statement)


def staging_writer(
    engine: Engine, batch: BatchKey, change_dead: Callable[[pa.Table], pa.Table] | None = None
) -> StagingTaskWriter:
    """What tasks load the rows of a batch with; `change_dead` makes dead letters as they are staged."""
    arguments = engine.dialect.create_connect_args(engine.url)[1]
    connect = {name: value for name, value in arguments.items() if name != "context"}
    return StagingTaskWriter(connect, batch, change_dead)


def _create_statements() -> list[str]:
    own = "query text NOT NULL, batch bigint NOT NULL, token text NOT NULL, "
    return [
        f"CREATE UNLOGGED TABLE IF NOT EXISTS {name} ({own}"
        + ", ".join(f'"{each.name}" {_TYPES[each.type]}' for each in schema)
        + ")"
        for name, schema in _SCHEMAS.items()
    ] + [
        f"ALTER TABLE {STAGED_NOTIFICATIONS} ADD COLUMN IF NOT EXISTS priority bigint",  # earlier ones lack it
        *(f"CREATE INDEX IF NOT EXISTS {name}_query ON {name} (query, batch)" for name in _SCHEMAS),
    ]


@dataclass(frozen=True, slots=True)
class StagingTaskWriter:
    """Loads rows into the staging tables.

    Attributes:
        connect: How to connect, as psycopg takes it.
        batch: What is written.
        change_dead: Makes dead letters as they are staged, of those that are found.
    """

    connect: dict[str, Any] = field(repr=False)  # with the password
    batch: BatchKey
    change_dead: Callable[[pa.Table], pa.Table] | None = None

    def open(self, partition: int, attempt: int) -> StagingPartWriter:
        """A writer for one attempt of a task; it connects when there is something to write."""
        return StagingPartWriter(self, f"{partition}-{attempt}-{uuid.uuid4().hex[:12]}")


@dataclass(slots=True)
class StagingPartWriter:
    """One attempt of a task."""

    writer: StagingTaskWriter
    token: str
    written: int = 0
    dead: int = 0
    letters: DistinctLetters = field(default_factory=DistinctLetters)
    _waiting: dict[str, list[pa.Table]] = field(default_factory=dict)
    _events: list[U64] = field(default_factory=list)
    _connection: Any = None

    def add(self, notifications: pa.Table, keys: Keys, events: pa.Array, shard: int = 0) -> None:
        """Take notifications; the database finds those that are there."""
        self.written += notifications.num_rows
        self._events.append(event_keys(events.unique()))
        self._add(STAGED_NOTIFICATIONS, notifications)

    def add_dead(self, dead: pa.Table) -> None:
        change = self.writer.change_dead
        new = self.letters.new(dead if change is None else change(dead))
        self.dead += new.num_rows
        self._add(STAGED_DEAD_LETTERS, new)

    def finish(self) -> Part:
        for table in _SCHEMAS:
            self._copy(table)
        if self._connection is not None:
            self._connection.commit()
            self._connection.close()
        events = np.concatenate([np.empty(0, np.uint64), *self._events])
        return Part(self.token, self.written, 0, self.dead, events=events, letters=self.letters.numbers)

    def _add(self, table: str, rows: pa.Table) -> None:
        waiting = self._waiting.setdefault(table, [])
        waiting.append(rows)
        if sum(each.num_rows for each in waiting) >= _COPIED_ROWS:
            self._copy(table)

    def _copy(self, table: str) -> None:
        import psycopg

        # One chunk: pyarrow 26 writes zeros in front of the rows if the first of several chunks is empty.
        rows = pa.concat_tables([_SCHEMAS[table].empty_table(), *self._waiting.pop(table, [])]).combine_chunks()
        if not rows.num_rows:
            return
        if self._connection is None:
            self._connection = psycopg.connect(**self.writer.connect)
        columns = {"query": self.writer.batch.query, "batch": self.writer.batch.batch, "token": self.token}
        names = ", ".join(f'"{name}"' for name in (*columns, *rows.column_names))
        constants = {name: pa.repeat(pa.scalar(value), rows.num_rows) for name, value in columns.items()}
        text = pa.table(constants | {name: _text(rows[name]) for name in rows.column_names})
        with pa.BufferOutputStream() as stream:
            pa_csv.write_csv(text, stream, pa_csv.WriteOptions(include_header=False))
            with (
                self._connection.cursor() as cursor,
                cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)") as copy,
            ):
                copy.write(stream.getvalue().to_pybytes())


class TakesStaged(Protocol):
    """What takes over staged rows within a transaction."""

    def take(self, connection: Connection, batch: BatchKey, parts: Sequence[Part]) -> int:
        """Insert what tasks staged, but for what is there; gives how many rows."""
        ...


@dataclass(frozen=True, slots=True)
class StagedTarget:
    """Where staged rows go.

    Attributes:
        staged: The staging table.
        table: The table.
        constants: Columns that are the same in all rows.
        columns: Columns that are not as they are staged, in SQL.
        order: In which rows are inserted. By id first if others write the same rows at the same time: then two
            wait for each other, and never in a circle.
    """

    staged: str
    table: Table
    constants: Mapping[str, Any]
    columns: Mapping[str, str] = field(default_factory=dict)
    order: str = "id"

    def take(self, connection: Connection, batch: BatchKey, parts: Sequence[Part]) -> int:
        """Insert what tasks staged, but for rows whose keys are there; gives how many.

        Raises:
            SinkError: The staging table does not have what tasks wrote.
        """
        staged = self.staged
        expected = sum(part.written if staged == STAGED_NOTIFICATIONS else part.dead for part in parts)
        if not expected:
            return 0
        where = f"FROM {staged} WHERE query = %s AND batch = %s AND token = ANY(%s)"
        which = (batch.query, batch.batch, [part.token for part in parts])
        found = connection.exec_driver_sql(f"SELECT count(*) {where}", which).scalar_one()
        if found != expected:
            place = f"query {batch.query}, batch {batch.batch}"
            msg = f"{place}: {staged} has {found} rows of {expected} that tasks wrote"
            raise SinkError(msg)
        columns = {each.name: f'"{each.name}"' for each in _SCHEMAS[staged] if each.name in self.table.c}
        columns |= {**self.columns} | dict.fromkeys(self.constants, "%s")
        listed = ", ".join(f'"{name}"' for name in columns)
        insert = f"INSERT INTO {self.table.name} ({listed}) SELECT {', '.join(columns.values())} {where}"
        statement = f"{insert} ORDER BY {self.order} ON CONFLICT DO NOTHING"
        return int(connection.exec_driver_sql(statement, (*self.constants.values(), *which)).rowcount)


def publish_staged(
    database: Database,
    batch: BatchKey,
    parts: Sequence[Part],
    commits: Table,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    targets: Sequence[TakesStaged],
) -> Committed:
    """Take over what tasks have loaded, in one transaction, unless the batch was committed before.

    Args:
        database: With all of these tables.
        batch: Which batch.
        parts: What its tasks wrote.
        commits: As for `commit_once`, with a column `dead`.
        key: The primary key of the commit.
        values: Its other columns, but for `dead`.
        targets: Where rows go, first notifications.
    """
    from tamis.sql.commits import commit_once

    def write() -> tuple[int, int]:
        written, *_ = [target.take(connection, batch, parts) for target in targets]
        return written, sum(part.written for part in parts) - written

    with database.writing() as connection:
        found = commit_once(connection, commits, key, {**values, "dead": count_letters(parts)}, write)
    remove_staged(database, batch)
    return Committed(*found)


def remove_staged(database: Database, batch: BatchKey) -> None:
    """Remove what is staged of a batch, and of those before it."""
    with database.writing() as connection:
        for name in _SCHEMAS:
            which = (batch.query, batch.batch)
            connection.exec_driver_sql(f"DELETE FROM {name} WHERE query = %s AND batch <= %s", which)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if pa.types.is_timestamp(column.type):
        return time_texts(column)
    if pa.types.is_binary(column.type):
        return pa.array([f"\\x{value.hex()}" for value in column.to_pylist()], pa.string())
    return column
