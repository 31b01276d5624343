"""One service at a time has a data folder: a lock of the operating system, which ends with the process."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tamis.errors import TamisError

LOCK = "service.lock"


class FolderInUse(TamisError):
    """Another service runs on the folder.

    Attributes:
        folder: Which one.
        pid: Of the other service; None if it has not written it yet.
        address: Where the other service listens; None if it does not listen yet.
    """

    def __init__(self, folder: Path, pid: int | None, address: str | None) -> None:
        super().__init__(folder, pid, address)
        self.folder = folder
        self.pid = pid
        self.address = address

    def __str__(self) -> str:
        known = [
            *([] if self.pid is None else [f"process {self.pid}"]),
            *([] if self.address is None else [f"at {self.address}"]),
        ]
        which = f" ({', '.join(known)})" if known else ""
        return (
            f"another tamis serve{which} uses the data folder {self.folder}; "
            "stop it first, or give this one a folder of its own with --data"
        )


@contextmanager
def hold_folder(folder: Path) -> Iterator[Callable[[str], None]]:
    """Have a data folder alone; gives what writes the address of the service into the lock.

    Raises:
        FolderInUse: Another process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _refusal(folder) from error

        def write(address: str | None) -> None:
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "address": address}).encode() + b"\n")
            file.flush()

        write(None)
        yield write


def _refusal(folder: Path) -> FolderInUse:
    """The error about the process that has the folder; its file may be half written."""
    try:
        holder = json.loads((folder / LOCK).read_bytes())
    except ValueError:
        holder = {}
    return FolderInUse(folder, holder.get("pid"), holder.get("address"))
