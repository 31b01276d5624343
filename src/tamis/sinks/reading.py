"""Reads what the sinks `delta`, `parquet` and `jsonl` have written into a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc

from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks.delta import DeltaTables, is_delta, open_table
from tamis.sinks.folder_commits import Commit, FolderCommits
from tamis.sinks.formats import FORMATS
from tamis.sinks.part_files import DAY, DEAD_LETTER_FILES, NOTIFICATION_FILES
from tamis.snapshot.storage import open_storage


def read_commits(folder: str | os.PathLike[str]) -> list[Commit]:
    """The commits of a folder that a sink writes files to, by query and batch; of `delta` the last thousand."""
    table = DeltaTables(folder) if is_delta(folder) else None
    return list(FolderCommits(folder, timedelta(days=1), table=table).commits())


def read_notifications(folder: str | os.PathLike[str]) -> pa.Table:
    """All notifications that are committed in a folder; those of files by query and batch."""
    return _read_tables(folder, NOTIFICATION_FILES, NOTIFICATIONS)


def read_dead_letters(folder: str | os.PathLike[str]) -> pa.Table:
    """All dead letters that are committed in a folder; those of files by query and batch."""
    return _read_tables(folder, DEAD_LETTER_FILES, DEAD_LETTERS)


def find_notifications(
    folder: str | os.PathLike[str],
    *,
    subscription: str | None = None,
    event: str | None = None,
    owner: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> pa.Table:
    """The notifications of a folder that fit all of some conditions, the newest last.

    Args:
        folder: What a sink has written.
        subscription: The id of the subscription.
        event: The id of the event.
        owner: The owner of the subscription.
        since: Matched at this time or later; with a time zone.
        limit: The newest so many.
    """
    wanted = Wanted(subscription, event, owner, since)
    if is_delta(folder):
        table = open_table(folder)
        rows = NOTIFICATIONS.empty_table()
        if table is not None:  # files are left out by their statistics and days
            found = table.to_pyarrow_dataset().to_table(NOTIFICATIONS.names, filter=wanted.filter(days=True))
            rows = found.cast(NOTIFICATIONS)
    else:
        rows = wanted.apply(read_notifications(folder))
    rows = rows.sort_by([("matched_at", "ascending"), ("id", "ascending")])
    return rows if limit is None else rows.slice(max(0, rows.num_rows - limit))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which notifications are asked for; None for any."""

    subscription: str | None = None
    event: str | None = None
    owner: str | None = None
    since: datetime | None = None

    def apply(self, rows: pa.Table) -> pa.Table:
        """The notifications that fit."""
        condition = self.filter()
        return rows if condition is None else rows.filter(condition)

    def filter(self, *, days: bool = False) -> pc.Expression | None:
        """The conditions as Arrow has them; with `days` also for the partitions of a table."""
        texts = {"subscription_id": self.subscription, "event_id": self.event, "owner": self.owner}
        parts = [pc.field(name) == value for name, value in texts.items() if value is not None]
        if self.since is not None:
            parts.append(pc.field("matched_at") >= pa.scalar(self.since, pa.timestamp("us", "UTC")))
            if days:
                parts.append(pc.field(DAY) >= self.since.astimezone(UTC).date())
        return reduce(and_, parts) if parts else None


def follow_notifications(
    folder: str | os.PathLike[str], wanted: Wanted, wait: Callable[[], bool]
) -> Iterator[pa.Table]:
    """Notifications as they are committed from now on, batch by batch.

    Args:
        folder: What a sink writes to.
        wanted: Which notifications.
        wait: Called when there is nothing new; False to end.
    """
    storage = open_storage(folder)
    seen = {(commit.query, commit.batch) for commit in read_commits(folder)}
    while wait():
        for commit in read_commits(folder):
            if (commit.query, commit.batch) in seen:
                continue
            seen.add((commit.query, commit.batch))
            for path in commit.files.get(NOTIFICATION_FILES, ()):
                try:
                    content = storage.read(path)
                except FileNotFoundError:  # joined with others meanwhile, and removed: too far behind
                    continue
                rows = wanted.apply(FORMATS[path.rpartition(".")[2]].decode(content, NOTIFICATIONS))
                if rows.num_rows:
                    yield rows


def _read_tables(folder: str | os.PathLike[str], kind: str, schema: pa.Schema) -> pa.Table:
    if is_delta(folder):
        table = open_table(folder, kind)
        return schema.empty_table() if table is None else table.to_pyarrow_table(columns=schema.names).cast(schema)
    storage = open_storage(folder)
    paths = [path for commit in read_commits(folder) for path in commit.files.get(kind, ())]
    tables = [FORMATS[path.rpartition(".")[2]].decode(storage.read(path), schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *tables])
