"""When the matches of a batch were made: written down before a sink gets them, so that a replay says the same.

A replay may come an hour later, to a sink that got the batch already and cannot take it back: the time that was
recorded first is the one that stays.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from tamis.snapshot.documents import seal, unseal
from tamis.snapshot.storage import open_storage

FILE = "matched.json"
_KIND = "tamis.match_time"
_FORMAT = 1


class MatchTime:
    """The time of the newest batch of a query, in a file of its state; older batches are never done again."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Nothing is touched yet."""
        self._storage = open_storage(folder)

    def record(self, query: str, batch: int, now: datetime) -> datetime:
        """The time that was recorded for the batch; if none was, `now`, which is on disk when this returns.

        Raises:
            SnapshotError: The file is damaged, foreign or newer.
        """
        try:
            found = unseal(self._storage.read(FILE), _KIND, _FORMAT, self._storage.where(FILE))
            if (found["query"], found["batch"]) == (query, batch):
                return datetime.fromisoformat(found["at"])
        except FileNotFoundError:
            pass
        content = {"query": query, "batch": batch, "at": now.astimezone(UTC).isoformat()}
        self._storage.write(FILE, [seal(_KIND, _FORMAT, content)])
        return now
