"""One query at a time has a checkpoint: a lock of the operating system, which ends with the process that holds it.

A driver whose Java was killed needs a moment until it ends, and finishes what it was writing meanwhile. So whoever
comes next waits for a while before it is refused.

The checkpoint is locked wherever the state folder is: two queries with different ones would write the same files.
A checkpoint in an object store has no lock; there Spark's own file manager notices two writers.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO
from urllib.parse import urlparse
from urllib.request import url2pathname

from tamis.errors import TamisError, naming_write_errors
from tamis.urls import absolute

_log = logging.getLogger(__name__)

STATE = "tamis"
"""The folder within a checkpoint that is the state of its query, if no other is given, and has the lock."""
LOCK = "query.lock"
"""The file within the state of a query."""
WAIT_SECONDS = 20.0
"""How long the next query waits for the one before it to end."""
_LOOK_SECONDS = 0.1

_held: dict[Path, CheckpointLock] = {}
"""Those of this process: the system's lock would keep it from itself, even if its query has ended."""


class CheckpointInUse(TamisError):
    """Another query runs on the checkpoint, or has the same state folder.

    Attributes:
        folder: In which the lock is.
        pid: The process of the other query; None if it has not written it yet.
    """

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(folder, pid)
        self.folder = folder
        self.pid = pid

    def __str__(self) -> str:
        process = "another process" if self.pid is None else f"process {self.pid}"
        return (
            f"{self.folder}: a query of {process} uses this checkpoint or state; stop it first, "
            "or give this one a checkpoint of its own"
        )


class CheckpointLock:
    """The locks of a query: of its state folder, and of its checkpoint if that is on this machine.

    Attributes:
        is_active: Does the query that holds them still run?
    """

    def __init__(self) -> None:
        self.is_active: Callable[[], bool] = lambda: True
        self._files: dict[Path, IO[bytes]] = {}

    def add(self, folder: Path, file: IO[bytes]) -> None:
        """Take over the lock of a folder."""
        self._files[folder] = file
        _held[folder] = self

    def release(self) -> None:
        """Let others have the checkpoint; any number of times."""
        for folder, file in self._files.items():
            file.close()
            if _held.get(folder) is self:
                del _held[folder]
        self._files.clear()


def hold_checkpoint(
    state: Path,
    checkpoint: str | os.PathLike[str] | None = None,
    *,
    wait_seconds: float = WAIT_SECONDS,
    say: Callable[[str], None] = _log.warning,
) -> CheckpointLock:
    """Have the checkpoint of a query and its state alone, until `release` or the end of the process.

    Args:
        state: The folder of the driver for the query.
        checkpoint: Spark's folder. It is locked, too, if it is on this machine, whatever the state folder is.
        wait_seconds: How long to wait for another process.
        say: Called once for each lock with what is in the way, if anything is.

    Raises:
        CheckpointInUse: Another query has one of them, and does not end.
        WriteError: A folder cannot be written.
    """
    place = None if checkpoint is None else local_folder(checkpoint)
    folders = [state] if place is None else [place / STATE, state]
    lock = CheckpointLock()
    try:
        for folder in dict.fromkeys(Path(os.path.realpath(each)) for each in folders):
            lock.add(folder, _hold(folder, wait_seconds, say))
    except BaseException:
        lock.release()
        raise
    return lock


def local_folder(checkpoint: str | os.PathLike[str]) -> Path | None:
    """The path of a checkpoint on this machine; None if it is elsewhere."""
    place = absolute(checkpoint)
    parsed = urlparse(place)
    if parsed.scheme == "file":
        return Path(url2pathname(parsed.path))
    return None if parsed.scheme else Path(place)


def _hold(folder: Path, wait_seconds: float, say: Callable[[str], None]) -> IO[bytes]:
    mine = _held.get(folder)
    if mine is not None:
        if mine.is_active():
            raise CheckpointInUse(folder, os.getpid())
        mine.release()
    with naming_write_errors(folder / LOCK):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+b")
    try:
        _wait(file, folder, wait_seconds, say)
        with naming_write_errors(folder / LOCK):
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
            file.flush()
    except BaseException:
        file.close()
        raise
    return file


def _wait(file: IO[bytes], folder: Path, seconds: float, say: Callable[[str], None]) -> None:
    deadline = time.monotonic() + seconds
    is_said = False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            refusal = CheckpointInUse(folder, _holder(folder))
            if time.monotonic() >= deadline:
                raise refusal from error
            if not is_said:
                process = "another process" if refusal.pid is None else f"process {refusal.pid}"
                say(f"waiting up to {seconds:.0f} s for {process} to leave {folder}")
                is_said = True
            time.sleep(min(_LOOK_SECONDS, seconds))
        else:
            return


def _holder(folder: Path) -> int | None:
    """The process that has the lock, which may have written nothing yet."""
    text = (folder / LOCK).read_bytes().strip()
    return int(text) if text.isdigit() else None
