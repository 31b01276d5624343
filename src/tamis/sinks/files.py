"""Notifications and dead letters as files of a folder, one of each a batch, and reading them.

Files are whole when they appear, and belong to the output only if a commit names them (`once.py`): a reader takes
the commits, and then what they name.
"""

from __future__ import annotations

import os
from datetime import timedelta

import pyarrow as pa

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks.base import Committed, Delivery, require, require_duration
from tamis.sinks.formats import FORMATS, Format
from tamis.sinks.once import DEAD_LETTER_FILES, NOTIFICATION_FILES, Commit, Once, name_of
from tamis.snapshot.storage import open_storage


class Files:
    """A folder that is written in one format."""

    def __init__(self, sink: str, folder: str | os.PathLike[str], retention: timedelta, format: Format) -> None:
        """Nothing is touched yet."""
        require(sink, "folder", folder, (str, os.PathLike), "a path or URL")
        require_duration(sink, "retention", retention)
        self._storage = open_storage(folder)
        self._once = Once(self._storage, retention)
        self._sink = sink
        self._format = format

    def commit(self, delivery: Delivery) -> Committed:
        """Write the files of a batch, then its commit."""
        return self._once.commit(delivery, self._put)

    def check(self) -> None:
        """Could files be written there?"""
        self._once.check(self._sink)

    def where(self) -> str:
        """The folder, for people."""
        return self._storage.where("").rstrip("/")

    def _put(self, delivery: Delivery) -> dict[str, str]:
        name = f"{name_of(delivery.query, delivery.batch)}.{self._format.suffix}"
        tables = {NOTIFICATION_FILES: delivery.notifications, DEAD_LETTER_FILES: delivery.dead}
        files = {}
        for kind, table in tables.items():
            path = f"{kind}/{name}"
            if table.num_rows:
                self._storage.write(path, [self._format.encode(table)])
                files[kind] = path
            else:  # what an attempt that was killed may have left
                self._storage.remove(path)
        return files


def committed(folder: str | os.PathLike[str]) -> list[Commit]:
    """The commits of a folder that the sinks `parquet` and `jsonl` write, by query and batch."""
    return list(Once(open_storage(folder), timedelta(days=1)).commits())


def read_notifications(folder: str | os.PathLike[str]) -> pa.Table:
    """All notifications that are committed in a folder, by query and batch, then by id."""
    return _read(folder, NOTIFICATION_FILES, NOTIFICATIONS)


def read_dead_letters(folder: str | os.PathLike[str]) -> pa.Table:
    """All dead letters that are committed in a folder, by query and batch, then by id."""
    return _read(folder, DEAD_LETTER_FILES, DEAD_LETTERS)


def _read(folder: str | os.PathLike[str], kind: str, schema: pa.Schema) -> pa.Table:
    storage = open_storage(folder)
    paths = [commit.files[kind] for commit in committed(folder) if kind in commit.files]
    tables = [FORMATS[path.rpartition(".")[2]].decode(storage.read(path), schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
