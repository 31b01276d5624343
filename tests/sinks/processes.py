"""What the kill tests run in a process of its own: a query that commits batch after batch.

A forked server starts the processes, so that each takes milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
from functools import cache
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from types import FrameType
from typing import Any

from tamis.sinks import Delivery
from tests.sinks.deliveries import delivery, file_sink

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


@cache
def delivery_of(batch: int) -> Delivery:
    """What batch `batch` delivers, always the same; some of it came before, within the retention or earlier."""
    chance = random.Random(batch)
    pairs = [(chance.randrange(12 * batch + 60), chance.randrange(3)) for _ in range(40)]
    return delivery(batch, pairs, dead=[f"bad {batch % 7} {each}".encode() for each in range(batch % 4)])


def commit_from(kind: str, folder: Path, first: int, line: int | None, ready: SimpleQueue[Any]) -> None:
    """Commit batches for ever, or until the given line of the sinks is to be run."""
    sink = file_sink(kind, folder)
    batch = first
    ready.put(os.getpid())
    if line is not None:
        die_before(line)
    while True:
        sink.commit(delivery_of(batch))
        batch += 1


def die_before(line: int) -> None:
    """Be killed before the given line of sinks, storage or SQL layer that is run from here on."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        path = frame.f_code.co_filename
        if not any(f"tamis/{package}" in path for package in ("sinks", "snapshot", "sql")):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def start(kind: str, folder: Path, first: int, line: int | None) -> BaseProcess:
    """A process that commits from batch `first` on; it has begun."""
    ready = _context.SimpleQueue()
    process = _context.Process(target=commit_from, args=(kind, folder, first, line, ready), daemon=True)
    process.start()
    ready.get()
    return process
