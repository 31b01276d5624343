"""Notifications and dead letters as files of a folder, one of each a batch, and reading them.

Files are whole when they appear, and belong to the output only if a commit names them (`folder_commits.py`): a
reader takes the commits, and then what they name.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import ClassVar

import pyarrow as pa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks.base import RETENTION, Committed, Delivery, require, require_duration
from tamis.sinks.folder_commits import DEAD_LETTER_FILES, NOTIFICATION_FILES, Commit, FolderCommits, batch_name
from tamis.sinks.formats import FORMATS, Format
from tamis.snapshot.storage import open_storage


class FileSink:
    """A folder that is written in one format; each subclass is a sink with a name, a format and a title."""

    name: ClassVar[str]
    exactly_once: ClassVar[bool] = True
    format: ClassVar[Format]
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
        self._storage = open_storage(folder)
        if output_retention is not None:
            require_duration(self.name, "output_retention", output_retention)
        self._commits = FolderCommits(self._storage, retention, keep_for=output_retention)

    def commit(self, delivery: Delivery) -> Committed:
        """Write the files of a batch, then its commit."""
        return self._commits.commit(delivery, self._write_files)

    def check(self) -> None:
        self._commits.check(self.name)

    def describe(self) -> str:
        return f"{self.title} in {self._storage.where('').rstrip('/')}, exactly once"

    def close(self) -> None:
        """Nothing is held open."""

    def _write_files(self, delivery: Delivery) -> dict[str, str]:
        name = f"{batch_name(delivery.query, delivery.batch)}.{self.format.suffix}"
        tables = {NOTIFICATION_FILES: delivery.notifications, DEAD_LETTER_FILES: delivery.dead}
        files = {}
        for kind, table in tables.items():
            path = f"{kind}/{name}"
            if table.num_rows:
                self._storage.write(path, [self.format.encode(table)])
                files[kind] = path
            else:  # a killed attempt may have left a file
                self._storage.remove(path)
        return files


def read_commits(folder: str | os.PathLike[str]) -> list[Commit]:
    """The commits of a folder that the sinks `parquet` and `jsonl` write, by query and batch."""
    return list(FolderCommits(open_storage(folder), timedelta(days=1)).commits())


def read_notifications(folder: str | os.PathLike[str]) -> pa.Table:
    """All notifications that are committed in a folder, by query and batch, then by id."""
    return _read_tables(folder, NOTIFICATION_FILES, NOTIFICATIONS)


def read_dead_letters(folder: str | os.PathLike[str]) -> pa.Table:
    """All dead letters that are committed in a folder, by query and batch, then by id."""
    return _read_tables(folder, DEAD_LETTER_FILES, DEAD_LETTERS)


def _read_tables(folder: str | os.PathLike[str], kind: str, schema: pa.Schema) -> pa.Table:
    storage = open_storage(folder)
    paths = [commit.files[kind] for commit in read_commits(folder) if kind in commit.files]
    tables = [FORMATS[path.rpartition(".")[2]].decode(storage.read(path), schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
