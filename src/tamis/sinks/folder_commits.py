"""Commits in a folder: a batch is taken once, where there is no database.

`commits/<query>.<batch>.json` is the commit of a batch. It is written last and names all files of the batch, and
the tasks that wrote them; files that no commit names do not count. Where a table with its own log (Delta) holds
the files, a commit counts once that log has the batch. The lock of the folder is held while a commit is made, not
while tasks write.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from tamis.arrays import U64
from tamis.notifications import Keys, event_keys, id_keys
from tamis.sinks.base import (
    BatchKey,
    Committed,
    Delivery,
    DistinctLetters,
    Part,
    PartFile,
    SinkError,
    Write,
    without_duplicates,
)
from tamis.sinks.ledger import (
    LedgerView,
    NotificationLedger,
    TaskLedger,
    events_in,
    is_among,
    known_ids,
)
from tamis.sinks.part_files import DEAD_LETTER_FILES, NOTIFICATION_FILES, read_file, write_files
from tamis.snapshot.documents import digest, seal, unseal
from tamis.snapshot.storage import ASIDE, open_storage
from tamis.urls import absolute

COMMITS = "commits"
_KINDS = (NOTIFICATION_FILES, DEAD_LETTER_FILES)
KIND = "tamis.sink.commit"
FORMAT = 1
KEPT_COMMITS = 1_000
"""How many commits of a query are kept where they name no files."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Commit:
    """What the document of a commit says.

    Attributes:
        query: The streaming query.
        batch: Its batch.
        at: The recorded time of the batch.
        version: The version of the snapshot that it was matched with.
        written: How many notifications are new.
        repeated: How many were left out.
        dead: How many dead letters there are.
        files: The files of the batch by what is in them; relative to the folder.
        tasks: The tasks that wrote them.
    """

    query: str
    batch: int
    at: datetime
    version: int
    written: int
    repeated: int
    dead: int
    files: dict[str, tuple[str, ...]]
    tasks: tuple[str, ...] = ()


class CommittedTable(Protocol):
    """A table with a log of its own, in which files become rows."""

    def last(self, query: str) -> int | None:
        """The last batch of a query that its log has."""

    def prepare(self) -> None:
        """See to it that there is a log, by which readers know that it decides."""

    def commit(self, batch: BatchKey, files: Sequence[PartFile]) -> None:
        """Add files to its log in one step, under (query, batch)."""


class FolderCommits:
    """The commits and the ledger of a folder."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        retention: timedelta,
        *,
        keep: int | None = None,
        keep_for: timedelta | None = None,
        table: CommittedTable | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            url: The folder.
            retention: For how long a notification is remembered.
            keep: How many commits of a query to keep; None for all.
            keep_for: For how long to keep a commit and its files; None for ever.
            table: A table whose own log decides what is committed; a commit is written here before.
        """
        self.storage = open_storage(url)
        self.url = absolute(url)
        self._keep = keep
        self._keep_for = keep_for
        self._table = table
        self._is_swept = False
        self._views: dict[str, tuple[int, LedgerView]] = {}
        self._ledger = NotificationLedger(self.storage, self.url, retention // _MICROSECOND, self._are_committed)

    def view(self, batch: BatchKey) -> LedgerView:
        """What tasks of a batch need to know of earlier notifications."""
        with self.storage.exclusive():
            view = self._ledger.view(_at_us(batch))
        self._views[batch.query] = batch.batch, view
        return view

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Commit what tasks wrote, unless the batch was committed before; after `view`."""
        with self.storage.exclusive() as still_alone:
            found = self._commit_of(batch)
            if found is not None:
                self._discard(parts)
                return Committed(found.written, found.repeated, again=True)
            return self._publish(batch, self._without_repetitions(batch, parts), still_alone)

    def _publish(self, batch: BatchKey, parts: Sequence[Part], still_alone: Callable[[], None]) -> Committed:
        """Commit parts; the lock of the folder is held."""
        self._sweep(batch, parts)
        still_alone()
        files = [file for part in parts for file in part.files]
        by_kind = {kind: [file.path for file in files if file.kind == kind] for kind in _KINDS}
        commit = Commit(
            batch.query,
            batch.batch,
            batch.at,
            batch.version,
            sum(part.written for part in parts),
            sum(part.repeated for part in parts),
            sum(part.dead for part in parts),
            {kind: tuple(paths) for kind, paths in by_kind.items() if paths},
            tuple(part.token for part in parts),
        )
        if self._table is not None and files:
            self._table.prepare()
        self._write(batch, commit)
        if self._table is not None:
            self._table.commit(batch, files)
        self._ledger.drop([name for part in parts for name in part.merged])
        self._forget(batch)
        self._remove_old(batch)
        return Committed(commit.written, commit.repeated)

    def commit(self, delivery: Delivery, write: Write) -> Committed:
        """Hand over what is new of a delivery, unless it was committed before."""
        batch = delivery.key
        with self.storage.exclusive() as still_alone:
            found = self._commit_of(batch)
            if found is not None:
                return Committed(found.written, found.repeated, again=True)
            rest = without_duplicates(delivery)
            ledger = TaskLedger(self._ledger.view(_at_us(batch)))
            new = ledger.is_new(rest.notifications, id_keys(rest.notifications["id"]), _events(rest))
            write(replace(rest, notifications=rest.notifications.filter(pa.array(new))))
            token = f"all-{uuid.uuid4().hex[:12]}"
            ledger.finish(f"{batch_name(batch.query, batch.batch)}.{token}")
            merged = ledger.merge(0)
            written = int(np.count_nonzero(new))
            part = Part(token, written, ledger.repeated, rest.dead.num_rows, merged=merged)
            return self._publish(batch, [part], still_alone)

    def _commit_of(self, batch: BatchKey) -> Commit | None:
        """The commit of a batch, if it counts."""
        name = batch_name(batch.query, batch.batch)
        return next(self._counting([self._read(f"{COMMITS}/{name}.json")]), None)

    def _counting(self, commits: Iterable[Commit | None]) -> Iterator[Commit]:
        """The commits that count; the log of the table is asked once for each query."""
        last: dict[str, int | None] = {}
        for commit in commits:
            if commit is None:
                continue
            if self._table is not None and commit.files:
                if commit.query not in last:
                    last[commit.query] = self._table.last(commit.query)
                newest = last[commit.query]
                if newest is None or newest < commit.batch:
                    continue
            yield commit

    def _discard(self, parts: Sequence[Part]) -> None:
        """Remove what tasks wrote for nothing."""
        for file in (file for part in parts for file in part.files):
            self.storage.remove(file.path)

    def _without_repetitions(self, batch: BatchKey, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts without what another task has, too, or notifications that were committed while they ran.

        Tasks leave out what was there before. So all that is left are events that came to two tasks of the batch,
        and what another query committed meanwhile: both are rare, and known by the numbers of events and letters.
        """
        number, view = self._views.get(batch.query, (None, None))
        if view is None or number != batch.batch:
            msg = f"query {batch.query}, batch {batch.batch}: published without a view of the ledger for its tasks"
            raise SinkError(msg)
        since = sorted(set(self._ledger.refresh()) - {*view.files})
        parts = self._without_repeated_letters(batch, parts)
        twice = _repeated_numbers([_numbers_by_shard(part) for part in parts])
        if not len(twice) and not since:
            return parts
        kept: list[Part] = []
        earlier: list[Keys] = [np.empty((2, 0), np.uint64)]
        for part in parts:
            doubtful = np.isin(_numbers_by_shard(part), twice) | events_in(view, since, part.events)
            if doubtful.any() and part.files:  # what was sent cannot be taken back
                part = self._rewrite(batch, part, part.events[doubtful], view, since, earlier)  # noqa: PLW2901
            kept.append(part)
        return kept

    def _without_repeated_letters(self, batch: BatchKey, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts without dead letters that an earlier part has; what was sent cannot be taken back."""
        twice = _repeated_numbers([part.letters for part in parts])
        if not len(twice):
            return parts
        kept, earlier, name = [], DistinctLetters(), batch_name(batch.query, batch.batch)
        for part in parts:
            files, dead = [], part.dead
            is_doubtful = np.isin(part.letters, twice).any()
            for number, file in enumerate(part.files):
                if file.kind != DEAD_LETTER_FILES or not is_doubtful:
                    files.append(file)
                    continue
                rows = read_file(self.storage, file)
                new = earlier.new(rows)
                dead -= rows.num_rows - new.num_rows
                files += self._replace(file, f"{name}.{part.token}-{number}r", new)
            kept.append(replace(part, files=tuple(files), dead=dead))
        return kept

    def _replace(self, file: PartFile, name: str, rows: pa.Table) -> list[PartFile]:
        """Write the rows that are left of a file into another one, if there are any."""
        if rows.num_rows == file.rows:
            return [file]
        suffix, by_day = file.path.rpartition(".")[2], bool(file.partition)
        files = write_files(self.storage, file.kind, name, rows, suffix, by_day) if rows.num_rows else []
        self.storage.remove(file.path)
        return files

    def _rewrite(
        self,
        batch: BatchKey,
        part: Part,
        doubtful: U64,
        view: LedgerView,
        since: Sequence[str],
        earlier: list[Keys],
    ) -> Part:
        """A part without what `earlier` or the ledger has; adds what is left of `doubtful` to `earlier`."""
        ledger = TaskLedger(replace(view, files=(), merges=()))
        token, files, written, repeated = f"{part.token}-r", [], 0, part.repeated
        name = batch_name(batch.query, batch.batch)
        for number, file in enumerate(part.files):
            if file.kind != NOTIFICATION_FILES:
                files.append(file)
                continue
            rows = read_file(self.storage, file)
            keys = id_keys(rows["id"])
            encoded = rows["event_id"].combine_chunks().dictionary_encode()
            is_doubtful = np.isin(event_keys(encoded.dictionary), doubtful)
            places = np.flatnonzero(is_doubtful[encoded.indices.to_numpy(zero_copy_only=False)])
            asked = keys[:, places]
            before = known_ids(view, since, asked)
            known = before | is_among(asked, np.concatenate(earlier, axis=1))
            repeated += int(np.count_nonzero(before))
            new = np.ones(len(rows), np.bool_)
            new[places[known]] = False
            earlier.append(asked[:, ~known])
            rest = rows.filter(pa.array(new))
            ledger.is_new(rest, keys[:, new], rest["event_id"].unique())
            written += rest.num_rows
            files += self._replace(file, f"{name}.{token}-{number}", rest)
        ledger.finish(f"{name}.{token}")
        return replace(part, token=token, files=tuple(files), written=written, repeated=repeated)

    def commits(self) -> Iterator[Commit]:
        """The commits, by query and batch."""
        yield from self._counting(self._read(f"{COMMITS}/{each.name}") for each in self.storage.listing(COMMITS))

    def check(self, sink: str) -> None:
        """Check that a commit could be written here, without writing anything.

        Raises:
            SinkError: No.
        """
        folder = self.storage.local
        if folder is None:
            try:
                self.storage.listing(COMMITS)
            except (OSError, pa.ArrowException) as error:
                msg = f"sink {sink}: {self.storage.where('')} cannot be listed: {error}"
                raise SinkError(msg) from error
            return
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not there.is_dir():
            msg = f"sink {sink}: {folder} cannot be a folder: {there} is a file"
            raise SinkError(msg)
        if not os.access(there, os.W_OK | os.X_OK):
            msg = f"sink {sink}: {folder} cannot be written: {there} gives no permission"
            raise SinkError(msg)

    def _write(self, batch: BatchKey, commit: Commit) -> None:
        content: dict[str, Any] = asdict(commit) | {"at": commit.at.astimezone(UTC).isoformat()}
        path = f"{COMMITS}/{batch_name(batch.query, batch.batch)}.json"
        sealed = seal(KIND, FORMAT, content)
        if self._table is not None:  # an attempt that was killed before the table had it may have left one
            self.storage.write(path, [sealed])
        elif not self.storage.create(path, sealed):
            msg = f"{self.storage.where(path)}: another process wrote it while we held the lock"
            raise SinkError(msg)

    def _read(self, path: str) -> Commit | None:
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            return None
        found = unseal(data, KIND, FORMAT, self.storage.where(path))
        files: dict[str, Any] = found["files"]  # earlier versions had one file of a kind
        return Commit(
            query=found["query"],
            batch=found["batch"],
            at=datetime.fromisoformat(found["at"]),
            version=found["version"],
            written=found["written"],
            repeated=found["repeated"],
            dead=found["dead"],
            files={kind: (paths,) if isinstance(paths, str) else tuple(paths) for kind, paths in files.items()},
            tasks=tuple(found.get("tasks", ())),
        )

    def _are_committed(self, names: Sequence[tuple[str, str | None]]) -> list[bool]:
        read = self._counting(self._read(f"{COMMITS}/{name}.json") for name in sorted({name for name, _ in names}))
        tasks = {batch_name(each.query, each.batch): each.tasks for each in read}
        return [name in tasks and (task is None or task in tasks[name]) for name, task in names]

    def _sweep(self, batch: BatchKey, parts: Sequence[Part]) -> None:
        """Remove, once in a process, what killed writers left; other queries may be writing at this moment."""
        if self._is_swept:
            return
        for each in self.storage.listing(ASIDE):
            self.storage.remove_leftover(f"{ASIDE}/{each.name}")
        this = batch_name(batch.query, batch.batch)
        ours = f"{_quote(batch.query)}."
        current = {file.path for part in parts for file in part.files}
        tokens = {part.token for part in parts}
        self._ledger.sweep(lambda name, task: name.startswith(ours) and not (name == this and task in tokens))
        named: dict[str, set[str]] = {}
        for folder in _KINDS if self._table is None else ():  # a table removes its own files
            for each in self.storage.listing(folder):
                path, owner = f"{folder}/{each.name}", ".".join(each.name.split(".")[:2])
                if not owner.startswith(ours) or path in current:
                    continue
                if owner not in named:
                    found = self._read(f"{COMMITS}/{owner}.json")
                    named[owner] = (
                        set() if found is None else {file for some in found.files.values() for file in some}
                    )
                if path not in named[owner]:
                    self.storage.remove(path)
        self._is_swept = True

    def _forget(self, delivery: BatchKey) -> None:
        """Remove old commits of the query, a hundred at a time; a query replays only its last batch."""
        if self._keep is None or delivery.batch % 100:
            return
        ours = f"{_quote(delivery.query)}."
        names = [each.name.removesuffix(".json") for each in self.storage.listing(COMMITS)]
        # Names sort as batches do. What stands alone in the ledger counts by its commit.
        first_kept = batch_name(delivery.query, max(0, delivery.batch + 1 - self._keep))
        old = {name for name in names if name.startswith(ours) and name < first_kept}
        for name in old - self._ledger.batches():
            self.storage.remove(f"{COMMITS}/{name}.json")

    def _remove_old(self, delivery: BatchKey) -> None:
        """Remove commits that are too old, and their files; in every hundredth batch, as that lists the folder."""
        if self._keep_for is None or delivery.batch % 100:
            return
        needed = self._ledger.batches() | {batch_name(delivery.query, delivery.batch)}
        young: set[str] = set()  # queries whose further commits are young: names sort as batches do
        for each in self.storage.listing(COMMITS):
            name = each.name.removesuffix(".json")
            query = name.rpartition(".")[0]
            if name in needed or query in young:  # what stands alone in the ledger counts by its commit
                continue
            found = self._read(f"{COMMITS}/{each.name}")
            if found is None or found.at > delivery.at - self._keep_for:
                young.add(query)
                continue
            self.storage.remove(f"{COMMITS}/{each.name}")  # first: files without a commit are swept
            for file in (file for some in found.files.values() for file in some):
                self.storage.remove(file)


def _repeated_numbers(numbers: Sequence[U64]) -> U64:
    """What stands in more than one of several arrays of different numbers."""
    unique, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *numbers]), return_counts=True)
    return unique[counts > 1]


def _numbers_by_shard(part: Part) -> U64:
    """Numbers of events that differ by shard, where an event finds other subscriptions."""
    return part.events + part.shards * np.uint64(0x9E3779B97F4A7C15)


def _events(delivery: Delivery) -> pa.Array:
    """The different events of a delivery without duplicates."""
    return delivery.notifications["event_id"].unique()


def _at_us(batch: BatchKey) -> int:
    return (batch.at - _EPOCH) // _MICROSECOND


def batch_name(query: str, batch: int) -> str:
    """The name of the files of a batch; names of batches of a query sort as the batches do."""
    return f"{_quote(query)}.{batch:012d}"


def _quote(query: str) -> str:
    """A query as a part of a file name: without slashes and dots, and not too long."""
    quoted = quote(query, safe="").replace(".", "%2E")
    return quoted if len(quoted) <= 100 else digest(query.encode())[:32]
