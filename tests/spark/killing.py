"""The program that the kill tests kill: streams over the same files, while subscriptions change.

Run as a process of its own, in a session of its own, with the JSON of a `Life`. Its queries write into one folder
of Delta tables or into a SQLite database; each has a checkpoint and a snapshot of its own, and all follow one
store. A thread goes on changing the store. The process dies by SIGKILL, Java included, at the point that its life
names; the code that is killed is wrapped here and knows nothing of it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from tamis.errors import SubscriptionError
from tamis.sinks.base import BatchKey, Delivery, Part, Sink, TaskWriter
from tamis.sinks.delta import DeltaSink, DeltaTables
from tamis.sinks.folder_commits import FolderCommits
from tamis.sinks.part_files import FolderPartWriter
from tamis.sinks.sql import SqlSink
from tamis.snapshot import Snapshots
from tamis.spark import batch_delivery
from tamis.spark import stream_query as streaming
from tamis.spark.composite_states import CompositeSettings, CompositeStates
from tamis.spark.composite_task import PartitionState, StateTask
from tamis.spark.event_reading import Reading
from tamis.spark.stream_task import StreamTask, TableMatches, TaskCounts
from tamis.store import Store
from tamis.store.change_set import ChangeSet
from tests.spark.composite_accounting import LATENESS, composite_condition

MATCHING = "while matching"
WRITING = "while a worker writes"
POINTS = (
    "before the pin",
    "after the pin",
    MATCHING,
    WRITING,
    "between state and sink",
    "within the sink's commit",
    "between files and log",
    "between the commits",
    "while publishing",
    "while the store commits",
)
"""Where the driver can be told to die."""
QUERIES = ("delta", "sql")
"""The queries of a driver: `sql` writes to a database, others to the tables in the folder `delta`."""
COMPOSITES = 8
"""Composite subscriptions, of which the first is never changed: so each batch moves the watermark on."""
RETENTION = timedelta(days=1)
"""No version of the subscriptions goes while a test lasts."""


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
    """

    folder: str
    number: int
    seed: int
    point: str | None
    hits: int
    worker_kills: int
    queries: tuple[str, ...] = QUERIES

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
        writes: Is it killed when its files are written, and nobody knows of them yet? Else when all is matched.
    """

    life: Life | None = None
    driver: int | None = None
    worker: str | None = None
    writes: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For a sink that only the driver writes to."""
        yield from StreamTask.__call__(self, batches)
        if self.writes:
            self._die()

    def match_tables(self, batches: Iterator[pa.RecordBatch], counts: TaskCounts) -> Iterator[TableMatches]:
        if self.writes:
            finish = FolderPartWriter.finish

            def dying(part: FolderPartWriter) -> Part:
                made = finish(part)
                self._die()
                return made

            setattr(FolderPartWriter, "finish", dying)  # noqa: B010
        found = [*StreamTask.match_tables(self, batches, counts)]
        yield from found[:1]  # some rows may leave before the end
        if not self.writes:
            self._die()
        yield from found[1:]

    def _die(self) -> None:
        assert self.life is not None
        if self.driver is not None:
            die(self.life, self.driver)
        if self.worker is not None and self.life.mark(self.worker):
            os.kill(os.getpid(), signal.SIGKILL)


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


def arm(life: Life) -> None:
    """Wrap what is to be killed."""
    hits = itertools.count(1)

    def is_time() -> bool:
        return next(hits) == life.hits

    def wrapped(owner: type, name: str, *, before: bool) -> None:
        original = getattr(owner, name)

        def dying(*args: Any, **kwargs: Any) -> Any:
            if before and is_time():
                die(life, os.getpgid(0))
            given = original(*args, **kwargs)
            if not before and is_time():
                die(life, os.getpgid(0))
            return given

        setattr(owner, name, dying)

    wraps: dict[str, Callable[[], None]] = {
        "before the pin": lambda: wrapped(Snapshots, "pin", before=True),
        "after the pin": lambda: wrapped(Snapshots, "pin", before=False),
        "between state and sink": lambda: wrapped(CompositeStates, "commit", before=False),
        "within the sink's commit": lambda: wrapped(FolderCommits, "_write", before=True),
        "between files and log": lambda: wrapped(DeltaTables, "commit", before=True),
        "between the commits": lambda: wrapped(Recording, "publish", before=False),
        "while publishing": lambda: wrapped(Snapshots, "_write", before=False),
        "while the store commits": lambda: wrapped(ChangeSet, "write", before=False),
    }
    if life.point in wraps:
        wraps[life.point]()
    chance = random.Random(life.seed)
    left = itertools.count(1)

    def next_worker() -> str | None:
        number = next(left) if chance.random() < 0.5 else life.worker_kills + 1
        return f"worker {number}" if number <= life.worker_kills else None

    def state_task(*args: Any, **kwargs: Any) -> Any:
        return replace(DyingStateTask(*args, **kwargs), life=life, worker=next_worker())

    def task(*args: Any) -> Any:
        driver = os.getpgid(0) if life.point in (MATCHING, WRITING) and is_time() else None
        worker = next_worker() if driver is None else None
        writes = life.point == WRITING if driver is not None else worker is not None and chance.random() < 0.5
        return replace(DyingTask(*args), life=life, driver=driver, worker=worker, writes=writes)

    setattr(streaming, "StreamTask", task)  # noqa: B010
    setattr(batch_delivery, "StateTask", state_task)  # noqa: B010


class Recording:
    """A sink, and something to wrap whatever the sink is."""

    name: ClassVar[str] = "recording"
    exactly_once: ClassVar[bool] = True

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def commit(self, delivery: Delivery) -> Any:
        return self.sink.commit(delivery)

    def task_writer(self, batch: BatchKey) -> TaskWriter | None:
        return self.sink.task_writer(batch)

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Any:
        return self.sink.publish(batch, parts)

    def check(self) -> None:
        self.sink.check()

    def describe(self) -> str:
        return self.sink.describe()

    def close(self) -> None:
        self.sink.close()


def change(store: Store, chance: random.Random) -> None:
    """Add, replace, remove or renew subscriptions: sometimes one, sometimes several in a version."""
    id, composite = f"s{chance.randrange(60)}", f"c{chance.randrange(1, COMPOSITES)}"
    try:
        draw = chance.random()
        if draw < 0.03:
            store.replace(composite, composite_condition(chance))
        elif draw < 0.1:
            store.pause(composite, paused=chance.random() < 0.3)
        elif draw < 0.3:
            ids = [f"s{number}" for number in chance.sample(range(60), chance.randint(1, 6))]
            store.add_many([{"id": each, "condition": condition(chance)} for each in ids], replace=True)
        elif draw < 0.5:
            soon = datetime.now(UTC) + timedelta(seconds=chance.uniform(0.5, 5))
            store.add(id, condition(chance), expires=chance.choice([None, soon]))
        elif draw < 0.8:
            store.replace(id, condition(chance))
        else:
            store.remove(id)
    except SubscriptionError:
        return  # it is there already, or is not there


def condition(chance: random.Random) -> str:
    """A condition that about one event in twenty satisfies."""
    low = chance.randrange(90)
    return chance.choice(
        (
            f"a >= {low} AND a < {low + 5}",
            f"a BETWEEN {low} AND {low + 10} AND b = '{chance.choice('xyz')}'",
            f"b = '{chance.choice('xyz')}' AND c LIKE '%{chance.randrange(10)}'",
            f"a < {low} AND c IS NULL AND NOT b = '{chance.choice('xyz')}'",
        )
    )


def live(life: Life) -> None:
    """Read what there is, unless something happens."""
    from pyspark.sql import SparkSession

    from tamis.spark.class_archive import java_options

    folder = Path(life.folder)
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.driver.defaultJavaOptions", " ".join(java_options()))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.local.dir", str(folder / "scratch"))
        .config("spark.log.level", "OFF")
        .config("spark.python.daemon.module", "tamis.spark.daemon")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.files.maxPartitionBytes", "2k")  # several tasks a batch
        .config("spark.sql.files.openCostInBytes", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.minBatchesToRetain", "100000")  # the test reads all of the checkpoint
        .config("spark.sql.streaming.fileSource.log.deletion", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    arm(life)
    ended = threading.Event()
    with Store.open(folder / "subscriptions.db") as store:

        def go_on_changing() -> None:
            chance = random.Random(life.seed + 1)
            while not ended.wait(0.1):
                change(store, chance)

        changing = threading.Thread(target=go_on_changing)
        queries = []
        for name in life.queries:
            sink: Sink = DeltaSink(folder=folder / "delta")
            if name == "sql":
                sink = SqlSink(url=f"sqlite:///{folder / 'sql.db'}")
            events = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "in"))
            queries.append(
                streaming.stream(
                    events,
                    str(folder / "subscriptions.db"),
                    Recording(sink),
                    checkpoint=folder / "checkpoints" / name,
                    reading=Reading(json="value", event_time="time"),
                    trigger={"availableNow": True},
                    poll=timedelta(seconds=0.1),
                    retention=RETENTION,
                    composite=CompositeSettings(lateness=LATENESS, partitions=3),
                )
            )
        changing.start()
        try:
            for query in queries:
                query.awaitTermination()
        finally:
            ended.set()
            changing.join()
    life.mark("ended")
    spark.stop()


if __name__ == "__main__":
    live(Life(**json.loads(sys.argv[1])))
