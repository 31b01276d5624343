"""Subscriptions that change while a stream runs.

A thread of the driver keeps the snapshot up to date with the store, so that no batch waits for a large import: a
batch takes the newest version that is published when it begins, and never asks the store for anything. If
publishing fails, batches go on with what there is, the lag grows and shows, and the next attempt makes up for it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tamis.errors import SnapshotError
from tamis.snapshot import Snapshots
from tamis.spark.change_folder import ChangeFolder
from tamis.spark.preparation import reachable
from tamis.store import Publisher, PublishResult, Store
from tamis.urls import is_store

_log = logging.getLogger(__name__)

FORGET_SECONDS = 60.0
"""How often old versions of the snapshot are collected."""
_SHOWN_REFUSALS = 3
_ATTEMPTS = 5
"""How often publishing is tried before a query starts, if another publisher of the snapshot is quicker."""


class LiveSubscriptions:
    """The versions of a snapshot, as a stream sees them.

    Attributes:
        snapshots: Where versions and pins are.
        url: The same, as workers reach it.
        error: What went wrong when publishing last, None if all is well.
        valid_since: When the oldest event was accepted that may not have been matched yet, in microseconds: what
            has expired since stays in the snapshot. None if nobody knows.
    """

    def __init__(
        self,
        subscriptions: Any,
        snapshot: str | os.PathLike[str],
        state: str | os.PathLike[str],
        *,
        poll_seconds: float = 1.0,
        retention_seconds: float = 3_600.0,
        change_retention: timedelta | None = None,
    ) -> None:
        """Nothing is published yet.

        Args:
            subscriptions: A store or its path or URL, a folder of changes or a `ChangeFolder`, or the URL of a
                snapshot that another process publishes.
            snapshot: Where to publish; not used if `subscriptions` is a snapshot.
            state: A folder of this machine, for what a folder of changes amounts to.
            poll_seconds: How often the store is asked for changes.
            retention_seconds: For how long a version that is no longer the newest stays.
            change_retention: For how long the store keeps its changes and what ended; None for ever.
        """
        self.error: BaseException | None = None
        self.valid_since: int | None = None
        self._store: Store | None = None
        self._owns_store = False
        self._folder: ChangeFolder | None = None
        self._poll_seconds = poll_seconds
        self._retention_seconds = retention_seconds
        self._change_retention = change_retention
        self._published: PublishResult | None = None
        self._behind_since: float | None = None
        self._looked = time.time()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._forgotten = time.monotonic()
        self._publishing = threading.Lock()
        if isinstance(subscriptions, Store):
            self._store = subscriptions
        elif isinstance(subscriptions, ChangeFolder):
            self._folder, self._store = subscriptions, subscriptions.store
        else:
            place = os.fspath(subscriptions)
            if is_store(place):
                self._store, self._owns_store = Store.open(place), True
            elif not Path(place).is_file() and Snapshots(place).latest() is not None:
                snapshot = place
            elif Path(place).is_dir():
                self._folder = ChangeFolder(place, Path(state) / "changes")
                self._store, self._owns_store = self._folder.store, True
            else:
                msg = "expected a store, a folder of changes or a snapshot, and found nothing of the kind"
                raise SnapshotError(place, msg, "missing")
        self.snapshots = Snapshots(snapshot)
        self.url = reachable(snapshot)
        self._publisher = None if self._store is None else Publisher(self._store, snapshot)

    def start(self, is_active: Callable[[], bool], on_end: Callable[[], None]) -> None:
        """Publish what there is, then go on publishing as long as the stream is active.

        Args:
            is_active: Does the stream run?
            on_end: Called once it does not.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.publish()
                break
            except SnapshotError as error:
                if error.kind != "conflict" or attempt == _ATTEMPTS:
                    raise
        self._thread = threading.Thread(target=self._run, args=(is_active, on_end), name="tamis", daemon=True)
        self._thread.start()

    def publish(self) -> None:
        """Publish what has changed; any thread may."""
        with self._publishing:
            self._publish()

    def _publish(self) -> None:
        if self._folder is not None:
            self._folder.apply()
        if self._publisher is not None:
            looked = time.time()
            self._behind_since = self._oldest_change()
            self._published = self._publisher.sync(self.valid_since)
            _log_refusals(self._published)
            self._behind_since, self._looked = None, looked
            if time.monotonic() - self._forgotten > FORGET_SECONDS:
                self._forgotten = time.monotonic()
                self.collect()

    def collect(self) -> None:
        """Remove old versions of the snapshot, and old changes from the log of the store."""
        self.snapshots.forget(keep_versions=2, older_than_seconds=self._retention_seconds)
        if self._store is not None and self._change_retention is not None:
            self._store.trim_older(datetime.now(UTC) - self._change_retention)

    def newest(self) -> int:
        """The newest version that is published.

        Raises:
            SnapshotError: There is none.
        """
        found = self.snapshots.latest()
        if found is None:
            raise SnapshotError(self.snapshots.url, "there is no version yet", "missing")
        return found

    def store_version(self, version: int) -> int | None:
        """The version of the store that a version of the snapshot holds, None without a store."""
        source = self.snapshots.manifest(version).extra.get("store")
        return int(source["version"]) if isinstance(source, dict) else None

    def lag_seconds(self) -> float | None:
        """The age of the oldest change that the newest version lacks, 0 if it lacks none; None without a store.

        If the store cannot be asked, it may have changed ever since it could.
        """
        if self._store is None:
            return None
        since = self._behind_since
        if since is None:
            return 0.0 if self.error is None else max(0.0, time.time() - self._looked)
        return max(0.0, time.time() - since)

    def close(self) -> None:
        """End the thread, and close the store if it was opened here."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._close_store()

    def _run(self, is_active: Callable[[], bool], on_end: Callable[[], None]) -> None:
        while not self._ended.wait(self._poll_seconds) and is_active():
            try:
                self.publish()
                self.error = None
            except Exception as error:  # whatever it is: a thread that ended would look like one that is idle
                if repr(error) != repr(self.error):
                    _log.warning("subscriptions were not published, and will be tried again: %r", error)
                self.error = error
        self._close_store()
        on_end()

    def _oldest_change(self) -> float | None:
        """When the store was changed first since the newest version; None if it was not."""
        if self._store is None or self._published is None:
            return None
        with self._store.view() as view:
            changed = view.changed_after(self._published.store_version)
        return None if changed is None else changed.timestamp()

    def _close_store(self) -> None:
        if self._store is not None and self._owns_store:
            self._store.close()


def _log_refusals(published: PublishResult) -> None:
    """Log the subscriptions that are not matched, such as those that call operators that this process lacks."""
    refused = published.refusals
    if refused:
        shown = "; ".join(f"{each.id!r}: {each.error}" for each in refused[:_SHOWN_REFUSALS])
        _log.warning("the store has subscriptions that are refused, and not matched (%d): %s", len(refused), shown)
