"""What a task writes of a batch into the folder of a sink: its notifications, its dead letters, and its ledger.

Names of files are the batch's, and a token that no other attempt has. Nobody reads them before a commit names
them, so an attempt that failed, or was one too many, leaves nothing that counts.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, Keys, by_priority
from tamis.sinks.base import BatchKey, DistinctLetters, Part, PartFile
from tamis.sinks.formats import FORMATS
from tamis.sinks.ledger import LedgerView, TaskLedger
from tamis.snapshot.storage import Storage, open_storage

NOTIFICATION_FILES = "notifications"
DEAD_LETTER_FILES = "dead-letters"
DAY = "day"
"""The partition column: the day of `matched_at` or `at`, in UTC."""
FILE_ROWS = 1_000_000
"""A file is closed when it has so many rows, so that a task need not hold more."""
_LONGEST_STATISTIC = 256
TIMES = {NOTIFICATION_FILES: "matched_at", DEAD_LETTER_FILES: "at"}
"""The column that says when, by kind."""


@dataclass(frozen=True, slots=True)
class FolderTaskWriter:
    """Writes files into a folder.

    Attributes:
        url: The folder, as tasks reach it.
        batch: What is written.
        name: The beginning of the names of its files.
        suffix: The format of files.
        ledger: What was notified before.
        by_day: Are files partitioned by day, and do they have statistics, as tables want it?
    """

    url: str = field(repr=False)  # it may hold keys
    batch: BatchKey
    name: str
    suffix: str
    ledger: LedgerView
    by_day: bool = False

    def open(self, partition: int, attempt: int) -> FolderPartWriter:
        """A writer for one attempt of a task; a negative partition is none of Spark's."""
        token = f"{partition}-{attempt}-{uuid.uuid4().hex[:12]}"
        return FolderPartWriter(self, open_storage(self.url), token, partition, TaskLedger(self.ledger))


@dataclass(slots=True)
class FolderPartWriter:
    """One attempt of a task."""

    writer: FolderTaskWriter
    storage: Storage
    token: str
    partition: int
    ledger: TaskLedger
    written: int = 0
    dead: int = 0
    files: list[PartFile] = field(default_factory=list)
    letters: DistinctLetters = field(default_factory=DistinctLetters)
    _waiting: dict[str, list[pa.Table]] = field(default_factory=dict)

    def add(self, notifications: pa.Table, keys: Keys, events: pa.Array, shard: int = 0) -> None:
        new = self.ledger.is_new(notifications, keys, events, shard)
        kept = int(np.count_nonzero(new))
        if kept < len(new):
            notifications = notifications.filter(pa.array(new))
        self.written += kept
        self._add(NOTIFICATION_FILES, notifications)

    def add_dead(self, dead: pa.Table) -> None:
        new = self.letters.new(dead)
        self.dead += new.num_rows
        self._add(DEAD_LETTER_FILES, new)

    def finish(self) -> Part:
        for kind in (NOTIFICATION_FILES, DEAD_LETTER_FILES):
            self._write(kind)
        events, shards = self.ledger.finish(f"{self.writer.name}.{self.token}")
        merged = self.ledger.merge(self.partition) if self.partition >= 0 else ()
        counts = (self.written, self.ledger.repeated, self.dead)
        return Part(self.token, *counts, tuple(self.files), merged, events, shards, self.letters.numbers)

    def _add(self, kind: str, rows: pa.Table) -> None:
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(rows)
        if sum(each.num_rows for each in waiting) >= FILE_ROWS:
            self._write(kind)

    def _write(self, kind: str) -> None:
        rows = pa.concat_tables([SCHEMAS[kind].empty_table(), *self._waiting.pop(kind, [])])
        if rows.num_rows:
            rows = by_priority(rows) if kind == NOTIFICATION_FILES else rows
            name = f"{self.writer.name}.{self.token}-{len(self.files)}"
            self.files += write_files(self.storage, kind, name, rows, self.writer.suffix, self.writer.by_day)


SCHEMAS = {NOTIFICATION_FILES: NOTIFICATIONS, DEAD_LETTER_FILES: DEAD_LETTERS}


def write_files(
    storage: Storage, kind: str, name: str, rows: pa.Table, suffix: str, by_day: bool
) -> list[PartFile]:
    """Write rows into a file, or into one for each day."""
    if not by_day:
        content = FORMATS[suffix].encode(rows)
        path = f"{kind}/{name}.{suffix}"
        storage.write(path, [content])
        return [PartFile(kind, path, rows.num_rows, len(content))]
    files = []
    for day, some in _by_day(rows, TIMES[kind]):
        content = FORMATS[suffix].encode(some)
        path = f"{kind}/{DAY}={day}/{name}.{suffix}"
        storage.write(path, [content])
        files.append(PartFile(kind, path, some.num_rows, len(content), {DAY: str(day)}, _statistics(some)))
    return files


def read_file(storage: Storage, file: PartFile) -> pa.Table:
    """The rows of a file."""
    return FORMATS[file.path.rpartition(".")[2]].decode(storage.read(file.path), SCHEMAS[file.kind])


def _by_day(rows: pa.Table, column: str) -> list[tuple[date, pa.Table]]:
    days = rows[column].cast(pa.int64()).to_numpy() // 86_400_000_000
    return [
        (
            datetime.fromtimestamp(int(day) * 86_400, UTC).date(),
            rows if len(found) == 1 else rows.filter(pa.array(days == day)),
        )
        for found in [np.unique(days)]
        for day in found
    ]


def _statistics(rows: pa.Table) -> str:
    """Statistics of the columns as Delta has them; readers leave files out by these."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    for name in rows.column_names:
        if pa.types.is_binary(rows[name].type) or name in ("id", "attributes", "reason"):
            continue
        found = pc.min_max(rows[name]).as_py()
        low, high = _statistic(found["min"]), _statistic(found["max"])
        if low is not None and len(str(low)) + len(str(high)) <= _LONGEST_STATISTIC:
            least[name], greatest[name] = low, high
    nulls = {name: rows[name].null_count for name in rows.column_names}
    return json.dumps(
        {"numRecords": rows.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls},
        ensure_ascii=False,
    )


def _statistic(value: Any) -> Any:
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value
