"""A folder in which streams run: events as JSON lines in files, Parquet out, and reports to wait for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.progress import BatchReport
from tamis.sinks.parquet import ParquetSink
from tamis.sinks.reading import read_dead_letters, read_notifications
from tamis.snapshot import Snapshots
from tamis.spark import Reading, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_SECONDS = 300
POLL = timedelta(seconds=0.05)


class Reports:
    """A view that keeps reports, and lets others wait for them."""

    def __init__(self) -> None:
        self.all: list[BatchReport] = []
        self.query: Any = None
        self._changed = threading.Condition()

    def show(self, report: BatchReport) -> None:
        with self._changed:
            self.all.append(report)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is held open."""

    def wait(self, is_enough: Callable[[list[BatchReport]], Any]) -> list[BatchReport]:
        """Wait until the reports are enough."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while not self._changed.wait_for(lambda: is_enough(self.all), 1):
                assert self.query.isActive, self.query.exception()
                assert time.monotonic() < deadline, self.all
            return [*self.all]

    def count(self, number: int) -> list[BatchReport]:
        """Wait for so many reports."""
        return self.wait(lambda reports: len(reports) >= number)


class Run:
    """A folder for events, a checkpoint and what comes out."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.input, self.output, self.checkpoint = folder / "in", folder / "out", folder / "checkpoint"
        self.reports = Reports()
        self._files = 0
        self.input.mkdir()
        (folder / "aside").mkdir()

    def feed(self, *events: dict[str, Any] | bytes) -> None:
        """One more file, which one batch reads."""
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
        aside = self.folder / "aside" / f"{self._files:05d}"
        aside.write_bytes(b"".join(line + b"\n" for line in lines))
        aside.rename(self.input / aside.name)
        self._files += 1

    def events(self) -> DataFrame:
        """The files as a stream, one a batch."""
        return self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.input))

    def start(self, subscriptions: Any, **options: Any) -> Any:
        """Start a query; it goes on for ever unless told otherwise."""
        given: dict[str, Any] = {
            "sink": ParquetSink(folder=self.output),
            "checkpoint": self.checkpoint,
            "reading": Reading(json="value"),
            "poll": POLL,
            "views": [self.reports],
            **options,
        }
        events = given.pop("events", None)
        self.reports.query = stream(self.events() if events is None else events, subscriptions, **given)
        return self.reports.query

    def finish(self, subscriptions: Any, **options: Any) -> list[BatchReport]:
        """Read all that there is; gives the reports of it."""
        before = len(self.reports.all)
        query = self.start(subscriptions, trigger={"availableNow": True}, **options)
        try:
            assert query.awaitTermination(PATIENCE_SECONDS)
        finally:
            query.stop()
        return self.reports.all[before:]

    def snapshots(self) -> Snapshots:
        """Where the versions of the subscriptions are."""
        return Snapshots(self.checkpoint / "tamis" / "snapshot")

    def pairs(self) -> list[tuple[str, str]]:
        """Event and subscription of each notification, sorted."""
        table = read_notifications(self.output)
        return sorted(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))

    def dead(self) -> list[dict[str, Any]]:
        """All dead letters."""
        return list(read_dead_letters(self.output).to_pylist())

    def forget_commit(self, batch: int) -> None:
        """Let Spark forget that a batch is done, as if it had been killed just before it wrote it down."""
        for path in (self.checkpoint / "commits").iterdir():
            if path.name in (str(batch), f".{batch}.crc"):
                path.unlink()


def until(is_so: Callable[[], Any]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)
