"""One query at a time has a checkpoint: a lock of the operating system, which ends with the process that holds it.

A driver whose Java was killed needs a moment until it ends, and finishes what it was writing meanwhile. So whoever
comes next waits for a while before it is refused.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from tamis.errors import TamisError, reported_writes

_log = logging.getLogger(__name__)

LOCK = "query.lock"
"""The file within the state of a query."""
WAIT_SECONDS = 20.0
"""How long the next query waits for the one before it to end."""
_LOOK_SECONDS = 0.1

_held: dict[Path, CheckpointLock] = {}
"""Those of this process: the system's lock would keep it from itself, even if its query has ended."""


class CheckpointInUse(TamisError):
    """Another query runs on the checkpoint.

    Attributes:
        folder: The state of the query, in which the lock is.
        pid: The process of the other query; None if it has not written it yet.
    """

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(folder, pid)
        self.folder = folder
        self.pid = pid

    def __str__(self) -> str:
        process = "another process" if self.pid is None else f"process {self.pid}"
        return (
            f"{self.folder}: a query of {process} uses this state and its checkpoint; stop it first, "
            "or give this one a checkpoint of its own"
        )


class CheckpointLock:
    """The lock of a query.

    Attributes:
        is_active: Does the query that holds it still run?
    """

    def __init__(self, folder: Path, file: IO[bytes]) -> None:
        self.is_active: Callable[[], bool] = lambda: True
        self._folder = folder
        self._file = file

    def release(self) -> None:
        """Let others have the checkpoint; any number of times."""
        self._file.close()
        if _held.get(self._folder) is self:
            del _held[self._folder]


def hold_checkpoint(
    state: Path, *, wait_seconds: float = WAIT_SECONDS, say: Callable[[str], None] = _log.warning
) -> CheckpointLock:
    """Have the checkpoint of a query alone, until `release` or the end of the process.

    Args:
        state: The folder of the driver for the query.
        wait_seconds: How long to wait for another process.
        say: Called once with what is in the way, if anything is.

    Raises:
        CheckpointInUse: Another query has it, and does not end.
        WriteError: The folder cannot be written.
    """
    folder = Path(os.path.realpath(state))
    mine = _held.get(folder)
    if mine is not None:
        if mine.is_active():
            raise CheckpointInUse(folder, os.getpid())
        mine.release()
    with reported_writes(folder / LOCK):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+b")
    try:
        _wait(file, folder, wait_seconds, say)
        with reported_writes(folder / LOCK):
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
            file.flush()
    except BaseException:
        file.close()
        raise
    _held[folder] = CheckpointLock(folder, file)
    return _held[folder]


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
