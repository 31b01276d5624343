"""The sink `webhook`: a queue of deliveries in a SQLite or PostgreSQL database, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.base import Committed, Delivery
from tamis.sinks.database import Database


class WebhookSink:
    """Rows of `tamis_deliveries`, in which `state` is `waiting`, `attempts` 0 and `next_attempt` the batch's time.

    Putting a notification in the queue happens exactly once. Who takes it out and calls the receiver does that at
    least once.

    Example:
        >>> WebhookSink(url="sqlite:///found.db").describe()
        'queue of webhooks in sqlite:///found.db, exactly once'
    """

    name: ClassVar[str] = "webhook"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, url: str) -> None:
        """Nothing is touched yet.

        Args:
            url: `sqlite:///file.db` or `postgresql://user:password@host/database`. Tables are made if need be.

        Raises:
            SinkError: An argument is not of its type, or SQLAlchemy is not installed.
        """
        self._database = Database(self.name, url, is_queue=True)

    def commit(self, delivery: Delivery) -> Committed:
        """Insert the rows of a batch and its commit in one transaction."""
        return self._database.commit(delivery)

    def check(self) -> None:
        """Connect, and compare the tables if they are there."""
        self._database.check()

    def describe(self) -> str:
        """What it is and where."""
        return f"queue of webhooks in {self._database.where()}, exactly once"

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
