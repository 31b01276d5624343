"""Processes of this machine as Linux shows them in /proc: who started whom, what they are, and what they used."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Process:
    """A process at a moment.

    Attributes:
        pid: Its id.
        parent: That of who started it.
        started: In ticks since the machine was; with the id it names the process for good.
        cpu_seconds: Used till now.
        ended_seconds: Used by those that it started and that have ended.
        command: Its command line.
    """

    pid: int
    parent: int
    started: int
    cpu_seconds: float
    ended_seconds: float
    command: str


def look(pid: int) -> Process | None:
    """A process, None if there is none of that id, or only what is left of it."""
    place = Path("/proc", str(pid))
    try:
        state, *fields = (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    if state in "ZX":
        return None
    user, system, ended_user, ended_system = (int(field) / _TICKS for field in fields[10:14])
    return Process(pid, int(fields[0]), int(fields[18]), user + system, ended_user + ended_system, command)


def family(pid: int) -> list[Process]:
    """A process and everything that it has started, as far as it is there."""
    everything = [look(int(each.name)) for each in Path("/proc").iterdir() if each.name.isdigit()]
    children: dict[int, list[Process]] = {}
    for process in everything:
        if process is not None:
            children.setdefault(process.parent, []).append(process)
    first = look(pid)
    found = [] if first is None else [first]
    for process in found:
        found += children.get(process.pid, [])
    return found


def end(processes: Iterable[Process], seconds: float) -> None:
    """Wait for processes to end, and kill each one that has not after so many seconds."""
    deadline = time.monotonic() + seconds
    left = [each for each in processes if _is_there(each)]
    while left and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        left = [each for each in left if _is_there(each)]
    for each in left:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def _is_there(process: Process) -> bool:
    now = look(process.pid)
    return now is not None and now.started == process.started
