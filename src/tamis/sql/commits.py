"""The commit of a batch: its rows and the row that says that it was taken are one transaction.

A table of commits has one row for each key: the query and batch, and the sink where several share the table. That
row is inserted first. A transaction that repeats a commit, even at the same moment, waits there for the other one
and then finds that it is done. Rows go in by id, so that two batches that write the same ones wait for each other,
and never in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, and_, select, update

from tamis.sql.rows import KEEP, insert_rows


def commit_once(
    connection: Connection,
    commits: Table,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    write: Callable[[], tuple[int, int]],
) -> tuple[int, int, bool]:
    """Write a batch, unless it was committed before under the same key.

    Args:
        connection: In a transaction that may write.
        commits: The table of commits, with columns `written` and `repeated`.
        key: The primary key of the commit.
        values: Its other columns, as they are to be stored.
        write: Writes the rows of the batch in the same transaction; gives how many are new and how many were
            there.

    Returns:
        What `write` gave, now or when the batch was committed first; and whether it had been committed before.
    """
    row = {**key, **values, "written": 0, "repeated": 0}
    is_this = and_(*(commits.c[name] == value for name, value in key.items()))
    if not insert_rows(connection, commits, row, [tuple(row.values())], 1, KEEP):
        written, repeated = connection.execute(select(commits.c.written, commits.c.repeated).where(is_this)).one()
        return written, repeated, True
    written, repeated = write()
    connection.execute(update(commits).where(is_this).values(written=written, repeated=repeated))
    return written, repeated, False
