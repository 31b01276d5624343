"""What the kill tests run in a process of its own: a query that commits batch after batch.

A forked server starts the processes, so that each takes milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import signal
import sys
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from tamis.notifications import id_keys
from tamis.service.feed import FeedSink
from tamis.sinks import Committed, Delivery, Sink, SqlSink
from tamis.sinks.base import TaskWriter, without_duplicates
from tests.sinks.deliveries import delivery, file_sink

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])
_TRACED = ("sinks", "snapshot", "sql", "service")
"""Packages of tamis before whose lines a process may be killed."""


@dataclass(frozen=True, slots=True)
class Killed:
    """A sink whose processes are killed.

    Attributes:
        kind: "sql", "feed", or what writes files.
        folder: Where files are written.
        url: Of the database.
    """

    kind: str
    folder: Path
    url: str = ""

    @property
    def is_database(self) -> bool:
        """Does it write into a database?"""
        return self.kind in ("sql", "feed")

    def open(self) -> Sink:
        if self.kind == "feed":
            return FeedSink(url=self.url)
        return SqlSink(url=self.url) if self.kind == "sql" else file_sink(self.kind, self.folder)

    def delivery(self, batch: int) -> Delivery:
        """What a batch delivers, always the same."""
        return _feed_delivery(batch) if self.kind == "feed" else delivery_of(batch)

    def commit(self, sink: Sink, batch: int) -> Committed:
        """Commit a batch; where tasks write to a database, two of them do."""
        given = self.delivery(batch)
        writer = sink.task_writer(given.key) if self.is_database else None
        return sink.commit(given) if writer is None else _publish(sink, writer, given)


def _publish(sink: Sink, writer: TaskWriter, given: Delivery) -> Committed:
    """Stage the rows of a batch in two parts, as two tasks do, and publish them."""
    new = without_duplicates(given)
    middle, parts = new.notifications.num_rows // 2, []
    for partition, rows in enumerate((new.notifications.slice(0, middle), new.notifications.slice(middle))):
        part = pickle.loads(pickle.dumps(writer)).open(partition, 0)
        part.add(rows, id_keys(rows["id"]), rows["event_id"].unique())
        part.add_dead(new.dead)  # a letter that two tasks have counts once
        parts.append(part.finish())
    return sink.publish(given.key, parts)


@cache
def delivery_of(batch: int) -> Delivery:
    """What batch `batch` delivers, always the same; some of it came before, within the retention or earlier."""
    chance = random.Random(batch)
    pairs = [(chance.randrange(12 * batch + 60), chance.randrange(3)) for _ in range(40)]
    return delivery(batch, pairs, dead=[f"bad {batch % 7} {each}".encode() for each in range(batch % 4)])


@cache
def _feed_delivery(batch: int) -> Delivery:
    """The same to subscribers of a tenant, who get messages."""
    given = delivery_of(batch)
    table = given.notifications
    owners = ["s/@ann" if owner else None for owner in table["owner"].to_pylist()]
    place = table.schema.get_field_index("owner")
    return replace(
        given, notifications=table.set_column(place, table.field("owner"), pa.array(owners, pa.string()))
    )


def commit_from(killed: Killed, first: int, line: int | None, ready: SimpleQueue[Any]) -> None:
    """Commit batches for ever, or until the given line of the sinks is to be run."""
    sink = killed.open()
    batch = first
    ready.put(os.getpid())
    if line is not None:
        die_before(line)
    while True:
        killed.commit(sink, batch)
        batch += 1


def die_before(line: int) -> None:
    """Be killed before the given line of sinks, storage or SQL layer that is run from here on."""
    lines = 0

    @cache
    def is_traced(path: str) -> bool:
        return any(f"tamis/{package}" in path for package in _TRACED)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not is_traced(frame.f_code.co_filename):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def start(killed: Killed, first: int, line: int | None) -> BaseProcess:
    """A process that commits from batch `first` on; it has begun."""
    ready = _context.SimpleQueue()
    process = _context.Process(target=commit_from, args=(killed, first, line, ready), daemon=True)
    process.start()
    ready.get()
    return process
