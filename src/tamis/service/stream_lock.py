"""One stream at a time works in a folder: a lock of the system, which ends with the process that holds it.

The stream of a service that was killed goes on until its batch is done. The next one waits for it, and says so.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

_LOOK_SECONDS = 0.2


class Say(Protocol):
    """Reports what a stream waits for."""

    def __call__(self, *, waits_for: str) -> None: ...


@contextmanager
def alone(file: Path, stop: threading.Event, say: Say) -> Iterator[bool]:
    """Wait until no other stream works in the folder of the lock; False if `stop` is set before.

    Args:
        file: The lock, which names its process.
        stop: Set to wait no longer.
        say: Called once, at once, if there is another stream.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b", buffering=0) as lock:
        has_said = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not has_said:
                    say(waits_for=f"another stream{_holder(file)} that works in {file.parent} to end")
                    has_said = True
                if stop.wait(_LOOK_SECONDS):
                    yield False
                    return
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n".encode())
        yield True


def _holder(file: Path) -> str:
    """Which process has the lock; nothing if it has not written that yet, or is of an earlier version."""
    process = file.read_bytes().decode("ascii", "replace").strip()
    return f", process {process}," if process else ""
