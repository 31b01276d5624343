"""The sink `parquet`: a folder of Parquet files, one file of notifications a batch, exactly once."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import ClassVar

from tamis.sinks.base import RETENTION, Committed, Delivery
from tamis.sinks.files import Files
from tamis.sinks.formats import PARQUET


class ParquetSink:
    """A folder of Parquet files; `read_notifications` and `read_dead_letters` read it.

    Example:
        >>> ParquetSink(folder="notifications").describe()
        'Parquet files in notifications, exactly once'
    """

    name: ClassVar[str] = "parquet"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, folder: str | os.PathLike[str], retention: timedelta = RETENTION) -> None:
        """Nothing is touched yet.

        Args:
            folder: Its path or URL; it need not exist.
            retention: For how long a notification is remembered, so that it is not written again.

        Raises:
            SinkError: An argument is not of its type.
        """
        self._files = Files(self.name, folder, retention, PARQUET)

    def commit(self, delivery: Delivery) -> Committed:
        """Write the files of a batch, then its commit."""
        return self._files.commit(delivery)

    def check(self) -> None:
        """Could files be written there?"""
        self._files.check()

    def describe(self) -> str:
        """What it is and where."""
        return f"Parquet files in {self._files.where()}, exactly once"

    def close(self) -> None:
        """Nothing is held open."""
