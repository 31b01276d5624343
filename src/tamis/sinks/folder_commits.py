"""Commits in a folder: a delivery is taken once, where there is no database.

`commits/<query>.<batch>.json` is the commit of a batch. It is written last and names all files of the batch; files
that no commit names do not count. A writer holds the lock of the folder until its commit is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from tamis.notifications import id_keys
from tamis.sinks.base import Committed, Delivery, SinkError, Write, without_duplicates
from tamis.sinks.ledger import NotificationLedger
from tamis.snapshot.documents import digest, seal, unseal
from tamis.snapshot.storage import ASIDE, Storage

COMMITS = "commits"
NOTIFICATION_FILES = "notifications"
DEAD_LETTER_FILES = "dead-letters"
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
    """

    query: str
    batch: int
    at: datetime
    version: int
    written: int
    repeated: int
    dead: int
    files: dict[str, str]


class FolderCommits:
    """The commits and the ledger of a folder."""

    def __init__(
        self,
        storage: Storage,
        retention: timedelta,
        *,
        keep: int | None = None,
        keep_for: timedelta | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            storage: The folder.
            retention: For how long a notification is remembered.
            keep: How many commits of a query to keep; None for all.
            keep_for: For how long to keep a commit and its files; None for ever.
        """
        self.storage = storage
        self._keep = keep
        self._keep_for = keep_for
        self._is_swept = False
        self._ledger = NotificationLedger(storage, retention // _MICROSECOND, self._are_committed)

    def commit(self, delivery: Delivery, write: Write) -> Committed:
        """Write what is new of a delivery, unless it was committed before."""
        name = batch_name(delivery.query, delivery.batch)
        with self.storage.exclusive() as still_alone:
            self._sweep()
            found = self._read(f"{COMMITS}/{name}.json")
            if found is not None:
                return Committed(found.written, found.repeated, again=True)
            at_us = (delivery.at - _EPOCH) // _MICROSECOND
            rest = without_duplicates(delivery)
            keys = id_keys(rest.notifications["id"])
            new = ~self._ledger.is_known(keys, at_us)
            if not new.all():
                rest = replace(rest, notifications=rest.notifications.filter(pa.array(new)))
            self._ledger.write(name, keys[:, new], at_us)
            files = write(rest)
            still_alone()
            committed = Committed(int(np.count_nonzero(new)), int(np.count_nonzero(~new)))
            self._write(name, rest, committed, files)
            self._ledger.tidy(at_us)
            self._forget(delivery)
            self._remove_old(delivery)
            return committed

    def commits(self) -> Iterator[Commit]:
        """The commits, by query and batch."""
        for each in self.storage.listing(COMMITS):
            found = self._read(f"{COMMITS}/{each.name}")
            if found is not None:
                yield found

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

    def _write(self, name: str, delivery: Delivery, committed: Committed, files: dict[str, str]) -> None:
        content: dict[str, Any] = {
            "query": delivery.query,
            "batch": delivery.batch,
            "at": delivery.at.astimezone(UTC).isoformat(),
            "version": delivery.version,
            "written": committed.written,
            "repeated": committed.repeated,
            "dead": delivery.dead.num_rows,
            "files": files,
        }
        path = f"{COMMITS}/{name}.json"
        if not self.storage.create(path, seal(KIND, FORMAT, content)):
            msg = f"{self.storage.where(path)}: another process wrote it while we held the lock"
            raise SinkError(msg)

    def _read(self, path: str) -> Commit | None:
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            return None
        found = unseal(data, KIND, FORMAT, self.storage.where(path))
        return Commit(
            query=found["query"],
            batch=found["batch"],
            at=datetime.fromisoformat(found["at"]),
            version=found["version"],
            written=found["written"],
            repeated=found["repeated"],
            dead=found["dead"],
            files=found["files"],
        )

    def _are_committed(self, names: Sequence[str]) -> list[bool]:
        return [size is not None for size in self.storage.sizes([f"{COMMITS}/{name}.json" for name in names])]

    def _sweep(self) -> None:
        """Remove, once in a process, what killed writers left; files of a batch carry the name of its commit."""
        if self._is_swept:
            return
        for each in self.storage.listing(ASIDE):
            self.storage.remove_leftover(f"{ASIDE}/{each.name}")
        self._ledger.sweep()
        committed = {each.name.rpartition(".")[0] for each in self.storage.listing(COMMITS)}
        for folder in (NOTIFICATION_FILES, DEAD_LETTER_FILES):
            for each in self.storage.listing(folder):
                if each.name.rpartition(".")[0] not in committed:
                    self.storage.remove(f"{folder}/{each.name}")
        self._is_swept = True

    def _forget(self, delivery: Delivery) -> None:
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

    def _remove_old(self, delivery: Delivery) -> None:
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
            for file in found.files.values():
                self.storage.remove(file)


def batch_name(query: str, batch: int) -> str:
    """The name of the files of a batch; names of batches of a query sort as the batches do."""
    return f"{_quote(query)}.{batch:012d}"


def _quote(query: str) -> str:
    """A query as a part of a file name: without slashes and dots, and not too long."""
    quoted = quote(query, safe="").replace(".", "%2E")
    return quoted if len(quoted) <= 100 else digest(query.encode())[:32]
