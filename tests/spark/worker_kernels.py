"""What Python workers of Spark have compiled and loaded since they were forked, asked by a task."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tamis.spark.workers import map_in_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = "process long, compiled long, read long, loaded long"
_SECONDS = 30.0


def count_in_workers(spark: SparkSession, workers: int) -> list[dict[str, Any]]:
    """For each of so many workers: the kernels it has compiled, read from a cache, and has in all.

    A task calls a kernel of its own, so that there is one that no worker can do without.
    """
    deadline = time.monotonic() + _SECONDS
    while True:
        asked = spark.range(workers, numPartitions=workers)
        found = {row["process"]: row for row in map_in_workers(asked, _count, _SCHEMA).toArrow().to_pylist()}
        if len(found) == workers or time.monotonic() > deadline:
            return list(found.values())


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # Here, since the function may be pickled by value, and a kernel beside it would be a copy.
    from tamis.kernels import compilations
    from tamis.selectivity.combination import at_least
    from tamis.spark.kernel_loading import product_kernels

    at_least(1, np.array([0.5]))
    for _ in batches:
        kernels = product_kernels()
        yield pa.RecordBatch.from_pylist(
            [
                {
                    "process": os.getpid(),
                    "compiled": compilations.count,
                    "read": sum(sum(each.stats.cache_hits.values()) for each in kernels),
                    "loaded": sum(len(each.overloads) for each in kernels),
                }
            ]
        )
        time.sleep(0.1)  # so that one worker does not do the work of two
