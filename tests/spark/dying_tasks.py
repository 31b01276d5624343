"""Tasks of Spark that are killed on the way, with their worker alone or with the driver; for `killing.py`."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

from tamis.sinks.part_files import NOTIFICATION_FILES, FolderPartWriter
from tamis.sinks.staging import StagingPartWriter
from tamis.snapshot.local import LocalStorage
from tamis.snapshot.storage import Content
from tamis.spark.composite_task import PartitionState, StateTask
from tamis.spark.stream_task import StreamTask, TableMatches, TaskCounts

MATCHING = "while matching"
HALF = "in the middle of a file"
COPYING = "in the middle of a COPY"
COPIED = "between COPY and its commit"
WRITING = "while a worker writes"
"""When all is written, and nobody knows of it yet."""
STAGING = (COPYING, COPIED)
IN_TASKS = (MATCHING, HALF, *STAGING, WRITING)
"""Points that only a task comes to."""
LOCAL = "local[2,4]"


@dataclass(frozen=True, slots=True)
class Life:
    """How a driver lives, and where it ends.

    Attributes:
        folder: With `in` (events), `subscriptions.db`, and all that the queries write.
        number: Of this life.
        seed: Of the changes that it makes.
        point: Where it dies; None if it does not, by itself.
        hits: The how many-th time that it comes there.
        worker_kills: How many of its Python workers are killed meanwhile.
        queries: The names of its queries.
        master: Of Spark.
        database: The URL of the PostgreSQL of the query `staged`.
    """

    folder: str
    number: int
    seed: int
    point: str | None
    hits: int
    worker_kills: int
    queries: tuple[str, ...]
    master: str = LOCAL
    database: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def mark(self, name: str) -> bool:
        """Write down that something happens; False if it was written down before."""
        path = Path(self.folder) / "marks" / f"{self.number:04d} {name}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def die(life: Life, driver: int) -> None:
    """End the driver and its Java, from any of its processes."""
    life.mark(f"driver {life.point}")
    os.killpg(driver, signal.SIGKILL)
    signal.pause()


@dataclass(frozen=True, slots=True)
class DyingTask(StreamTask):
    """Matches, and is killed on the way.

    Attributes:
        life: Whose task it is.
        driver: The process group of the driver, if that is to die.
        worker: The name of the kill of a worker, if one is to die; the attempt after it lives.
        moment: One of `IN_TASKS`.
    """

    life: Life | None = None
    driver: int | None = None
    worker: str | None = None
    moment: str = MATCHING

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For a sink that only the driver writes to: for it a task writes nothing, and its end must do."""
        yield from StreamTask.__call__(self, batches)
        if self.moment == WRITING or (self.worker is not None and self.moment != MATCHING):
            self._die()

    def match_tables(self, batches: Iterator[pa.RecordBatch], counts: TaskCounts) -> Iterator[TableMatches]:
        if self.moment == HALF:
            halve_files(self._die)
        elif self.moment == COPYING:
            halve_copies(self._die)
        elif self.moment == COPIED:
            call_around(psycopg.Connection, "commit", self._die, before=True)
        elif self.moment == WRITING:
            call_around(FolderPartWriter, "finish", self._die, before=False)
            call_around(StagingPartWriter, "finish", self._die, before=False)
        found = [*StreamTask.match_tables(self, batches, counts)]
        yield from found[:1]  # some rows may leave before the end
        if self.moment == MATCHING:
            self._die()
        yield from found[1:]

    def _die(self) -> None:
        assert self.life is not None
        if self.driver is not None:
            die(self.life, self.driver)
        if self.worker is not None and self.life.mark(self.worker):
            os.kill(os.getpid(), signal.SIGKILL)


# A worker that is wrapped stays so; who has died once does nothing when it is called again.


def call_around(owner: type, name: str, call: Callable[[], None], *, before: bool) -> None:
    """Let a method call something, before or after what it does."""
    original = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if before:
            call()
        given = original(*args, **kwargs)
        if not before:
            call()
        return given

    setattr(owner, name, wrapped)


def halve_files(call: Callable[[], None]) -> None:
    """Let a file of notifications call something when half of it is on disk."""
    write, new_file = LocalStorage.write, LocalStorage._new_file

    def halves(content: Content) -> Content:
        data = b"".join(content)
        yield data[: len(data) // 2]
        call()
        yield data[len(data) // 2 :]

    def halved(storage: LocalStorage, path: str, content: Content) -> None:
        write(storage, path, halves(content) if path.startswith(NOTIFICATION_FILES) else content)

    def unbuffered(storage: LocalStorage) -> tuple[Path, Any]:
        path, file = new_file(storage)
        return path, file.detach() if hasattr(file, "detach") else file

    setattr(LocalStorage, "write", halved)  # noqa: B010
    setattr(LocalStorage, "_new_file", unbuffered)  # noqa: B010


def halve_copies(call: Callable[[], None]) -> None:
    """Let a COPY of rows into PostgreSQL call something when half of them are handed over."""
    write = psycopg.Copy.write

    def halved(copy: psycopg.Copy, data: bytes) -> None:
        write(copy, data[: len(data) // 2])
        call()
        write(copy, data[len(data) // 2 :])

    setattr(psycopg.Copy, "write", halved)  # noqa: B010


@dataclass(frozen=True, slots=True)
class DyingStateTask(StateTask):
    """Lets events come to composite subscriptions, and is killed when the new state is written.

    Attributes:
        life: Whose task it is.
        worker: The name of the kill, if there is to be one; the attempt after it lives.
    """

    life: Life | None = None
    worker: str | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        write = PartitionState.write

        def dying(state: PartitionState, attempt: int) -> str:
            file = write(state, attempt)
            if self.life is not None and self.worker is not None and self.life.mark(self.worker):
                os.kill(os.getpid(), signal.SIGKILL)
            return file

        setattr(PartitionState, "write", dying)  # noqa: B010
        try:
            yield from StateTask.__call__(self, batches)
        finally:
            setattr(PartitionState, "write", write)  # noqa: B010
