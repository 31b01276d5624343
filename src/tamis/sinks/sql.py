"""The sink `sql`: tables of a SQLite or PostgreSQL database, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.base import Committed, Delivery
from tamis.sinks.database import Database


class SqlSink:
    """Rows of `tamis_notifications` and `tamis_dead_letters`; `tamis_commits` has a row a batch.

    A notification is left out for as long as its row is there; old rows may be deleted at any time.

    Example:
        >>> SqlSink(url="sqlite:///found.db").describe()
        'table tamis_notifications in sqlite:///found.db, exactly once'
    """

    name: ClassVar[str] = "sql"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, url: str) -> None:
        """Nothing is touched yet.

        Args:
            url: `sqlite:///file.db` or `postgresql://user:password@host/database`. Tables are made if need be.

        Raises:
            SinkError: An argument is not of its type, or SQLAlchemy is not installed.
        """
        self._database = Database(self.name, url, is_queue=False)

    def commit(self, delivery: Delivery) -> Committed:
        """Insert the rows of a batch and its commit in one transaction."""
        return self._database.commit(delivery)

    def check(self) -> None:
        """Connect, and compare the tables if they are there."""
        self._database.check()

    def describe(self) -> str:
        """What it is and where."""
        return f"table tamis_notifications in {self._database.where()}, exactly once"

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
