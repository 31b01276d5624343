"""Processes as Linux shows them under /proc, for those who kill them and those who watch them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is not over.

    Attributes:
        pid: Its id.
        parent: That of its parent.
        session: The session that it is in.
        name: Of its program.
        parent_name: Of its parent's.
        command: Its command line.
    """

    pid: int
    parent: int
    session: int
    name: str
    parent_name: str
    command: str

    @property
    def is_python_worker(self) -> bool:
        """Does Spark run Python in it, or fork such workers from it: by PySpark's daemon or by that of tamis?"""
        return "spark.daemon" in self.command


def processes() -> dict[int, Process]:
    """All of this machine, by id."""
    found: dict[int, tuple[int, int, str, str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text(errors="replace").rpartition(")")
            command = (path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent, _, session_ = tail.split()[:4]
        if state not in "ZX":
            found[int(path.parent.name)] = int(parent), int(session_), head.partition("(")[2], command
    names = {pid: name for pid, (_, _, name, _) in found.items()}
    return {
        pid: Process(pid, parent, session_, name, names.get(parent, ""), command)
        for pid, (parent, session_, name, command) in found.items()
    }


def session(leader: int) -> list[Process]:
    """The processes of a session."""
    return in_sessions([leader])


def in_sessions(leaders: Iterable[int]) -> list[Process]:
    """The processes of some sessions."""
    wanted = set(leaders)
    return [each for each in processes().values() if each.session in wanted]


def family(pid: int) -> list[Process]:
    """A process and all that it has started, as far as they are there."""
    known = processes()
    found = {pid}
    while more := {each.pid for each in known.values() if each.parent in found} - found:
        found |= more
    return [known[each] for each in sorted(found) if each in known]


def kill(pid: int) -> None:
    """End a process at once, if it is there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
