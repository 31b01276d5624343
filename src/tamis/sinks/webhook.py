"""The sink `webhook`: a queue of deliveries in a SQLite or PostgreSQL database, exactly once."""

from __future__ import annotations

from typing import ClassVar

from tamis.sinks.database import DatabaseSink


class WebhookSink(DatabaseSink):
    """Rows of `tamis_deliveries`, in which `state` is `waiting`, `attempts` 0 and `next_attempt` the batch's time.

    Putting a notification in the queue happens exactly once. Who takes it out and calls the receiver does that at
    least once.

    Example:
        >>> WebhookSink(url="sqlite:///found.db").describe()
        'queue of webhooks in sqlite:///found.db, exactly once'
    """

    name: ClassVar[str] = "webhook"
    is_queue: ClassVar[bool] = True
    title: ClassVar[str] = "queue of webhooks"
