"""A folder of changes: files of JSON lines, applied to a store in the order of their names, each once.

A line is a subscription, `{"id": ..., "condition": ...}` with whatever else `tamis subs import` takes, to be added
or put in the place of the one with its id; or `{"id": ..., "removed": true}`. A line that is neither is logged and
left out. A file must be whole when it appears under its name (write it aside, then rename it), and its name must
sort behind those that are there.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any, ClassVar

from tamis.errors import SubscriptionError, naming_write_errors
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.segments.fields import RENAME, unknown_field, with_event_type
from tamis.snapshot.local import LocalStorage
from tamis.store import Store
from tamis.store.records import FIELDS

_log = logging.getLogger(__name__)
_SUFFIXES = (".jsonl", ".ndjson", ".json")


class ChangeFolder:
    """Applies files to a store of its own.

    Attributes:
        store: What the changes amount to.
        STORE: The name of its file, in the state.
        MARK: The name of the file that holds the name of the file that was applied last.
    """

    STORE: ClassVar[str] = "subscriptions.db"
    MARK: ClassVar[str] = "applied"

    def __init__(
        self, folder: str | os.PathLike[str], state: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Nothing is read yet.

        Args:
            folder: Where the files appear.
            state: A folder for the store and the name of the last file.
            limits: Of conditions.

        Raises:
            WriteError: The state cannot be written.
        """
        self.folder = Path(folder)
        with naming_write_errors(state):
            Path(state).mkdir(parents=True, exist_ok=True)
        self.store = Store.open(Path(state) / self.STORE, limits=limits)
        self._mark = Path(state) / self.MARK

    def apply(self) -> int:
        """Apply the files that are new; gives how many.

        The mark is written behind the store: after a crash in between, the last file is applied again, which
        changes nothing.
        """
        last = self._mark.read_text() if self._mark.exists() else ""
        there = [path for path in self.folder.iterdir() if path.suffix in _SUFFIXES and path.is_file()]
        new = sorted(path for path in there if path.name > last)
        for path in new:
            self._apply(path)
            LocalStorage(self._mark.parent).write(self._mark.name, [path.name.encode()])
        return len(new)

    def _apply(self, path: Path) -> None:
        added: dict[str, dict[str, Any]] = {}
        removed: dict[str, None] = {}
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                id, record = _change(line)
            except (ValueError, SubscriptionError) as error:
                _log.warning("%s, line %d: no change: %s", path, number, error)
                continue
            added.pop(id, None)
            removed.pop(id, None)
            if record is None:
                removed[id] = None
            else:
                added[id] = record
        self.store.remove_many(list(removed))
        if added:
            imported = self.store.add_many(list(added.values()), replace=True)
            for refusal in imported.refusals:
                _log.warning("%s: subscription %s is refused: %s", path, refusal.id, refusal.error)


def _change(line: bytes) -> tuple[str, dict[str, Any] | None]:
    """The id of a change, and the subscription, None if it is removed.

    Raises:
        ValueError: It is no change.
        SubscriptionError: It names two event types.
    """
    entry = json.loads(line)
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        msg = "expected an object with an id"
        raise ValueError(msg)
    id = entry["id"]
    if entry.pop("removed", False):
        return id, None
    entry, has_old_name = with_event_type(entry)
    if has_old_name:
        _log.warning("subscription %s: %s", id, RENAME)
    unknown = [name for name in entry if name not in FIELDS]
    if unknown or "condition" not in entry:
        what = "there is no condition" if not unknown else unknown_field(unknown[0], (*FIELDS, "removed"))
        msg = f"subscription {id!r}: {what}"
        raise ValueError(msg)
    return id, entry
