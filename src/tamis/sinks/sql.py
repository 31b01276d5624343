"""The sink `sql`: tables of a SQLite or PostgreSQL database, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.database import DatabaseSink


class SqlSink(DatabaseSink):
    """Rows of `tamis_notifications` and `tamis_dead_letters`; `tamis_commits` has a row a batch.

    A notification is left out for as long as its row is there; old rows may be deleted at any time.

    Example:
        >>> SqlSink(url="sqlite:///found.db").describe()
        'table tamis_notifications in sqlite:///found.db, exactly once'
    """

    name: ClassVar[str] = "sql"
    is_queue: ClassVar[bool] = False
    title: ClassVar[str] = "table tamis_notifications"
