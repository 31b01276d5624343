"""A driver on a cluster: matches a DataFrame, then a stream, and tells what it found; see `test_cluster`.

It matches by itself first, so that it has compiled what workers need.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tamis.events import EventType
from tamis.events.batch import EventBatch
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.progress import BatchReport
from tamis.selectivity.combination import at_least
from tamis.sinks.delta import DeltaSink
from tamis.spark import Reading, match, prepare, stream
from tamis.store import Store
from tests.spark import worker_kernels
from tests.spark.worker_kernels import count_in_workers

_COUNTED_BATCH = 1  # the test kills a worker after the next one


def tell(**what: Any) -> None:
    """Say something to the test."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def match_here(event_type: EventType, conditions: list[tuple[str, str]], events: pa.Table, folder: Path) -> None:
    """Do without Spark what workers do: compile conditions, publish them, open and match them."""
    matcher = Matcher(event_type)
    ids, texts = zip(*conditions, strict=True)
    matcher.add_many(pa.table({"id": ids, "condition": texts}))
    matcher.publish(folder)
    opened = Matchers.open(folder).only
    for part in opened.match_rows(EventBatch.of(events, opened.event_type), "arrival"):
        part.pairs.columns()
    opened.match_pairs(EventBatch.of(events, opened.event_type)).owners_and_labels()
    assert at_least(1, np.array([0.5])) == 0.5


def main(master: str, shared: Path, own: Path) -> None:
    """Do it; each step is told in a line of standard output."""
    os.umask(0)  # workers are another user, and write where the driver writes
    (shared / "out").mkdir()
    spark = (
        SparkSession.builder.master(master)
        .appName("tamis on a cluster")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.log.level", "ERROR")
        .config("spark.python.daemon.module", "tamis.spark.daemon")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    cloudpickle.register_pickle_by_value(worker_kernels)  # type: ignore[no-untyped-call] # workers have no tests
    events = spark.createDataFrame([(number, number % 50) for number in range(2_000)], "id long, price int")
    conditions = [(f"s{number}", f"price < {number}") for number in range(1, 21)]
    match_here(EventType.from_spark(events.schema), conditions, events.toArrow(), own / "compiled")
    subscriptions = spark.createDataFrame([*conditions, ("bad", "price <")], "id string, condition string")
    ready = prepare(subscriptions, EventType.from_spark(events.schema), snapshot=shared / "batch", segments=2)
    found = match(events.repartition(4), ready, shards=2).toArrow()
    refused = [row.id for row in ready.refused.collect()]
    tell(pairs=found.num_rows, refused=refused)
    tell(workers=count_in_workers(spark, 2))

    with Store.open(own / "subscriptions.db") as store:
        store.add_many([{"id": id, "condition": condition} for id, condition in conditions])
        # The rate source makes its rows in the workers, so that there is nothing for them to read.
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 400).option("numPartitions", 4)
        rows = source.load().selectExpr("cast(value as string) as id", "cast(value % 50 as int) as price")

        class Told:
            def show(self, report: BatchReport) -> None:
                tell(batch=report.batch, events=report.events)
                if report.batch == _COUNTED_BATCH:
                    tell(workers=count_in_workers(spark, 2))

            def close(self) -> None:
                pass

        query = stream(
            rows,
            store,
            DeltaSink(folder=shared / "out"),
            checkpoint=own / "checkpoint",
            snapshot=shared / "stream",
            reading=Reading(event_id="id"),
            trigger={"processingTime": "100 milliseconds"},
            views=[Told()],
        )
        query.awaitTermination()  # until the test has seen enough


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
