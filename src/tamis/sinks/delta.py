"""The sink `delta`: a Delta table of notifications and one of dead letters, which other programs read as tables.

Tasks write Parquet files with statistics. The driver adds those of a batch to the table in one entry of its log,
with the application transaction (query, batch), so that the log itself says which batches it has. Dead letters are
committed before notifications; a batch counts when its notifications are there, or if it gave nothing. The log is
written by delta-rs (`deltalake`), so no package for Java is needed and any Spark will do.

A folder holds `notifications/` and `dead-letters/`, the two tables; `batches/`, a table with a row for each batch,
which follows them in steps; and `commits/` and `ledger/`, which are not for readers.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from tamis.errors import install_command
from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS
from tamis.sinks.base import RETENTION, BatchKey, Committed, Part, PartFile, SinkError, require_duration
from tamis.sinks.delta_errors import naming_table_errors
from tamis.sinks.files import FileSink
from tamis.sinks.folder_commits import KEPT_COMMITS, Commit
from tamis.sinks.formats import PARQUET, Format
from tamis.sinks.part_files import DAY, DEAD_LETTER_FILES, NOTIFICATION_FILES
from tamis.snapshot.local import sync_file
from tamis.snapshot.storage import open_storage
from tamis.urls import absolute

if TYPE_CHECKING:
    from deltalake import DeltaTable

_log = logging.getLogger(__name__)
_TABLES = {DEAD_LETTER_FILES: DEAD_LETTERS, NOTIFICATION_FILES: NOTIFICATIONS}
"""In the order in which a batch is committed."""
BATCH_TABLE = "batches"
BATCHES = pa.schema(
    [
        pa.field("query", pa.string(), nullable=False),
        pa.field("batch", pa.int64(), nullable=False),
        pa.field("at", pa.timestamp("us", "UTC"), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in ("version", "written", "repeated", "dead")),
    ]
)
"""A batch: its time, the version of the snapshot, and how many notifications it wrote and left out."""
_BATCHES_AT_ONCE = 100
LOG = "_delta_log"
CHECKPOINT_EVERY = 20
"""Entries of the log from one checkpoint of a table to the next. A batch goes through all since the last one
several times: with delta-rs's own 100, that takes twice the time of 20 with 600 files, as long with 30,000."""
VACUUM_HOURS = 7 * 24
"""A file that is no longer part of a table is kept for so long, for readers of older versions of it."""


class DeltaSink(FileSink):
    """Delta tables in a folder or an object store; any program that reads Delta reads them.

    Example:
        >>> DeltaSink(folder="notifications").describe()
        'Delta tables in notifications, exactly once'
    """

    name: ClassVar[str] = "delta"
    format: ClassVar[Format] = PARQUET
    by_day: ClassVar[bool] = True
    title: ClassVar[str] = "Delta tables"
    kept_commits: ClassVar[int | None] = KEPT_COMMITS

    def __init__(
        self,
        *,
        folder: str | os.PathLike[str],
        retention: timedelta = RETENTION,
        output_retention: timedelta | None = None,
        compact_every: int | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            folder: Its path or URL; it need not exist.
            retention: For how long a notification is remembered, so that it is not written again.
            output_retention: For how long rows stay, in whole days, looked at after every hundredth batch; by
                default for ever.
            compact_every: Join small files, and remove those that are no longer needed, after so many batches; by
                default only `tamis notifications compact` does.
            storage_options: For an object store, as delta-rs takes them: `AWS_REGION`, `AWS_ENDPOINT_URL`, ... Of
                S3, a URL as pyarrow takes it or the environment may say the same.

        Raises:
            SinkError: An argument is not of its type, or deltalake is not installed.
        """
        check_options(storage_options)
        if output_retention is not None:
            require_duration(self.name, "output_retention", output_retention)
        self._output_retention = output_retention
        self._has_published = False
        self._compact_every = compact_every
        self._options = {**(storage_options or {})}
        super().__init__(folder=with_options(folder, self._options), retention=retention)

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Add the files of tasks to the tables."""
        committed = super().publish(batch, parts)
        self._has_published = True
        if (batch.batch + 1) % _BATCHES_AT_ONCE == 0:
            self._append_batches()
        try:
            self._save_space(batch)
        except Exception as error:  # the batch is committed: what only saves space must not stop the stream
            _log.warning("%s was not tidied up: %s", self.describe(), error)
        return committed

    def _save_space(self, batch: BatchKey) -> None:
        if self._output_retention is not None and (batch.batch + 1) % _BATCHES_AT_ONCE == 0:
            delete_before(
                (batch.at - self._output_retention).astimezone(UTC).date(), self._commits.url, self._options
            )
        if self._compact_every is not None and (batch.batch + 1) % self._compact_every == 0:
            compact(self._commits.url, self._options)

    def close(self) -> None:
        """Bring the table of batches up to date, if anything was published."""
        if self._has_published:
            self._append_batches()

    def _append_batches(self) -> None:
        append_batches(self._commits.url, list(self._commits.commits()), self._options)

    def _table(self, folder: str | os.PathLike[str]) -> DeltaTables:
        return DeltaTables(folder, self._options)


class DeltaTables:
    """The tables of notifications and dead letters in a folder."""

    def __init__(self, folder: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> None:
        """Nothing is touched yet.

        Raises:
            SinkError: deltalake is not installed.
        """
        _deltalake()
        self._folder, self._options = _place(folder, options)
        self._opened: dict[str, DeltaTable] = {}

    def last(self, query: str) -> int | None:
        table = self._open(NOTIFICATION_FILES)
        return None if table is None else table.transaction_version(query)

    def prepare(self) -> None:
        table = self._open(NOTIFICATION_FILES) or self._create(NOTIFICATION_FILES)
        known = {each.name for each in table.schema().fields}
        if missing := [each for each in NOTIFICATIONS if each.name not in known]:  # made by an earlier version
            fields = _deltalake().Schema.from_arrow(pa.schema(missing)).fields
            before = table.version()
            with self._naming_errors(NOTIFICATION_FILES):
                table.alter.add_columns(fields)
                self._sync_after(NOTIFICATION_FILES, before)

    def commit(self, batch: BatchKey, files: Sequence[PartFile]) -> None:
        for kind in _TABLES:
            some = [file for file in files if file.kind == kind]
            # A table that has no row of the batch has no entry for it, but for the one that says that it is done.
            if some or (kind == NOTIFICATION_FILES and files):
                # `prepare` has just read the log of this one; whoever wrote since is found by the transaction.
                prepared = self._opened.get(kind) if kind == NOTIFICATION_FILES else None
                table = prepared or self._open(kind) or self._create(kind)
                last = table.transaction_version(batch.query)
                if last is None or last < batch.batch:
                    self._add(table, kind, batch, some)

    def _add(self, table: DeltaTable, kind: str, batch: BatchKey, files: Sequence[PartFile]) -> None:
        deltalake = _deltalake()
        from deltalake.transaction import AddAction

        now = time.time_ns() // 1_000_000
        actions: list[Any] = [
            AddAction(file.path.removeprefix(f"{kind}/"), file.bytes, file.partition, now, True, file.stats)
            for file in files
        ]
        before = table.version()  # and it stays so: the table object does not know of its own entry
        properties = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(batch.query, batch.batch)],
            custom_metadata={"tamis": json.dumps({"snapshot_version": batch.version})},
        )
        with self._naming_errors(kind):
            table.create_write_transaction(
                actions, mode="append", schema=_schema(kind), partition_by=[DAY], commit_properties=properties
            )
            self._sync_after(kind, before)

    def _open(self, kind: str) -> DeltaTable | None:
        """The newest version of a table; None if there is none."""
        deltalake = _deltalake()
        from deltalake.exceptions import TableNotFoundError

        try:
            if kind in self._opened:
                self._opened[kind].update_incremental()
            else:
                url = f"{self._folder}/{kind}"
                self._opened[kind] = deltalake.DeltaTable(url, storage_options=self._options or None)
        except TableNotFoundError:
            return None
        return self._opened[kind]

    def _create(self, kind: str) -> DeltaTable:
        deltalake = _deltalake()
        url = f"{self._folder}/{kind}"
        with self._naming_errors(kind):
            if "://" not in url:
                Path(url).mkdir(parents=True, exist_ok=True)
            self._opened[kind] = deltalake.DeltaTable.create(
                url,
                _schema(kind),
                mode="ignore",  # another process may be quicker
                partition_by=[DAY],
                configuration={"delta.checkpointInterval": str(CHECKPOINT_EVERY)},
                storage_options=self._options or None,
            )
            self._sync_after(kind, -1)
        return self._opened[kind]

    def _naming_errors(self, kind: str) -> AbstractContextManager[None]:
        return naming_table_errors(self._folder, kind)

    def _sync_after(self, kind: str, version: int) -> None:
        """See to it that entries after a version survive a loss of power: delta-rs leaves that to the system."""
        if "://" in self._folder:
            return
        log = Path(self._folder) / kind / LOG
        while (entry := log / f"{version + 1:020d}.json").exists():
            sync_file(entry)
            version += 1


def open_table(
    folder: str | os.PathLike[str], kind: str = NOTIFICATION_FILES, options: Mapping[str, str] | None = None
) -> DeltaTable | None:
    """The table of notifications or dead letters of a folder; None if there is none yet."""
    return DeltaTables(folder, options)._open(kind)


def append_batches(folder: str, commits: Sequence[Commit], options: Mapping[str, str] | None = None) -> None:
    """Add commits to the table of batches that it lacks."""
    deltalake = _deltalake()
    from deltalake.exceptions import TableNotFoundError

    place, found_options = _place(folder, options)
    url, storage_options = f"{place}/{BATCH_TABLE}", found_options or None
    try:
        table = deltalake.DeltaTable(url, storage_options=storage_options)
    except TableNotFoundError:
        table = None
    for query in sorted({commit.query for commit in commits}):
        last = None if table is None else table.transaction_version(query)
        new = [each for each in commits if each.query == query and (last is None or each.batch > last)]
        if new:
            names = BATCHES.names
            rows = pa.table({name: [getattr(each, name) for each in new] for name in names}, schema=BATCHES)
            done = deltalake.Transaction(query, max(each.batch for each in new))
            with naming_table_errors(place, BATCH_TABLE):
                if "://" not in url:
                    Path(url).mkdir(parents=True, exist_ok=True)
                deltalake.write_deltalake(
                    url,
                    rows,
                    mode="append",
                    storage_options=storage_options,
                    commit_properties=deltalake.CommitProperties(app_transactions=[done]),
                )


def is_delta(folder: str | os.PathLike[str]) -> bool:
    """Does a folder hold what the sink `delta` writes?"""
    return bool(open_storage(folder).listing(f"{NOTIFICATION_FILES}/{LOG}"))


def delete_before(
    day: date, folder: str | os.PathLike[str], options: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Delete the rows of days before a day, which are whole files; gives how many files of each table.

    The files themselves go with `compact`, once no version of the last hours needs them.
    """
    tables = {kind: open_table(folder, kind, options) for kind in _TABLES}
    deleted = {kind: table.delete(f"{DAY} < '{day}'") for kind, table in tables.items() if table is not None}
    return {kind: int(found["num_removed_files"]) for kind, found in deleted.items()}


def compact(
    folder: str | os.PathLike[str],
    options: Mapping[str, str] | None = None,
    *,
    vacuum_hours: int = VACUUM_HOURS,
) -> dict[str, tuple[int, int, int]]:
    """Join small files, and remove those that no version of the last hours needs.

    Returns:
        For each table how many files were joined, how many they are now, and how many were removed.
    """
    done = {}
    for kind in _TABLES:
        table = open_table(folder, kind, options)
        if table is not None:
            enforce = vacuum_hours >= VACUUM_HOURS
            with naming_table_errors(_place(folder)[0], kind):
                found = table.optimize.compact()
                # What no entry ever had, as an attempt of a task was one too many, goes only after the longer
                # time: it may be of a batch that is not committed yet.
                gone = table.vacuum(vacuum_hours, dry_run=False, enforce_retention_duration=enforce, full=enforce)
            done[kind] = (int(found["numFilesRemoved"]), int(found["numFilesAdded"]), len(gone))
    return done


def check_options(storage_options: Any) -> None:
    """Refuse what is no table of texts; a value is not shown, as it may be a key.

    Raises:
        SinkError: It is none.
    """
    if not isinstance(storage_options or {}, Mapping):
        msg = f"sink delta: storage_options must be a table of texts, found {type(storage_options).__name__}"
        raise SinkError(msg)
    for name, value in (storage_options or {}).items():
        if not isinstance(value, str):
            msg = f"sink delta: storage_options.{name} must be a text, found {type(value).__name__}"
            raise SinkError(msg)


def with_options(folder: str | os.PathLike[str], options: Mapping[str, str] | None) -> str | os.PathLike[str]:
    """A folder as pyarrow takes it, which has options in its URLs; not to be shown, as it may hold keys."""
    if not options or not isinstance(folder, str) or not folder.startswith(("s3://", "s3a://")):
        return folder
    parts = urlsplit(folder)
    said = {name.upper(): value for name, value in options.items()}
    scheme, _, endpoint = said.get("AWS_ENDPOINT_URL", "").partition("://")
    asked = {"region": said.get("AWS_REGION", ""), "endpoint_override": endpoint, "scheme": endpoint and scheme}
    query = {name: value for name, value in asked.items() if value} | dict(parse_qsl(parts.query))
    keys = [quote(said.get(name, ""), safe="") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    netloc = f"{':'.join(keys)}@{parts.netloc}" if all(keys) and "@" not in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, urlencode(query), ""))


def _place(folder: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """The path or URL of a folder and the options as delta-rs takes them; pyarrow has some options in its URLs."""
    url = absolute(folder)
    parts = urlsplit(url)
    if parts.scheme == "file":
        return unquote(parts.path).rstrip("/"), dict(options or {})
    if parts.scheme not in ("s3", "s3a"):
        return url.rstrip("/"), dict(options or {})
    asked = dict(parse_qsl(parts.query))
    keys, _, bucket = parts.netloc.rpartition("@")
    key, _, secret = keys.partition(":")
    found = {"AWS_ACCESS_KEY_ID": unquote(key), "AWS_SECRET_ACCESS_KEY": unquote(secret)}
    found["AWS_REGION"] = asked.get("region", "")
    scheme = asked.get("scheme", "https")
    if "endpoint_override" in asked:
        endpoint = asked["endpoint_override"]
        found["AWS_ENDPOINT_URL"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        found["AWS_ALLOW_HTTP"] = "true" if found["AWS_ENDPOINT_URL"].startswith("http:") else ""
    given = {name: value for name, value in found.items() if value}
    return f"{parts.scheme}://{bucket}{parts.path}".rstrip("/"), given | dict(options or {})


def _schema(kind: str) -> pa.Schema:
    return pa.schema([*_TABLES[kind], pa.field(DAY, pa.date32())])


def _deltalake() -> Any:
    try:
        import deltalake
    except ImportError as error:
        msg = f"sink delta: needs deltalake; install it with: {install_command('delta')}"
        raise SinkError(msg) from error
    return deltalake
