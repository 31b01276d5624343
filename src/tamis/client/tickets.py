"""Tickets in a file, by the address of the service and the id of the subscription.

A ticket is as good as the subscription itself, so only its owner may read the file. A change replaces the file
whole, and changes of several processes come one after the other.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tamis.errors import TamisError

_READ, _WRITTEN = "cannot be read", "cannot be written"


class TicketsError(TamisError):
    """The file of tickets cannot be read or written: the message names it."""


def default_path() -> Path:
    """In the user's folder for state: $XDG_STATE_HOME, else ~/.local/state."""
    folder = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(folder).expanduser() / "tamis" / "tickets.json"


class Tickets:
    """The tickets that one user has.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tickets = Tickets(f"{folder}/tickets.json")
        ...     tickets.keep("http://127.0.0.1:8765", {"cheap": "kPq..."})
        ...     tickets.of("http://127.0.0.1:8765", "cheap"), tickets.of("http://elsewhere", "cheap")
        ('kPq...', None)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Use a file, which need not exist; by default the one in the user's folder for state."""
        self.path = default_path() if path is None else Path(path)

    def of(self, url: str, id: str) -> str | None:
        """The ticket of a subscription; None if there is none.

        Raises:
            TicketsError: The file cannot be read.
        """
        return self._read().get(url, {}).get(id)

    def check(self) -> None:
        """Make sure that tickets can be kept, before there is one.

        Raises:
            TicketsError: They could not.
        """
        with self._changing():
            pass

    def keep(self, url: str, tickets: Mapping[str, str]) -> None:
        """Keep tickets by the ids of their subscriptions, in place of any that are there.

        Raises:
            TicketsError: The file cannot be written.
        """
        with self._changing() as kept:
            kept.setdefault(url, {}).update(tickets)

    def forget(self, url: str, id: str) -> None:
        """Drop the ticket of a subscription that is no more.

        Raises:
            TicketsError: The file cannot be written.
        """
        with self._changing() as kept:
            kept.get(url, {}).pop(id, None)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, str]]]:
        """What the file has, which is written back if it changes; others wait meanwhile."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise self._error(_WRITTEN, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = self._read()
            before = json.dumps(kept)
            yield kept
            if json.dumps(kept) != before:
                self._write(kept)
        finally:
            os.close(lock)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._error(_READ, error) from error
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
            msg = f"{self.path}: expected tickets by address and subscription as JSON, found something else"
            raise TicketsError(msg)
        return found

    def _write(self, kept: dict[str, dict[str, str]]) -> None:
        """Write beside the file and move it there: a reader sees all of the old or all of the new."""
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            new.unlink(missing_ok=True)  # the mode counts for files that are made only
            file = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as text:
                json.dump(kept, text, ensure_ascii=False, indent=1)
                text.write("\n")
                text.flush()
                os.fsync(text.fileno())
            os.replace(new, self.path)
        except OSError as error:
            raise self._error(_WRITTEN, error) from error

    def _error(self, what: str, error: OSError) -> TicketsError:
        return TicketsError(f"{self.path}: {what}: {error.strerror or error}")
