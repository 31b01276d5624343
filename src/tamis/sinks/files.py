"""Notifications and dead letters as files of a folder, one of each a task and batch.

Files are whole when they appear, and belong to the output only if a commit names them (`folder_commits.py`): a
reader takes the commits, and then what they name (`reading.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from tamis.sinks.base import (
    RETENTION,
    BatchKey,
    Committed,
    Delivery,
    Part,
    commit_as_one_part,
    require,
    require_duration,
)
from tamis.sinks.folder_commits import CommittedTable, FolderCommits, batch_name
from tamis.sinks.formats import Format
from tamis.sinks.part_files import FolderTaskWriter


class FileSink:
    """A folder that is written in one format; each subclass is a sink with a name, a format and a title."""

    name: ClassVar[str]
    exactly_once: ClassVar[bool] = True
    format: ClassVar[Format]
    by_day: ClassVar[bool] = False
    kept_commits: ClassVar[int | None] = None
    title: ClassVar[str]

    def __init__(
        self,
        *,
        folder: str | os.PathLike[str],
        retention: timedelta = RETENTION,
        output_retention: timedelta | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            folder: Its path or URL; it need not exist.
            retention: For how long a notification is remembered, so that it is not written again.
            output_retention: For how long the files of a batch stay; by default for ever.

        Raises:
            SinkError: An argument is not of its type.
        """
        require(self.name, "folder", folder, (str, os.PathLike), "a path or URL")
        require_duration(self.name, "retention", retention)
        if output_retention is not None:
            require_duration(self.name, "output_retention", output_retention)
        self._commits = FolderCommits(
            folder, retention, keep=self.kept_commits, keep_for=output_retention, table=self._table(folder)
        )

    def commit(self, delivery: Delivery) -> Committed:
        """Write the files of a batch, then its commit."""
        return commit_as_one_part(self, delivery)

    def task_writer(self, batch: BatchKey) -> FolderTaskWriter:
        """What tasks write their files with."""
        name = batch_name(batch.query, batch.batch)
        view = self._commits.view(batch)
        return FolderTaskWriter(self._commits.url, batch, name, self.format.suffix, view, self.by_day)

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Commit the files of tasks."""
        return self._commits.publish(batch, parts)

    def check(self) -> None:
        self._commits.check(self.name)

    def describe(self) -> str:
        return f"{self.title} in {self._commits.storage.where('').rstrip('/')}, exactly once"

    def close(self) -> None:
        """Nothing is held open."""

    def _table(self, _folder: str | os.PathLike[str]) -> CommittedTable | None:
        """The table that decides what is committed, if there is one."""
        return None
