"""What tasks send to the driver on a standalone cluster: a master, two workers and a driver, each a process.

`run` starts them on loopback. The driver is this module as a program: it matches batches of equally many events
that give 0, 1 and 100 notifications each, in turn, and asks Spark for the sizes of the results of all tasks.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.progress import BatchReport
from tamis.sinks import DeltaSink
from tamis.spark import Reading, stream
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
MANY = 100
"""The most notifications of an event: a subscription each."""
_WORKERS = 2
_KINDS = (0, 1, MANY)
_ROUNDS = 3
_WARM = len(_KINDS)
_START_SECONDS = 180
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER = re.compile(r"(Successfully registered with master)")


def run(folder: Path, events: int) -> dict[int, list[int]]:
    """The bytes that tasks of a batch send to the driver, by the notifications of each of its events."""
    folder.mkdir(parents=True)
    from scripts import java_home

    environment = os.environ | {
        "JAVA_HOME": str(java_home.choose(os.environ, install=False)),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }
    with _cluster(folder, environment) as master:
        words = [sys.executable, "-m", "benchmarks.stream_cluster", master, str(folder), str(events)]
        said = subprocess.run(words, stdout=subprocess.PIPE, env=environment, cwd=ROOT, check=True)
    found: dict[int, list[int]] = {kind: [] for kind in _KINDS}
    for kind, size in json.loads(said.stdout.splitlines()[-1])[_WARM:]:
        found[kind].append(size)
    return found


@contextmanager
def _cluster(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The URL of a master with two workers; they end with the context."""
    import pyspark

    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, ready: re.Pattern[str], *words: str) -> str:
        log = folder / f"{name}.log"
        with log.open("wb") as file:
            command = [str(spark_class), f"org.apache.spark.deploy.{words[0]}", *words[1:], "--host", "127.0.0.1"]
            started.append(
                subprocess.Popen(
                    [*command, "--webui-port", "0"],
                    stdout=file,
                    stderr=file,
                    env=environment | {"SPARK_HOME": str(spark_class.parent.parent)},
                    start_new_session=True,
                )
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and started[-1].poll() is None:
            if found := ready.search(log.read_text(errors="replace")):
                return found.group(1)
            time.sleep(0.1)
        msg = f"{name} did not start:\n{log.read_text(errors='replace')[-3_000:]}"
        raise AssertionError(msg)

    try:
        master = start("master", _MASTER, "master.Master", "--port", "0")
        for number in range(_WORKERS):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
            start(f"worker{number}", _WORKER, "worker.Worker", master, *work)
        yield master
    finally:
        for process in reversed(started):  # with the executors that a worker started
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class ResultSizes:
    """A view of a stream: for each batch, the bytes that tasks sent to the driver since the batch before."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._seen: set[int] = set()
        self.sizes: list[int] = []
        self.notifications: list[int] = []

    def show(self, report: BatchReport) -> None:
        self._context.listenerBus().waitUntilEmpty()  # then the store has what has happened
        store = self._context.statusStore()
        jobs, size = store.jobsList(None), 0
        for number in range(jobs.size()):
            stages = jobs.apply(number).stageIds()
            for place in range(stages.size()):
                stage = stages.apply(place)
                if stage not in self._seen:
                    self._seen.add(stage)
                    size += store.lastStageAttempt(stage).resultSize()
        self.sizes.append(size)
        self.notifications.append(report.notifications)

    def close(self) -> None:
        """Nothing is held open."""


def main(master: str, folder: Path, events: int) -> None:
    """Match the batches, and print the notifications of an event and the bytes to the driver of each."""
    from pyspark.sql import SparkSession

    (folder / "events").mkdir()
    kinds = [*_KINDS] * (_ROUNDS + 1)
    for batch, kind in enumerate(kinds):
        for part in range(2):
            numbers = range(part, events, 2)
            lines = "".join(f'{{"id": "e{batch}-{number}", "price": {MANY - kind}}}\n' for number in numbers)
            file = folder / "events" / f"{batch:02}-{part}.jsonl"
            file.write_text(lines)
            os.utime(file, (batch, batch))  # Spark takes the oldest files first
    spark = (
        SparkSession.builder.master(master)
        .appName("tamis benchmark on a cluster")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    sizes = ResultSizes(spark)
    with Store.open(folder / "subscriptions.db") as store:
        store.add_many([{"id": f"s{number}", "condition": f"price < {number}"} for number in range(1, MANY + 1)])
        query = stream(
            spark.readStream.option("maxFilesPerTrigger", 2).text(str(folder / "events")),
            store,
            DeltaSink(folder=folder / "table"),
            checkpoint=folder / "checkpoint",
            reading=Reading(json="value"),
            trigger={"availableNow": True},
            views=[sizes],
        )
        query.awaitTermination()
    spark.stop()
    assert sizes.notifications == [kind * events for kind in kinds], sizes.notifications
    print(json.dumps([*zip(kinds, sizes.sizes, strict=True)]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
