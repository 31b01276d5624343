"""Tasks in Spark's Python workers: they bring the driver's kernels along, and find workers that have started."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from tamis.spark.kernel_archive import KernelArchive, make_archive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger(__name__)

Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_archives: dict[str, KernelArchive | None] = {}
"""The archive of each Spark application of this process."""
_started: set[str] = set()
"""The applications whose workers were started ahead."""
_making = threading.Lock()
_MOST_STARTED = 4
"""Workers that are started ahead: a first batch seldom has more partitions, and a large machine many cores."""


def map_in_workers(frame: DataFrame, task: Task, schema: Any) -> DataFrame:
    """What a task gives for the partitions of a DataFrame, lazily; its workers need not compile what we have."""
    archive = shipped_kernels(frame.sparkSession)
    columns = _columns_of(schema) if isinstance(schema, str) else schema
    return frame.mapInArrow(task if archive is None else _TaskWithKernels(task, archive), columns)


@cache
def _columns_of(schema: str) -> Any:
    """Columns that are written as text; Java reads them, which takes milliseconds of every small batch."""
    from pyspark.sql.types import StructType

    return StructType.fromDDL(schema)


def shipped_kernels(spark: SparkSession) -> KernelArchive | None:
    """The kernels of this process as workers elsewhere get them; made and sent once for a Spark application.

    None if workers have what we have, because they are on this machine; over Spark Connect, where this process is
    not the driver; and if nothing has been compiled yet.
    """
    context = getattr(spark, "_sc", None)
    if context is None or context.master.startswith("local"):
        return None
    with _making:
        if context.applicationId not in _archives:
            folder = Path(tempfile.mkdtemp(prefix="tamis-kernels-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            archive = _archives[context.applicationId] = make_archive(folder)
            if archive is not None:
                context.addFile(str(folder / archive.file))
        return _archives[context.applicationId]


@dataclass(frozen=True, slots=True)
class _TaskWithKernels:
    """A task that first lets its process find the driver's kernels."""

    task: Task
    archive: KernelArchive

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition."""
        self.archive.use()
        yield from self.task(batches)


def start_workers(spark: SparkSession) -> threading.Thread:
    """Start Python workers in the background, while the driver does something else; a few if there are many cores.

    The first tasks of a stream would wait for them otherwise: they, and Spark itself, are slow the first time. For
    a Spark application that has had this before, nothing happens.
    """

    def run() -> None:
        try:
            context = spark.sparkContext
            with _making:
                if context.applicationId in _started:
                    return
                _started.add(context.applicationId)
            context.setJobDescription("tamis: start Python workers")
            count = min(context.defaultParallelism, _MOST_STARTED)
            map_in_workers(spark.range(count, numPartitions=count), _meet, "id long").toArrow()
        except Exception as error:  # Spark was stopped meanwhile, or the stream meets it again, and reports it
            _log.info("Python workers were not started ahead: %s", error)

    thread = threading.Thread(target=run, name="tamis workers", daemon=True)
    thread.start()
    return thread


def _meet(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Wait for the other tasks a moment, or one worker would do the work of all."""
    import tamis.spark.stream_task  # noqa: F401 - what the first task of a stream would import

    time.sleep(0.05)
    yield from batches
