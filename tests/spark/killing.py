"""The program that the kill tests kill: streams over the same files, while subscriptions change.

Run as a process of its own, in a session of its own, with the JSON of a `Life`. Its queries write into one folder
of Delta tables or into a database; each has a checkpoint and a snapshot of its own, and all follow one store. A
thread goes on changing the store. The process dies by SIGKILL, Java included, at the point that its life names;
the code that is killed is wrapped here and in `dying_tasks.py`, and knows nothing of it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from tamis.errors import SubscriptionError
from tamis.sinks import staging
from tamis.sinks.base import BatchKey, Delivery, Part, Sink, TaskWriter
from tamis.sinks.delta import DeltaSink, DeltaTables
from tamis.sinks.folder_commits import FolderCommits
from tamis.sinks.sql import SqlSink
from tamis.sinks.staging import StagedTarget
from tamis.snapshot import Snapshots
from tamis.spark import batch_delivery
from tamis.spark import stream_query as streaming
from tamis.spark.composite_states import CompositeSettings, CompositeStates
from tamis.spark.event_reading import Reading
from tamis.store import Store
from tamis.store.change_set import ChangeSet
from tests.spark.composite_accounting import LATENESS, composite_condition
from tests.spark.dying_tasks import (
    HALF,
    IN_TASKS,
    MATCHING,
    STAGING,
    WRITING,
    DyingStateTask,
    DyingTask,
    Life,
    die,
)

POINTS = (
    "before the pin",
    "after the pin",
    MATCHING,
    HALF,
    WRITING,
    "between state and sink",
    "within the sink's commit",
    "between files and log",
    "between the commits",
    "while publishing",
    "while the store commits",
)
"""Where the driver can be told to die."""
STAGING_POINTS = (*STAGING, WRITING, "within the transaction", "between the transactions", "between the commits")
"""The same, where tasks load rows into PostgreSQL and the driver publishes them."""
QUERIES = ("delta", "sql")
"""The queries of a driver: `sql` writes to SQLite, `staged` to PostgreSQL, others to the tables in `delta`."""
COMPOSITES = 8
"""Composite subscriptions, of which the first is never changed: so each batch moves the watermark on."""
RETENTION = timedelta(days=1)
"""No version of the subscriptions goes while a test lasts."""


def arm(life: Life) -> None:
    """Wrap what is to be killed."""
    hits = itertools.count(1)

    def is_time() -> bool:
        return next(hits) == life.hits

    def wrapped(owner: Any, name: str, *, before: bool) -> None:
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
        "within the transaction": lambda: wrapped(StagedTarget, "take", before=True),
        "between the transactions": lambda: wrapped(staging, "remove_staged", before=True),
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

    moments = (MATCHING, *STAGING, WRITING) if "staged" in life.queries else (MATCHING, HALF, WRITING)

    def task(*args: Any) -> Any:
        # From its time on every task may be the one in which the driver dies: not each comes to this point.
        if life.point in IN_TASKS and next(hits) >= life.hits:
            return replace(DyingTask(*args), life=life, driver=os.getpgid(0), moment=life.point)
        return replace(DyingTask(*args), life=life, worker=next_worker(), moment=chance.choice(moments))

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
        SparkSession.builder.master(life.master)
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
            elif name == "staged":
                sink = SqlSink(url=life.database)
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
