"""Spark: `tamis.spark.match` against the engine on two processes, a pass that matches nothing, and plain Spark.

All read the same Parquet and write Parquet, on two cores, with everything started, opened and warm. Pairs are
compared before any time is told. Contestants take turns; what they are compared by is time on the wall, because a
pass through Spark is the work of several processes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks import plain_spark
from benchmarks.processes import Processes
from benchmarks.report import Bar, Figures, Report, Size, interleaved, number, print_bars, spread
from benchmarks.spark_data import EVENT_ID, FAMILY, Data, Keys, check, data_of, first_of, keys_of
from tamis.report import charts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES = 2
JUDGED_EVENTS = 500_000
OVERHEAD_SUBSCRIPTIONS = 100_000
"""Where Spark's share of the time and plain Spark are judged."""
MANY_SUBSCRIPTIONS = 1_000_000
"""Where Spark is judged against the engine without it."""
_OVERHEAD, _SHARE, _TIMES = 1.25, 0.5, 100.0
ALONE, SPARK, NOTHING = "two processes", "Spark", "no-op pass"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: A contest each.
        events: Of a contest.
        rounds: In which contestants take turns.
        plain_seconds: That plain Spark may take for one run.
        plain_sizes: Subscriptions that are tried as expressions.
    """

    subscriptions: tuple[int, ...]
    events: int
    rounds: int
    plain_seconds: float
    plain_sizes: tuple[int, ...]


SCALES: dict[Size, Scale] = {
    "smallest": Scale((300,), 2_000, 1, 0.0, (16,)),
    "quick": Scale((20_000,), 100_000, 3, 4.0, (32, 128, 512)),
    "full": Scale((100_000, 1_000_000), JUDGED_EVENTS, 5, 20.0, (16, 64, 256)),
}


@dataclass(slots=True)
class _Outcome:
    """What is gathered while the benchmark runs."""

    figures: Figures = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    drawings: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)

    def progress(self, what: str) -> None:
        """Tell what goes on, to whoever waits."""
        print(f"[{time.perf_counter() - self.started:6.0f} s] {what}", file=sys.stderr, flush=True)

    def tell(self, title: str, value: str) -> None:
        """A figure, for the last line and for people."""
        self.figures[title] = value
        print(f"{title}: {value}")


def run(size: Size, subscriptions: int | None = None, events: int | None = None) -> Report:
    """Measure.

    Args:
        size: How much; bars are judged at full size only.
        subscriptions: Of the one contest, instead of what goes with the size.
        events: Of a contest, instead of what goes with the size.
    """
    scale = SCALES[size]
    outcome = _Outcome()
    sizes = scale.subscriptions if subscriptions is None else (subscriptions,)
    count = scale.events if events is None else events
    with tempfile.TemporaryDirectory(prefix="tamis-spark-") as folder, Processes(CORES) as processes:
        with session(outcome.progress) as spark:
            for place, each in enumerate(sizes):
                outcome.progress(f"generating and publishing {each} subscriptions, {count} events")
                data = data_of(each, count, Path(folder) / f"contest-{each}")
                reference = _contest(spark, processes, data, scale, outcome)
                if place == 0:
                    _plain(spark, data, reference, scale, outcome)
    judged = size == "full" and count == JUDGED_EVENTS and set(sizes) <= set(scale.subscriptions)
    outcome.figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    report = Report("spark", outcome.figures, outcome.bars, judged, tuple(outcome.drawings))
    print_bars(report)
    return report


def passing_task(event_id: str, pairs: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that gives so many rows for each event without matching, which measures Spark itself.

    It is a closure, so that workers get its code, and need not import this module.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tamis.spark.event_tables import regroup

        for events in regroup(batches):
            rows = np.sort(np.arange(round(pairs * events.num_rows)) % events.num_rows)
            taken = events[event_id].combine_chunks().take(pa.array(rows))
            ids = pa.array(rows).cast(pa.string())
            yield from pa.table({"event_id": taken, "subscription_id": ids}).combine_chunks().to_batches()

    return task


def _contest(spark: SparkSession, processes: Processes, data: Data, scale: Scale, outcome: _Outcome) -> Keys:
    """The engine alone, in Spark, and Spark alone; gives the pairs."""
    from tamis import Matcher
    from tamis.spark import match

    files = data.event_files()
    outs = {name: data.folder / name.replace(" ", "-") for name in (ALONE, SPARK, NOTHING)}
    read = spark.read.parquet(str(files))
    needed = [name for name in read.columns if name in Matcher.open(data.snapshot).attributes() | {EVENT_ID}]
    engine: list[float] = []

    def alone() -> None:
        engine.append(processes.match(data.snapshot, files, outs[ALONE]))

    def in_spark() -> None:
        pairs = match(spark.read.parquet(str(files)), str(data.snapshot), event_id=EVENT_ID)
        pairs.write.mode("overwrite").parquet(str(outs[SPARK]))

    outcome.progress("warming up, comparing pairs")
    for _ in range(2):
        alone()
        in_spark()
    reference = keys_of(outs[ALONE])
    check(SPARK, keys_of(outs[SPARK]), reference, lambda slot: str(data.workload.conditions[slot]))
    task = passing_task(EVENT_ID, len(reference) / data.events)

    def nothing() -> None:
        passed = (
            spark.read.parquet(str(files))
            .select(*needed)
            .mapInArrow(task, "event_id string, subscription_id string")
        )
        passed.write.mode("overwrite").parquet(str(outs[NOTHING]))

    nothing()
    outcome.progress(f"{scale.rounds} rounds")
    engine.clear()
    seconds = interleaved({ALONE: alone, SPARK: in_spark, NOTHING: nothing}, scale.rounds)
    _tell_contest(data, len(reference), seconds, engine, outcome)
    return reference


def _tell_contest(
    data: Data, pairs: int, seconds: dict[str, list[float]], engine: list[float], outcome: _Outcome
) -> None:
    label = f"{data.subscriptions} subscriptions"
    family = " ".join(map(str, FAMILY.values()))
    print(f"\n{family}: {label}, {data.events} events, {CORES} cores; {ALONE} and {SPARK} find the same pairs")
    print(f"median (least-greatest) of {len(engine)} rounds")
    outcome.tell(f"{label}: matches an event", number(pairs / data.events))
    for name, times in {**seconds, "engine's own time": engine}.items():
        outcome.tell(f"{label}: {name}, s", spread(times))
        outcome.tell(f"{label}: {name}, events/s", spread([data.events / each for each in times]))
    overheads = [
        spark / (nothing + own)
        for spark, nothing, own in zip(seconds[SPARK], seconds[NOTHING], engine, strict=True)
    ]
    shares = [alone / spark for alone, spark in zip(seconds[ALONE], seconds[SPARK], strict=True)]
    overhead = f"{label}: time of Spark against the no-op pass plus the engine's own time"
    share = f"{label}: speed of Spark against two processes"
    outcome.tell(overhead, spread(overheads))
    outcome.tell(share, spread(shares))
    if data.subscriptions != MANY_SUBSCRIPTIONS:
        outcome.bars[overhead] = Bar(round(median(overheads), 3), _OVERHEAD, at_most=True)
    if data.subscriptions != OVERHEAD_SUBSCRIPTIONS:
        outcome.bars[share] = Bar(round(median(shares), 3), _SHARE)
    outcome.figures[f"{label}: {SPARK}, products/s"] = data.subscriptions * data.events / median(seconds[SPARK])
    groups = {label: {name: data.events / median(times) for name, times in seconds.items()}}
    outcome.drawings.append(charts.bars(f"{family}, {label}", "events/s", groups))


def _plain(spark: SparkSession, data: Data, reference: Keys, scale: Scale, outcome: _Outcome) -> None:
    """What Spark does without tamis, at sizes that it finishes."""
    sizes = {"cross join": (data.subscriptions,), "expressions": _up_to(scale.plain_sizes, data.subscriptions)}
    runs = {"cross join": plain_spark.cross_join, "expressions": plain_spark.expressions}
    best: dict[str, float] = {}
    for name, contestant in runs.items():
        out = data.folder / name.replace(" ", "-")

        def once(subscriptions: int, events: int) -> None:
            contestant(spark, data, subscriptions, events, out)  # noqa: B023 - called within the turn

        outcome.progress(f"plain Spark, {name}: looking for the largest size")
        found = plain_spark.largest(once, sizes[name], data.events, scale.plain_seconds)
        outcome.progress(f"plain Spark, {name}: {found.subscriptions} subscriptions, {found.events} events")
        once(found.subscriptions, found.events)
        expected = first_of(reference, found.events, found.subscriptions)
        check(name, keys_of(out), expected, lambda slot: str(data.workload.conditions[slot]))
        rounds = min(3, scale.rounds)
        times = interleaved({name: lambda: once(found.subscriptions, found.events)}, rounds)[name]  # noqa: B023
        label = f"{data.subscriptions} subscriptions: plain Spark, {name}"
        outcome.figures[f"{label}: size"] = f"{found.events} events, {found.subscriptions} subscriptions"
        print(f"\n{label}: on the first {found.events} events and {found.subscriptions} subscriptions")
        outcome.tell(f"{label}, s", spread(times))
        products = found.subscriptions * found.events
        outcome.tell(f"{label}, products/s", spread([products / each for each in times]))
        whole = data.subscriptions * data.events / products
        outcome.tell(f"{label}, events/s, extrapolated", spread([data.events / (each * whole) for each in times]))
        best[name] = products / median(times)
    rival = max(best, key=lambda name: best[name])
    ours = float(outcome.figures[f"{data.subscriptions} subscriptions: {SPARK}, products/s"])
    title = f"{data.subscriptions} subscriptions: times as fast as plain Spark at its best, {rival}, extrapolated"
    outcome.bars[title] = Bar(round(ours / best[rival], 1), _TIMES)


def _up_to(sizes: Sequence[int], most: int) -> tuple[int, ...]:
    return tuple(size for size in sizes if size < most) or (most,)


@contextmanager
def session(progress: Callable[[str], None]) -> Iterator[SparkSession]:
    """The session that runs already, or one of our own; `progress` is told what goes on."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    from scripts import java_home

    progress("starting Spark")
    os.environ.update(
        JAVA_HOME=str(java_home.choose(os.environ, install=False)),
        PYSPARK_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    made = (
        SparkSession.builder.master(f"local[{CORES}]")
        .appName("tamis benchmark")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    try:
        yield made
    finally:
        made.stop()
