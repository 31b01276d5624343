"""Reads what the sinks `delta`, `parquet` and `jsonl` have written into a folder.

For an object store `options` are the `storage_options` of the sink; what they do not say, the environment may.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import and_
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tamis.notifications import by_priority, with_added_columns
from tamis.sinks.delta import DeltaTables, is_delta, open_table, with_options
from tamis.sinks.folder_commits import COMMITS, Commit, FolderCommits
from tamis.sinks.formats import FORMATS
from tamis.sinks.part_files import DAY, DEAD_LETTER_FILES, NOTIFICATION_FILES, SCHEMAS, TIMES
from tamis.snapshot.storage import Storage, open_storage


def is_sink_folder(folder: str | os.PathLike[str]) -> bool:
    """Has a sink written to this local folder, or may it be about to, because it is empty?"""
    return not os.listdir(folder) or is_delta(folder) or (Path(folder) / COMMITS).is_dir()


def read_commits(folder: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> list[Commit]:
    """The commits of a folder that a sink writes files to, by query and batch; of `delta` the last thousand."""
    place = with_options(folder, options)
    table = DeltaTables(place, options) if is_delta(place) else None
    return list(FolderCommits(place, timedelta(days=1), table=table).commits())


def read_notifications(folder: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> pa.Table:
    """All notifications that are committed in a folder; those of files by query, batch and priority."""
    return _read_tables(folder, NOTIFICATION_FILES, options)


def read_dead_letters(folder: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> pa.Table:
    """All dead letters that are committed in a folder; those of files by query and batch."""
    return _read_tables(folder, DEAD_LETTER_FILES, options)


def find_notifications(
    folder: str | os.PathLike[str],
    options: Mapping[str, str] | None = None,
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
        options: For an object store.
        subscription: The id of the subscription.
        event: The id of the event.
        owner: The owner of the subscription.
        since: Matched at this time or later; with a time zone.
        limit: The newest so many.
    """
    return _newest(_find(folder, NOTIFICATION_FILES, Wanted(subscription, event, owner, since), options), limit)


def find_dead_letters(
    folder: str | os.PathLike[str],
    options: Mapping[str, str] | None = None,
    *,
    event: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> pa.Table:
    """The dead letters of a folder that fit all of some conditions, the newest last.

    Args:
        folder: What a sink has written.
        options: For an object store.
        event: The id of the event, if it could be read.
        since: From batches of this time or later; with a time zone.
        limit: The newest so many.
    """
    return _newest(_find(folder, DEAD_LETTER_FILES, Wanted(event=event, since=since), options), limit)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which notifications or dead letters are asked for; None for any. A dead letter is of no subscription."""

    subscription: str | None = None
    event: str | None = None
    owner: str | None = None
    since: datetime | None = None

    def apply(self, rows: pa.Table, kind: str = NOTIFICATION_FILES) -> pa.Table:
        """The rows that fit."""
        condition = self.filter(kind)
        return rows if condition is None else rows.filter(condition)

    def filter(self, kind: str = NOTIFICATION_FILES, *, days: bool = False) -> pc.Expression | None:
        """The conditions as Arrow has them; with `days` also for the partitions of a table."""
        texts = {"subscription_id": self.subscription, "event_id": self.event, "owner": self.owner}
        parts = [pc.field(name) == value for name, value in texts.items() if value is not None]
        if self.since is not None:
            parts.append(pc.field(TIMES[kind]) >= pa.scalar(self.since, pa.timestamp("us", "UTC")))
            if days:
                parts.append(pc.field(DAY) >= self.since.astimezone(UTC).date())
        return reduce(and_, parts) if parts else None


def follow_notifications(
    folder: str | os.PathLike[str],
    wanted: Wanted,
    wait: Callable[[], bool],
    options: Mapping[str, str] | None = None,
) -> Iterator[pa.Table]:
    """Notifications as they are committed from now on, batch by batch.

    Args:
        folder: What a sink writes to.
        wanted: Which notifications.
        wait: Called when there is nothing new; False to end.
        options: For an object store.
    """
    yield from _follow(folder, NOTIFICATION_FILES, wanted, wait, _keys(read_commits(folder, options)), options)


def list_and_follow(
    folder: str | os.PathLike[str],
    wanted: Wanted,
    wait: Callable[[], bool],
    options: Mapping[str, str] | None = None,
    *,
    kind: str = NOTIFICATION_FILES,
    limit: int | None = None,
) -> Iterator[pa.Table]:
    """What there is, the newest last; then what is committed, batch by batch. Nothing twice, and nothing left out.

    Args:
        folder: What a sink writes to.
        wanted: Which rows.
        wait: Called when there is nothing new; False to end.
        options: For an object store.
        kind: Notifications or dead letters.
        limit: The newest so many, of what there is.
    """
    before = _keys(read_commits(folder, options))
    listed = _find(folder, kind, wanted, options)
    # What was committed while we read may be in the list, or not.
    meanwhile = [commit for commit in read_commits(folder, options) if not before & _keys([commit])]
    yield _newest(listed, limit)
    keys = ["id", TIMES[kind]]
    storage = open_storage(with_options(folder, options))
    for commit in meanwhile:
        rows = wanted.apply(_read_batch(storage, commit, kind, missing_ok=True), kind)
        new = (
            rows.join(listed.select(keys), keys, join_type="left anti").sort_by(keys[1]) if rows.num_rows else rows
        )
        if new.num_rows:
            yield new
    yield from _follow(folder, kind, wanted, wait, before | _keys(meanwhile), options)


def _follow(
    folder: str | os.PathLike[str],
    kind: str,
    wanted: Wanted,
    wait: Callable[[], bool],
    seen: set[tuple[str, int]],
    options: Mapping[str, str] | None,
) -> Iterator[pa.Table]:
    """What commits bring that were not seen."""
    storage = open_storage(with_options(folder, options))
    while wait():
        for commit in read_commits(folder, options):
            if (commit.query, commit.batch) in seen:
                continue
            seen.add((commit.query, commit.batch))
            # A file that is missing was joined with others meanwhile, and removed: we are too far behind.
            rows = wanted.apply(_read_batch(storage, commit, kind, missing_ok=True), kind)
            if rows.num_rows:
                yield rows


def _keys(commits: Iterable[Commit]) -> set[tuple[str, int]]:
    return {(commit.query, commit.batch) for commit in commits}


def _find(
    folder: str | os.PathLike[str], kind: str, wanted: Wanted, options: Mapping[str, str] | None
) -> pa.Table:
    """The rows of a folder that fit, the newest last."""
    place = with_options(folder, options)
    if is_delta(place):
        rows = _read_delta(place, kind, options, wanted.filter(kind, days=True))
    else:
        rows = wanted.apply(_read_tables(place, kind, options), kind)
    priority = [("priority", "descending")] if kind == NOTIFICATION_FILES else []
    return rows.sort_by([(TIMES[kind], "ascending"), *priority, ("id", "ascending")])


def _newest(rows: pa.Table, limit: int | None) -> pa.Table:
    return rows if limit is None else rows.slice(max(0, rows.num_rows - limit))


def _read_tables(folder: str | os.PathLike[str], kind: str, options: Mapping[str, str] | None) -> pa.Table:
    place = with_options(folder, options)
    if is_delta(place):
        return _read_delta(place, kind, options)
    storage = open_storage(place)
    batches = [_read_batch(storage, commit, kind) for commit in read_commits(place)]
    return pa.concat_tables([SCHEMAS[kind].empty_table(), *batches])


def _read_delta(
    folder: str | os.PathLike[str],
    kind: str,
    options: Mapping[str, str] | None,
    condition: pc.Expression | None = None,
) -> pa.Table:
    """The rows of a table that fit; files are left out by their statistics and days."""
    table, schema = open_table(folder, kind, options), SCHEMAS[kind]
    if table is None:
        return schema.empty_table()
    dataset = table.to_pyarrow_dataset()
    rows = dataset.to_table([name for name in schema.names if name in dataset.schema.names], filter=condition)
    return (with_added_columns(rows) if kind == NOTIFICATION_FILES else rows).cast(schema)


def _read_batch(storage: Storage, commit: Commit, kind: str, *, missing_ok: bool = False) -> pa.Table:
    """What the files of a batch hold; notifications of higher priority first, whichever task found them."""
    tables = [SCHEMAS[kind].empty_table()]
    for path in commit.files.get(kind, ()):
        with suppress(*[FileNotFoundError] * missing_ok):
            tables.append(FORMATS[path.rpartition(".")[2]].decode(storage.read(path), SCHEMAS[kind]))
    rows = pa.concat_tables(tables)
    return by_priority(rows) if kind == NOTIFICATION_FILES else rows
