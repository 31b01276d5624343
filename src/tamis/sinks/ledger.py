"""The ids of notifications that a folder holds, with the time of each, in sorted files that are memory-mapped.

A file holds the ids of one batch, or of many after a merge. The file of a batch is written before the batch is
committed, and counts only from the commit on. So the replay of a batch decides as if the attempt that was killed
had never begun. All of this happens while `Storage.exclusive` keeps other writers out.

A file is three rows of n numbers of 64 bits: first halves of the ids, last halves, times in microseconds since
1970; sorted by id, each id once. Files of about the same size are merged eight at a time, so that there are few.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tamis.arrays import I64, U64, Bools
from tamis.notifications import Keys, is_first, order_of
from tamis.sinks.base import SinkError
from tamis.snapshot.storage import Storage

Entries: TypeAlias = U64
"""uint64[3, n]: ids and times."""

FOLDER = "ledger"
MERGED_AT_ONCE = 8
_BATCH = "batch."
_MERGED = "merged."
_SUFFIX = ".ids"


class NotificationLedger:
    """The ids of the folder `ledger` of a storage.

    Attributes:
        retention_us: How long an id counts.
    """

    def __init__(self, storage: Storage, retention_us: int, is_committed: Callable[[Sequence[str]], list[bool]]):
        """Nothing is touched yet.

        Args:
            storage: Where it is.
            retention_us: How long an id counts, in microseconds.
            is_committed: For each of some names given to `write`, is its batch committed?
        """
        self.retention_us = retention_us
        self._storage = storage
        self._is_committed = is_committed
        self._counting: dict[str, Entries] = {}

    def is_known(self, keys: Keys, at_us: int) -> Bools:
        """Which of the sorted ids have been notified within the retention time before `at_us`?"""
        self._refresh()
        found = np.zeros(keys.shape[1], dtype=np.bool_)
        for entries in self._counting.values():
            found |= latest(entries, keys) > at_us - self.retention_us
        return found

    def write(self, name: str, keys: Keys, at_us: int) -> None:
        """Write the sorted ids of a batch; they count when the batch is committed."""
        path = f"{FOLDER}/{_BATCH}{name}{_SUFFIX}"
        if keys.shape[1]:
            times = np.full(keys.shape[1], at_us, dtype=np.int64).view(np.uint64)
            self._storage.write(path, [keys.tobytes(), times.tobytes()])
        else:  # a killed attempt may have left a file
            self._storage.remove(path)

    def tidy(self, at_us: int) -> None:
        """Remove what no longer counts, and merge where there are many files."""
        self._refresh()
        for name, entries in list(self._counting.items()):
            if entries[2].view(np.int64).max(initial=0) <= at_us - self.retention_us:
                self._drop([name])
        while names := self._mergeable():
            merged = merge([self._counting[name] for name in names], at_us - self.retention_us)
            self._storage.write(f"{FOLDER}/{_MERGED}{uuid.uuid4().hex}{_SUFFIX}", [merged.tobytes()])
            self._drop(names)
            self._refresh()

    def batches(self) -> set[str]:
        """The names of batches that have a file of their own."""
        names = (each.name for each in self._storage.listing(FOLDER))
        return {name[len(_BATCH) : -len(_SUFFIX)] for name in names if name.startswith(_BATCH)}

    def sweep(self) -> None:
        """Remove files of batches that were never committed."""
        for name in self._uncommitted_files([each.name for each in self._storage.listing(FOLDER)]):
            self._storage.remove(f"{FOLDER}/{name}")

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            del self._counting[name]
            self._storage.remove(f"{FOLDER}/{name}")

    def _mergeable(self) -> list[str]:
        tiers: dict[int, list[str]] = {}
        for name, entries in self._counting.items():
            tier = tiers.setdefault(int(math.log(1 + entries.shape[1], MERGED_AT_ONCE)), [])
            tier.append(name)
            if len(tier) == MERGED_AT_ONCE:
                return tier
        return []

    def _refresh(self) -> None:
        """Open files that other processes wrote since, and drop those that they merged or removed."""
        names = [each.name for each in self._storage.listing(FOLDER)]
        new = [name for name in names if name not in self._counting]
        uncommitted = self._uncommitted_files(new)
        kept = {name: self._counting[name] for name in names if name in self._counting}
        self._counting = kept | {name: self._open_file(name) for name in new if name not in uncommitted}

    def _uncommitted_files(self, names: list[str]) -> set[str]:
        batches = [name for name in names if name.startswith(_BATCH)]
        committed = self._is_committed([name[len(_BATCH) : -len(_SUFFIX)] for name in batches])
        return {name for name, is_committed in zip(batches, committed, strict=True) if not is_committed}

    def _open_file(self, name: str) -> Entries:
        path = f"{FOLDER}/{name}"
        if self._storage.local is None:
            content = np.frombuffer(self._storage.read(path), dtype=np.uint8)
        else:
            content = np.asarray(np.memmap(self._storage.local / path, dtype=np.uint8, mode="r"))
        if content.size % 24:
            msg = f"{self._storage.where(path)}: damaged: {content.size} bytes, expected a multiple of 24"
            raise SinkError(msg)
        return content.view(np.uint64).reshape(3, -1)


def latest(entries: Entries, keys: Keys) -> I64:
    """The time of each id in the entries; the smallest number if it is not there."""
    first, last, times = entries
    count = first.size
    found = np.full(keys.shape[1], np.iinfo(np.int64).min, dtype=np.int64)
    place = np.searchsorted(first, keys[0])
    # `place` is where the first half of an id begins among the entries, if it is there. Different
    # ids hardly ever share one, so the loop, which walks along a run of equal halves, nearly always runs once.
    open_ = np.flatnonzero(place < count)
    open_ = open_[first[place[open_]] == keys[0][open_]]
    while open_.size:
        here = place[open_]
        same = last[here] == keys[1][open_]
        found[open_[same]] = times[here[same]].view(np.int64)
        place[open_] += 1
        more = ~same & (here + 1 < count)
        open_ = open_[more]
        open_ = open_[first[place[open_]] == keys[0][open_]]
    return found


def merge(files: Sequence[Entries], after_us: int) -> Entries:
    """The entries of all files that are later than `after_us`, each id with its latest time."""
    together = np.concatenate(files, axis=1)
    together = together[:, together[2].view(np.int64) > after_us]
    newest_first = np.iinfo(np.int64).max - together[2].view(np.int64)
    order = order_of(together[:2], newest_first)
    return np.ascontiguousarray(together[:, order[is_first(together[:2, order])]])
