"""Many rows at once, straight through the driver: SQLAlchemy would spend most of the time on single values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from sqlalchemy import Connection, Table

_COPY_ROWS = 200
"""Number of rows from which PostgreSQL's COPY repays its round trips."""

KEEP = "ON CONFLICT DO NOTHING"
"""Rows whose keys are there stay as they are."""


def overwrite(table: Table, key: str) -> str:
    """Rows whose keys are there get the new values."""
    updates = ", ".join(f"{name} = excluded.{name}" for name in table.c.keys() if name != key)
    return f"ON CONFLICT ({key}) DO UPDATE SET {updates}"


def insert_rows(
    connection: Connection,
    table: Table,
    columns: Iterable[str],
    rows: Iterable[tuple[Any, ...]],
    count: int,
    conflict: str = "",
) -> int:
    """Insert rows; gives how many of them are in the table because of that.

    Args:
        connection: In a transaction that may write.
        table: Into which.
        columns: The columns that rows have, in their order.
        rows: Tuples, read once.
        count: How many there are.
        conflict: `KEEP`, what `overwrite` gives, or nothing: then a key that is there is an error.
    """
    if not count:
        return 0
    quote = connection.dialect.identifier_preparer.quote
    names = [quote(name) for name in columns]
    listed = ", ".join(names)
    into = f"INSERT INTO {quote(table.name)} ({listed})"
    cursor: Any = connection.connection.cursor()
    with closing(cursor):
        if connection.dialect.name == "sqlite" or count < _COPY_ROWS:
            place = "?" if connection.dialect.name == "sqlite" else "%s"
            cursor.executemany(f"{into} VALUES ({', '.join([place] * len(names))}) {conflict}", rows)
        elif not conflict:
            _copy(cursor, f"{quote(table.name)} ({listed})", rows)
        else:
            # COPY knows no conflicts: load a temporary table, and take the rows from there.
            loaded = quote(f"{table.name}_loaded")
            select = f"SELECT {listed} FROM"
            cursor.execute(f"CREATE TEMPORARY TABLE {loaded} AS {select} {quote(table.name)} WITH NO DATA")
            _copy(cursor, f"{loaded} ({listed})", rows)
            cursor.execute(f"{into} {select} {loaded} {conflict}")
            inserted = int(cursor.rowcount)
            cursor.execute(f"DROP TABLE {loaded}")
            return inserted
        return int(cursor.rowcount)


def _copy(cursor: Any, target: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def rows_by_key(
    connection: Connection, table: Table, columns: Iterable[str], key: str, keys: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Select the rows whose column `key` has one of these values, however many, in one query."""
    query = f"SELECT {', '.join(columns)} FROM {table.name} WHERE {key} "
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql(query + "IN (SELECT value FROM json_each(?))", (json.dumps(keys),))
    else:
        rows = connection.exec_driver_sql(query + "= ANY(%s)", ([*keys],))
    return (tuple(row) for row in rows)
