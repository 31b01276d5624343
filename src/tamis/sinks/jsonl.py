"""The sink `jsonl`: a folder of JSON lines, one file of notifications a batch, exactly once."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import ClassVar

from tamis.sinks.base import RETENTION, Committed, Delivery
from tamis.sinks.files import Files
from tamis.sinks.formats import JSON_LINES


class JsonLinesSink:
    """A folder of JSON lines; `read_notifications` and `read_dead_letters` read it.

    Example:
        >>> JsonLinesSink(folder="notifications").describe()
        'JSON lines in notifications, exactly once'
    """

    name: ClassVar[str] = "jsonl"
    exactly_once: ClassVar[bool] = True

    def __init__(self, *, folder: str | os.PathLike[str], retention: timedelta = RETENTION) -> None:
        """Nothing is touched yet.

        Args:
            folder: Its path or URL; it need not exist.
            retention: For how long a notification is remembered, so that it is not written again.

        Raises:
            SinkError: An argument is not of its type.
        """
        self._files = Files(self.name, folder, retention, JSON_LINES)

    def commit(self, delivery: Delivery) -> Committed:
        """Write the files of a batch, then its commit."""
        return self._files.commit(delivery)

    def check(self) -> None:
        """Could files be written there?"""
        self._files.check()

    def describe(self) -> str:
        """What it is and where."""
        return f"JSON lines in {self._files.where()}, exactly once"

    def close(self) -> None:
        """Nothing is held open."""
