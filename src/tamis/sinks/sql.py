"""The sink `sql`: tables of a SQLite or PostgreSQL database, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from tamis.sinks.base import BatchKey, Committed, Delivery, Part, SinkError, require_duration
from tamis.sinks.database import DatabaseSink

_log = logging.getLogger(__name__)
_BATCHES_AT_ONCE = 100


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

    def __init__(self, *, url: str, output_retention: timedelta | None = None) -> None:
        """Nothing is touched yet.

        Args:
            url: `sqlite:///file.db` or `postgresql://user:password@host/database`. Tables are made if need be.
            output_retention: For how long rows stay, looked at after every hundredth batch; by default for ever.

        Raises:
            SinkError: An argument is not of its type, or SQLAlchemy is not installed.
        """
        if output_retention is not None:
            require_duration(self.name, "output_retention", output_retention)
        self._output_retention = output_retention
        super().__init__(url=url)

    def commit(self, delivery: Delivery) -> Committed:
        """Insert what is new of a delivery, unless it was committed before."""
        committed = super().commit(delivery)
        self._remove_old(delivery.key)
        return committed

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Take over what tasks have loaded, in one transaction, unless the batch was committed before."""
        committed = super().publish(batch, parts)
        self._remove_old(batch)
        return committed

    def _remove_old(self, batch: BatchKey) -> None:
        if self._output_retention is None or (batch.batch + 1) % _BATCHES_AT_ONCE:
            return
        try:
            self.delete_before(batch.at - self._output_retention)
        except SinkError as error:  # the batch is committed: what only saves space must not stop the stream
            _log.warning("%s: old rows were not deleted: %s", self.describe(), error)
