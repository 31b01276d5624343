"""What was notified, remembered so that nothing is notified twice: files of ids and events, written by tasks.

A task writes one file with the ids of its notifications and the events that they are of. It counts from the
commit of its batch on, if the commit names the task. So a batch that is done again decides as if the attempt that
was killed had never begun. Files of about the same size are merged, by tasks as well, so that there are few; a
merged file says what its sources say, and counts at once.

A task first looks for its events, which are few. Only the notifications of an event that has been there before are
looked for one by one, as others cannot be there. The driver reads names and sizes, never what is in a file, unless
two tasks had the same event.

A file is an array of 64-bit numbers: the number of events m and of ids n; events (key, time) as two rows of m; ids
(first half, last half, time) as three rows of n. Both are sorted, each key once; times are in microseconds.
Files whose names end with `.ids`, of earlier versions, hold the three rows of ids only.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.arrays import I64, U64, Bools
from tamis.notifications import Keys, distinct_order, event_keys, is_first, order_of
from tamis.sinks.base import SinkError
from tamis.snapshot.storage import Storage, open_storage

Ids: TypeAlias = U64
"""uint64[3, n]: both halves of ids, and times."""
Events: TypeAlias = U64
"""uint64[2, m]: keys of events, and times."""

FOLDER = "ledger"
MERGED_AT_ONCE = 8
_MOST_MERGED = 64
_BATCH = "batch."
_MERGED = "merged."
_SUFFIX = ".seen"
_OLD_SUFFIX = ".ids"
_HEADER = 2
_KEPT_OPEN = 256
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Seen:
    """The content of a file, or of several.

    Attributes:
        events: None if the file does not say.
        ids: Of notifications.
    """

    events: Events | None
    ids: Ids

    def to_bytes(self) -> list[bytes]:
        """The content as it is written."""
        events = np.empty((2, 0), np.uint64) if self.events is None else self.events
        header = np.array([events.shape[1], self.ids.shape[1]], np.uint64)
        return [header.tobytes(), events.tobytes(), self.ids.tobytes()]


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The files that count when a batch begins, as its tasks get them.

    Attributes:
        url: The folder of the sink.
        files: The names of the files.
        at_us: The time of the batch.
        retention_us: How long an id counts.
        merges: Names of files to merge; each group is for one task.
    """

    url: str = field(repr=False)  # it may hold keys
    files: tuple[str, ...]
    at_us: int
    retention_us: int
    merges: tuple[tuple[str, ...], ...] = ()

    @property
    def after_us(self) -> int:
        """What was notified later than this counts."""
        return self.at_us - self.retention_us


class NotificationLedger:
    """The files of the folder `ledger` of a storage, as the driver sees them.

    Attributes:
        retention_us: How long an id counts.
    """

    def __init__(
        self,
        storage: Storage,
        url: str,
        retention_us: int,
        is_committed: Callable[[Sequence[tuple[str, str | None]]], list[bool]],
    ):
        """Nothing is touched yet.

        Args:
            storage: Where it is.
            url: The same, as tasks reach it.
            retention_us: How long an id counts, in microseconds.
            is_committed: For each of some names of batches and tasks, is the batch committed, with this task?
        """
        self.retention_us = retention_us
        self._storage = storage
        self._url = url
        self._is_committed = is_committed
        self._counting: dict[str, int] = {}

    def view(self, at_us: int) -> LedgerView:
        """What tasks of a batch need to know; files that no longer count are removed."""
        self.refresh()
        self.drop([name for name in self._counting if _newest_us(self._url, name) <= at_us - self.retention_us])
        return LedgerView(self._url, tuple(self._counting), at_us, self.retention_us, self._mergeable())

    def refresh(self) -> list[str]:
        """The names of all files that count now; others may have committed or merged since."""
        sizes = {each.name: each.bytes for each in self._storage.listing(FOLDER)}
        new = [name for name in sizes if name not in self._counting]
        uncommitted = self._uncommitted_names(new)
        self._counting = {
            name: size for name, size in sizes.items() if name in self._counting or name not in uncommitted
        }
        return [*self._counting]

    def drop(self, names: Sequence[str]) -> None:
        """Remove files."""
        for name in names:
            self._counting.pop(name, None)
            self._storage.remove(f"{FOLDER}/{name}")

    def batches(self) -> set[str]:
        """The names of batches that have files of their own."""
        return {_owner(each.name)[0] for each in self._storage.listing(FOLDER) if each.name.startswith(_BATCH)}

    def sweep(self, is_ours: Callable[[str, str | None], bool]) -> None:
        """Remove files that were never committed, by the names of batches and tasks."""
        for name in self._uncommitted_names([each.name for each in self._storage.listing(FOLDER)]):
            if is_ours(*_owner(name)):
                self._storage.remove(f"{FOLDER}/{name}")

    def _mergeable(self) -> tuple[tuple[str, ...], ...]:
        tiers: dict[int, list[str]] = {}
        for name, size in self._counting.items():
            tiers.setdefault(int(math.log(1 + size, MERGED_AT_ONCE)), []).append(name)
        return tuple(
            tuple(names[start : start + _MOST_MERGED])
            for names in tiers.values()
            for start in range(0, len(names), _MOST_MERGED)
            if len(names) - start >= MERGED_AT_ONCE
        )

    def _uncommitted_names(self, names: Sequence[str]) -> set[str]:
        batches = [name for name in names if name.startswith(_BATCH)]
        committed = self._is_committed([_owner(name) for name in batches])
        return {name for name, is_committed in zip(batches, committed, strict=True) if not is_committed}


class TaskLedger:
    """What a task knows of earlier notifications, and notes of its own.

    Attributes:
        repeated: How many different notifications of earlier batches it has met.
    """

    def __init__(self, view: LedgerView) -> None:
        """Open the files that count."""
        self._view = view
        self._storage = open_storage(view.url)
        self._files = self._open_files()
        self.repeated = 0
        self._met: list[Keys] = []
        self._ids: list[Keys] = []
        self._events: list[U64] = []
        self._shards: list[U64] = []

    def is_new(self, notifications: pa.Table, keys: Keys, events: pa.Array, shard: int = 0) -> Bools:
        """Which notifications have not been there; those are noted.

        Args:
            notifications: With columns `event_id` and `event_time`.
            keys: Their ids.
            events: The id of each event that they are of, as often as it was matched.
            shard: Where it was matched: in another shard an event finds other subscriptions.
        """
        named = event_keys(events)
        unique = np.unique(named)
        again = self._have_notifications(unique)
        new = np.ones(keys.shape[1], np.bool_)
        if again.any() or len(unique) < len(named):
            new = self._look_up(notifications, keys, unique[again])
            unique = np.unique(event_keys(notifications["event_id"].filter(pa.array(new)).unique()))
        self._ids.append(keys[:, new])
        self._events.append(unique)
        self._shards.append(np.full(len(unique), shard, np.uint64))
        return new

    def finish(self, name: str) -> tuple[U64, U64]:
        """Write the file of the task, if it notified anything; gives its different events and their shards."""
        ids, events, shards = (
            np.concatenate([empty, *pieces], axis=-1)
            for empty, pieces in (
                (np.empty((2, 0), np.uint64), self._ids),
                (np.empty(0, np.uint64), self._events),
                (np.empty(0, np.uint64), self._shards),
            )
        )
        if ids.shape[1]:
            at = np.uint64(self._view.at_us)
            in_order = ids[:, order_of(ids, np.zeros(ids.shape[1], np.int64))]
            unique = np.unique(events)
            seen = Seen(
                np.stack([unique, np.full(len(unique), at)]),
                np.concatenate([in_order, np.full((1, ids.shape[1]), at)]),
            )
            path = f"{FOLDER}/{_BATCH}{name}.{self._view.at_us}{_SUFFIX}"
            self._storage.write(path, seen.to_bytes())
        return events, shards

    def merge(self, group: int) -> tuple[str, ...]:
        """Merge a group of files, if there is such a group; gives the names of those that are no longer needed."""
        names = self._view.merges[group] if group < len(self._view.merges) else ()
        sizes = self._storage.sizes([f"{FOLDER}/{name}" for name in names])
        if names and None in sizes:  # another query was quicker
            return ()
        if names:
            merged = merge([_open(self._view.url, name) for name in names], self._view.after_us)
            newest = max(_newest_us(self._view.url, name) for name in names)
            path = f"{FOLDER}/{_MERGED}{uuid.uuid4().hex}.{newest}{_SUFFIX}"
            self._storage.write(path, merged.to_bytes())
        return names

    def _open_files(self) -> list[Seen]:
        """The files that count; what another query has merged since is in a merged file, which counts as well."""
        try:
            return [_open(self._view.url, name) for name in self._view.files]
        except FileNotFoundError:
            there = [each.name for each in self._storage.listing(FOLDER)]
            names = [name for name in there if name in self._view.files or name.startswith(_MERGED)]
            return [_open(self._view.url, name) for name in names]

    def _have_notifications(self, events: U64) -> Bools:
        """Which events have a notification, as far as files or earlier calls say; True if a file does not say."""
        found = np.zeros(len(events), np.bool_)
        for earlier in self._events:
            found |= np.isin(events, earlier)
        for file in self._files:
            if file.events is None:
                return np.ones(len(events), np.bool_)
            found |= _latest_of(file.events, events) > self._view.after_us
        return found

    def _look_up(self, notifications: pa.Table, keys: Keys, again: U64) -> Bools:
        """Which notifications are new, id by id, for events that were there before or came twice."""
        new = np.zeros(keys.shape[1], np.bool_)
        new[distinct_order(keys, notifications)] = True  # of those with one id, one is left
        encoded = notifications["event_id"].combine_chunks().dictionary_encode()
        is_again = np.isin(event_keys(encoded.dictionary), again)
        rows = np.flatnonzero(is_again[encoded.indices.to_numpy(zero_copy_only=False)] & new)
        asked = keys[:, rows]
        known = np.zeros(len(rows), np.bool_)
        for file in self._files:
            known |= latest(file.ids, asked) > self._view.after_us
        self.repeated += int(np.count_nonzero(known & ~is_among_any(asked, self._met)))
        self._met.append(asked[:, known])
        new[rows[known | is_among_any(asked, self._ids)]] = False
        return new


def known_ids(view: LedgerView, names: Sequence[str], keys: Keys) -> Bools:
    """Which ids some files have, within the retention."""
    found = np.zeros(keys.shape[1], np.bool_)
    for name in names:
        found |= latest(_open(view.url, name).ids, keys) > view.after_us
    return found


def events_in(view: LedgerView, names: Sequence[str], events: U64) -> Bools:
    """Which events some files have, within the retention."""
    found = np.zeros(len(events), np.bool_)
    for name in names:
        file = _open(view.url, name)
        found |= True if file.events is None else _latest_of(file.events, events) > view.after_us
    return found


def is_among(keys: Keys, ids: Keys) -> Bools:
    """Which keys are among ids in any order."""
    ids = ids[:, np.isin(ids[0], keys[0])]  # mostly few, which are quickly sorted
    ordered = ids[:, order_of(ids, np.zeros(ids.shape[1], np.int64))]
    return latest(np.concatenate([ordered, np.ones((1, ids.shape[1]), np.uint64)]), keys) > _NEVER


def is_among_any(keys: Keys, several: Sequence[Keys]) -> Bools:
    """Which keys are among ids of several arrays."""
    found = np.zeros(keys.shape[1], np.bool_)
    for ids in several:
        found |= is_among(keys, ids)
    return found


def latest(ids: Ids, keys: Keys) -> I64:
    """The time of each id in a file; the smallest number if it is not there."""
    first, last, times = ids
    count = first.size
    found = np.full(keys.shape[1], _NEVER, dtype=np.int64)
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


def merge(files: Sequence[Seen], after_us: int) -> Seen:
    """What files say together of what is later than `after_us`, each id and event once, with its latest time."""
    ids = np.concatenate([each.ids for each in files], axis=1)
    ids = ids[:, ids[2].view(np.int64) > after_us]
    order = order_of(ids[:2], np.iinfo(np.int64).max - ids[2].view(np.int64))
    ids = np.ascontiguousarray(ids[:, order[is_first(ids[:2, order])]])
    known = [each.events for each in files if each.events is not None]
    if len(known) < len(files):
        return Seen(None, ids)
    events = np.concatenate(known, axis=1)
    events = events[:, events[1].view(np.int64) > after_us]
    events = events[:, np.lexsort((-events[1].view(np.int64), events[0]))]
    return Seen(np.ascontiguousarray(events[:, is_first(events[:1])]), ids)


def _latest_of(events: Events, keys: U64) -> I64:
    """The time of each event in a file; the smallest number if it is not there."""
    found = np.full(len(keys), _NEVER, np.int64)
    place = np.searchsorted(events[0], keys)
    inside = np.flatnonzero(place < events.shape[1])
    here = inside[events[0, place[inside]] == keys[inside]]
    found[here] = events[1, place[here]].view(np.int64)
    return found


def _owner(name: str) -> tuple[str, str | None]:
    """The batch that a file is of, and the task; an old file is that of a whole batch."""
    if name.endswith(_OLD_SUFFIX):
        return name[len(_BATCH) : -len(_OLD_SUFFIX)], None
    query, batch, task, _ = name[len(_BATCH) : -len(_SUFFIX)].split(".")
    return f"{query}.{batch}", task


def _newest_us(url: str, name: str) -> int:
    """The time of the newest id of a file, which its name has; an old file is opened."""
    if name.endswith(_OLD_SUFFIX):
        return int(_open(url, name).ids[2].view(np.int64).max(initial=0))
    return int(name.split(".")[-2])


@lru_cache(maxsize=_KEPT_OPEN)
def _open(url: str, name: str) -> Seen:
    """The content of a file, which never changes."""
    storage = open_storage(url)
    path = f"{FOLDER}/{name}"
    if storage.local is None or storage.sizes([path]) == [0]:  # nothing cannot be mapped
        content = np.frombuffer(storage.read(path), dtype=np.uint8)
    else:
        content = np.asarray(np.memmap(storage.local / path, dtype=np.uint8, mode="r"))
    numbers = content[: content.size // 8 * 8].view(np.uint64)
    if name.endswith(_OLD_SUFFIX):
        if content.size and content.size % 24 == 0:
            return Seen(None, numbers.reshape(3, -1))
    elif content.size % 8 == 0 and numbers.size >= _HEADER:
        events, ids = int(numbers[0]), int(numbers[1])
        if numbers.size == _HEADER + 2 * events + 3 * ids:
            middle = _HEADER + 2 * events
            known = numbers[_HEADER:middle].reshape(2, -1) if events or not ids else None
            return Seen(known, numbers[middle:].reshape(3, -1))
    msg = f"{storage.where(path)}: damaged: {content.size} bytes are not what it says"
    raise SinkError(msg)
