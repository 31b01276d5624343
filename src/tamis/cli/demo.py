"""`tamis demo`: streaming matching from end to end, on generated auctions.

The clock runs for the micro-batches after the warm-up only, and every one of them is matched with a newer version
of the subscriptions than the one before: subscriptions change after each batch, and are published before the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.cli.output import Screen
    from tamis.lab.workloads import Workload
    from tamis.progress import BatchReport, ReportView
    from tamis.store import Store

_BATCHES = 20
_WARM_UP_BATCHES = 2
"""In the first one Python workers start and load kernels; Java compiles what it runs until the second."""
_CORES = 2
_SEED = 2026
_OF_THOUSAND = 2, 1
"""Subscriptions that are added and removed after each batch, of a thousand at first."""


def demo(
    subscriptions: Annotated[
        int, typer.Option("--subscriptions", metavar="N", min=100, help="Number of subscriptions at first.")
    ] = 100_000,
    events: Annotated[int, typer.Option("--events", metavar="N", min=100, help="Number of events.")] = 200_000,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="The folder for all files; it must be new or empty.")
    ] = Path("tamis-demo"),
    json: Json = False,
) -> None:
    """Match generated auctions in a stream on embedded Spark, while subscriptions are added and removed.

    Creates a store of subscriptions and files of events in the folder, matches the events in micro-batches, writes
    the notifications exactly once to a Delta table, measures Spark alone on a small part of the same, prints a
    summary and writes a report as an HTML page.

    \b
    Examples:
      tamis demo
      tamis demo --subscriptions 1000000 --events 50000 --folder /tmp/auctions

    Exit code 1 if Spark alone finds other pairs, 2 if the folder is not empty, or Java is not found.
    """
    from tamis.cli.demo_plain_spark import PairsDiffer
    from tamis.cli.output import fail, note, printing_errors

    with printing_errors():
        if folder.exists() and any(folder.iterdir()):
            fail(f"{folder} is not empty: remove it, or give another --folder")
        try:
            _run_demo(subscriptions, events, folder, as_json=json)
        except PairsDiffer as error:
            note(f"tamis: error: {error}")
            raise typer.Exit(1) from error


def compile_generator() -> None:
    """Compile the kernels that make the workload, which `tamis warm` does in advance."""
    from tamis.lab.workloads import generate

    generate("auction", subscriptions=100, events=100)


def _run_demo(subscriptions: int, events: int, folder: Path, *, as_json: bool) -> None:
    from tamis.cli.demo_plain_spark import compare_with_plain_spark
    from tamis.cli.demo_report import DemoRun, summarise
    from tamis.cli.output import Screen
    from tamis.cli.progress import progress_view
    from tamis.lab.workloads import generate
    from tamis.sinks.reading import read_notifications
    from tamis.store import Publisher, Store

    stages = Stages(Screen(stderr=True))
    with _spark_in_background() as starting:
        with stages.stage("generate", f"generating {subscriptions:,} subscriptions and {events:,} events"):
            more = _BATCHES * _changes_of(subscriptions)[0]
            workload = generate("auction", subscriptions=subscriptions + more, events=events, seed=_SEED)
            _write_events(workload, folder / "events")
        with Store.open(folder / "subscriptions.db") as store:
            with stages.stage("store", "checking and storing subscriptions"):
                store.set_event_type(workload.event_type)
                _import(store, workload, 0, subscriptions)
            with stages.stage("index and publish", "indexing and publishing subscriptions"):
                Publisher(store, folder / "checkpoint" / "tamis" / "snapshot").sync()
            with stages.stage("wait for Spark", "waiting for Spark"):
                spark = starting.result()
            changes = Changes(store, workload, subscriptions)
            began = datetime.now(UTC)
            with stages.stage("stream"):
                reports = _stream(spark, changes, workload, folder, progress_view(json=as_json))
            warm_up, measured = reports[:_WARM_UP_BATCHES], reports[_WARM_UP_BATCHES:]
            stages.split("stream", {"warm up": (measured[0].at - began).total_seconds()}, "measured batches")
            with stages.stage("plain Spark", "measuring Spark alone on a small part"):
                found = read_notifications(folder / "notifications")
                lasting = range(changes.removed, subscriptions)
                plain = compare_with_plain_spark(spark, workload, lasting, found)
    run = DemoRun(workload, warm_up, measured, changes.existing, changes.added, changes.removed, found, plain)
    summarise(run, stages.seconds, folder, as_json=as_json)


class Stages:
    """The stages of the run: a line or a spinner while one goes on, and how long it took.

    Attributes:
        seconds: By name, in their order; together they are the whole run.
    """

    def __init__(self, screen: Screen) -> None:
        self.seconds: dict[str, float] = {}
        self._screen = screen

    @contextmanager
    def stage(self, name: str, text: str | None = None) -> Iterator[None]:
        """Time a stage; with a text it shows that."""
        from tamis.numerals import duration_text

        start = time.perf_counter()
        if text is None:
            yield
        elif self._screen.is_terminal:
            with self._screen.status(text):
                yield
            self._screen.say(f"{text}: {duration_text(time.perf_counter() - start)}", style="dim")
        else:
            self._screen.say(text)
            yield
        self.seconds[name] = time.perf_counter() - start

    def split(self, name: str, parts: dict[str, float], rest: str) -> None:
        """Replace the last stage by its parts, and one with the rest of its time."""
        left = self.seconds.pop(name) - sum(parts.values())
        self.seconds |= {**parts, rest: left}


@contextmanager
def _spark_in_background() -> Iterator[Future[SparkSession]]:
    """Spark, which starts while the caller prepares other things, and is stopped in the end."""
    from tamis.spark.session import installed_java, session

    installed_java()  # what is missing is said before anything is made
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(session, "tamis demo", f"local[{_CORES}]", {"spark.ui.enabled": "false"})
        try:
            yield starting
        finally:
            if starting.exception() is None:
                starting.result().stop()


def _write_events(workload: Workload, folder: Path) -> None:
    """Write the events as JSON lines, in files of about equal length: for each batch one a core."""
    from tamis.lab.workloads.files import event_lines

    folder.mkdir(parents=True)
    rows = workload.events.num_rows
    step = -(-rows // (_BATCHES * _CORES))
    for number, start in enumerate(range(0, rows, step)):
        with (folder / f"{number:03}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(event_lines(workload.events.slice(start, step)))


def _import(store: Store, workload: Workload, first: int, count: int) -> None:
    import pyarrow as pa

    ids, conditions = workload.ids.slice(first, count), workload.conditions.slice(first, count)
    types = pa.repeat(pa.scalar(workload.event_type.name), len(ids))
    store.add_many(pa.table({"id": ids, "condition": conditions, "event_type": types}))


def _changes_of(subscriptions: int) -> tuple[int, int]:
    """How many subscriptions are added and removed after each batch, if there are so many at first."""
    added, removed = _OF_THOUSAND
    return added * max(1, subscriptions // 1_000), removed * max(1, subscriptions // 1_000)


class Changes:
    """A view that adds and removes subscriptions when a batch is done, unless it was the last one.

    It does so before the next batch may begin, which publishes them: so each batch sees another version.

    Attributes:
        store: The subscriptions.
        existing: The number of subscriptions that each batch sees.
        added: How many were added since the start.
        removed: How many were removed, the oldest first.
    """

    def __init__(self, store: Store, workload: Workload, subscriptions: int) -> None:
        self.store = store
        self.existing = [subscriptions]
        self.added = self.removed = 0
        self._workload = workload
        self._at_first = subscriptions

    def show(self, report: BatchReport) -> None:
        """A batch is done."""
        if report.backlog == 0:
            return
        added, removed = _changes_of(self._at_first)
        _import(self.store, self._workload, self._at_first + self.added, added)
        self.store.remove_many(self._workload.ids.slice(self.removed, removed).to_pylist())
        self.added, self.removed = self.added + added, self.removed + removed
        self.existing.append(self._at_first + self.added - self.removed)

    def close(self) -> None:
        """Do nothing: the store is the caller's."""


def _stream(spark: Any, changes: Changes, workload: Workload, folder: Path, view: ReportView) -> list[BatchReport]:
    """Run the query to its end; gives the reports of its batches."""
    from tamis.progress import History
    from tamis.sinks.delta import DeltaSink
    from tamis.spark import Reading, stream

    try:
        query = stream(
            spark.readStream.option("maxFilesPerTrigger", _CORES).text(str(folder / "events")),
            changes.store,
            DeltaSink(folder=folder / "notifications"),
            checkpoint=folder / "checkpoint",
            reading=Reading(json="value"),
            trigger={"availableNow": True},
            fresh=True,
            views=[view, changes],
            backlog=lambda seen: workload.events.num_rows - seen,
            name="tamis demo",
        )
        query.awaitTermination()
    finally:
        view.close()
    return History(folder / "checkpoint" / "tamis" / "progress.jsonl").read()
