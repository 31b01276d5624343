"""Sizing: what a worker takes by the number of subscriptions, and a model fitted to it (`tamis.sizing`).

A point is measured in a process of its own, which opens a published snapshot as a Spark worker would. The model is
fitted to the smaller points, and predicts the largest one, which it has not seen. What Spark takes is measured by
a pass that matches nothing, tasks without events, and a stream. `--write FILE` keeps the coefficients.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import stream
from benchmarks.memory import pages
from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, revision, spread
from benchmarks.scale_changes import ChangePlan, publish_changes, read_log
from benchmarks.shard_work import shard_work
from benchmarks.spark import CORES, passing_task, session
from tamis import EventBatch, Matcher, Statistics
from tamis.events.event_type import EventType
from tamis.formulas.expression import Path as Attribute
from tamis.frames import BatchFrame
from tamis.lab.measuring.cases import PAST_EVENTS, SEED
from tamis.lab.measuring.timing import Times
from tamis.lab.workloads import generate
from tamis.lab.workloads.draws import BLOCK_CONDITIONS
from tamis.lab.workloads.registry import generator
from tamis.report import charts
from tamis.sinks import read_notifications
from tamis.sizing import Coefficients, Demand, WorkloadCoefficients, estimate, fit, segments_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SWEPT: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "sparse": ({"matches": 5.0}, {"matches": 100.0}),
    "ads": ({},),
    "auction": ({"classes": (1.0, 1.0, 1.0)}, {"classes": (1.0, 1.0, 0.0)}),
}
"""Families and their parameters: few matches and many, so that a match has a price of its own."""
SIZES: dict[Size, tuple[int, ...]] = {
    "smallest": (1_000, 2_000, 4_000),
    "quick": (2_000, 6_000, 20_000),
    "full": (10_000, 30_000, 100_000, 300_000, 1_000_000),
}
VALIDATED: dict[Size, int] = {"smallest": 8_000, "quick": 60_000, "full": 10_000_000}
EVENTS: dict[Size, int] = {"smallest": 256, "quick": 4_096, "full": 16_384}
ROUNDS: dict[Size, int] = {"smallest": 1, "quick": 3, "full": 5}
SHARDED: dict[Size, int] = {"smallest": 1_000, "quick": 6_000, "full": 100_000}
_ERROR = 0.3
_TASKS = 512
_BATCH_ROWS = 8_192
_STATM = Path("/proc/self/statm")
_PAGE_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Point:
    """One number of subscriptions of one family.

    Attributes:
        subscriptions: How many.
        matches: Of an event.
        microseconds: Of the processor for an event, a number a round.
        open_seconds: That opening the snapshot took.
        mapped_bytes: Of the snapshot in the address space; processes of one machine share them.
        resident_bytes: Of those in memory after matching.
        private_bytes: In memory besides.
    """

    subscriptions: int
    matches: float
    microseconds: tuple[float, ...]
    open_seconds: float
    mapped_bytes: int
    resident_bytes: int
    private_bytes: int


def run(
    size: Size, families: Sequence[str] = (), write: Path | None = None, validated: int | None = None
) -> Report:
    """Measure, fit, predict.

    Args:
        size: How much is measured; bars are judged at full size only.
        families: Of workloads; all of `SWEPT` by default.
        write: The file that keeps the coefficients.
        validated: Subscriptions that are predicted and then measured; 0 for none.
    """
    figures: Figures = {}
    bars: dict[str, Bar] = {}
    drawings: list[str] = []
    known: dict[str, WorkloadCoefficients] = {}
    largest = VALIDATED[size] if validated is None else validated
    with tempfile.TemporaryDirectory(prefix="tamis-sizing-") as place:
        for family in families or [*SWEPT][: 1 if size == "smallest" else None]:
            points = _points(family, size, Path(place), figures, drawings)
            known[family] = _coefficients(family, points, size, Path(place), largest, figures, bars)
        with session(_progress) as spark:
            found = _common(spark, size, Path(place), known, figures)
    if write is not None:
        found.write(write)
    for name, each in known.items():
        goal = estimate(Demand(100e6, 1e6), found, each)
        figures[f"{name}: cores for 100000000 subscriptions and 1000000 events/s"] = number(goal.cores)
    judged = size == "full" and largest == VALIDATED[size]
    figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    for title, value in figures.items():
        print(f"{title}: {value}")
    report = Report("sizing", figures, bars, judged, tuple(drawings))
    print_bars(report)
    return report


def _progress(what: str) -> None:
    print(f"[load {os.getloadavg()[0]:.1f}] sizing: {what}", file=sys.stderr, flush=True)


def _points(
    family: str, size: Size, folder: Path, figures: Figures, drawings: list[str]
) -> list[tuple[Mapping[str, Any], Point]]:
    found: list[tuple[Mapping[str, Any], Point]] = []
    for parameters in SWEPT[family]:
        label = " ".join([family, *(str(value) for value in parameters.values())])
        for subscriptions in SIZES[size]:
            _progress(f"{label}, {subscriptions} subscriptions")
            point = _point(family, parameters, subscriptions, size, folder / "point", 1)
            found.append((parameters, point))
            _record(f"{label}, {subscriptions} subscriptions", point, figures)
        own = [point for other, point in found if other is parameters]
        line = [(float(point.subscriptions), median(point.microseconds)) for point in own]
        drawings.append(charts.lines(f"sizing: {label}", "us/event", {"one core": line}))
    return found


def _point(
    family: str, parameters: Mapping[str, Any], subscriptions: int, size: Size, folder: Path, segments: int
) -> Point:
    events = EVENTS[size]
    made = generator(family, subscriptions=subscriptions, events=PAST_EVENTS + events, seed=SEED, **parameters)
    event_type = made.plan.event_type
    seen = pa.concat_tables([made.events(block) for block in range(made.event_blocks)])
    matcher = Matcher(event_type, statistics=learned(seen.slice(0, PAST_EVENTS), event_type))
    folder.mkdir()
    try:
        # A segment at a time, so that the others are on disk.
        for first, last in pairwise(subscriptions * part // segments for part in range(segments + 1)):
            blocks = range(first // BLOCK_CONDITIONS, -(-last // BLOCK_CONDITIONS))
            rows = pa.concat_tables([made.conditions(block) for block in blocks])
            matcher.add_many(rows.slice(first - blocks.start * BLOCK_CONDITIONS, last - first))
            matcher.publish(folder / "snapshot")
            matcher = Matcher.open(folder / "snapshot")
        del matcher
        pq.write_table(seen.slice(PAST_EVENTS), folder / "events.parquet")
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(measured, folder, subscriptions, ROUNDS[size]).result()
    finally:
        shutil.rmtree(folder)


def learned(past: pa.Table, event_type: EventType) -> Statistics:
    """What past events tell."""
    found = Statistics()
    attributes = [Attribute((each.name,), each.type) for each in event_type.attributes or ()]
    found.survey(BatchFrame(EventBatch.of(past, event_type)), attributes, past.num_rows)
    return found


def measured(folder: Path, subscriptions: int, rounds: int) -> Point:
    """In a process of its own: open, match, tell."""
    snapshot = (folder / "snapshot").resolve()
    events = pq.read_table(folder / "events.parquet").combine_chunks()
    Matcher().match_batch(events.slice(0, 1))
    start = time.perf_counter()
    matcher = Matcher.open(snapshot)
    opened = time.perf_counter() - start
    batches = events.to_batches(_BATCH_ROWS)
    matcher.match_batch(batches[0], sort=None)  # kernels are loaded by the first match
    times, pairs = Times(), 0
    for _ in range(rounds):
        with times.taken():
            pairs = sum(matcher.match_batch(batch, sort=None).num_rows for batch in batches)
    size, resident = pages(snapshot)
    everything = int(_STATM.read_text().split()[1]) * _PAGE_BYTES
    each = tuple(seconds / events.num_rows * 1e6 for seconds in times.cpu)
    return Point(subscriptions, pairs / events.num_rows, each, opened, size, resident, everything - resident)


def _record(name: str, point: Point, figures: Figures) -> None:
    values = {
        "us/event": spread(point.microseconds),
        "matches an event": number(point.matches),
        "opening, ms": number(point.open_seconds * 1e3),
        "mapped, bytes/subscription": number(point.mapped_bytes / point.subscriptions),
        "of those in memory, bytes/subscription": number(point.resident_bytes / point.subscriptions),
        "other memory of the worker, MB": number(point.private_bytes / 1e6),
    }
    figures.update({f"{name}: {title}": value for title, value in values.items()})


def _coefficients(
    family: str,
    points: Sequence[tuple[Mapping[str, Any], Point]],
    size: Size,
    folder: Path,
    validated: int,
    figures: Figures,
    bars: dict[str, Bar],
) -> WorkloadCoefficients:
    """The model of a family, and how far off it is for a number of subscriptions that it has not seen."""
    model = fit([(point.subscriptions, point.matches, median(point.microseconds)) for _, point in points])
    parameters = points[0][0]
    largest = max((point for other, point in points if other is parameters), key=lambda each: each.subscriptions)
    _progress(f"{family}, shards")
    data = generate(
        family, subscriptions=SHARDED[size], events=PAST_EVENTS + EVENTS[size], seed=SEED, **parameters
    )
    work = shard_work(data, folder / "shards", 16)
    figures[f"{family}: hottest of 16 routed shards, work against the mean"] = number(work.hottest)
    figures[f"{family}: visits of an event to 16 routed shards"] = number(work.visits)
    error = None
    if validated:
        _progress(f"{family}, {validated} subscriptions, to compare with the prediction")
        seen = _point(family, parameters, validated, size, folder / "point", segments_of(validated))
        _record(f"{family}, {validated} subscriptions", seen, figures)
        predicted = model.microseconds(validated, seen.matches, segments_of(validated))
        error = predicted / median(seen.microseconds) - 1.0
        figures[f"{family}: predicted for {validated} subscriptions, us/event"] = number(predicted)
        figures[f"{family}: error of the prediction"] = f"{error:+.1%}"
        memory = largest.resident_bytes / largest.subscriptions / (seen.resident_bytes / validated) - 1.0
        figures[f"{family}: error of the prediction of resident bytes"] = f"{memory:+.1%}"
        bars[f"{family}: error of the prediction for {validated} subscriptions"] = Bar(
            abs(error), _ERROR, at_most=True
        )
    search = f"{model.a:.3g} + {model.b:.3g} N^{model.c:.2f}"
    figures[f"{family}: model, us/event"] = f"{search} in each segment + {model.d:.3g} matches"
    figures[f"{family}: greatest residual"] = f"{max(map(abs, model.residuals)):.1%} of {len(points)} points"
    return WorkloadCoefficients(
        model,
        largest.matches,
        largest.subscriptions,
        largest.mapped_bytes / largest.subscriptions,
        largest.resident_bytes / largest.subscriptions,
        float(largest.private_bytes),
        data.events.nbytes / data.events.num_rows,
        work.hottest,
        work.visits,
        error,
        validated or None,
    )


def _common(
    spark: SparkSession, size: Size, folder: Path, known: Mapping[str, WorkloadCoefficients], figures: Figures
) -> Coefficients:
    """What does not depend on the kind of subscriptions."""
    outcome, scale = stream.Outcome(), stream.SCALES["quick" if size == "full" else "smallest"]
    idle = stream.idle(spark, folder / "idle", scale, outcome)
    events, batches = scale.contests[0]
    seconds = stream.contest(spark, folder / "contest", (scale.subscriptions, events, batches), outcome)
    notification = stream.shares(folder / "contest", (events, seconds), outcome)
    written = folder / "contest" / stream.WORKERS
    rows = max(1, read_notifications(written).num_rows)
    stored = sum(file.stat().st_size for file in written.rglob("*.parquet"))
    empty = [_seconds_of_tasks(spark, tasks) for tasks in (CORES, _TASKS)]
    versions = _publishing(folder)
    found = Coefficients(
        measured=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=_machine(),
        spark_us=_spark_microseconds(spark, size, folder),
        notification_us=notification,
        notification_bytes=stored / rows,
        batch_seconds=idle,
        driver_task_ms=max(0.0, empty[1] - empty[0]) / (_TASKS - CORES) * 1e3,
        publish_seconds=versions[0],
        version_bytes=versions[1],
        workloads=known,
    )
    for name in ("spark_us", "notification_us", "notification_bytes", "batch_seconds", "driver_task_ms"):
        figures[name.replace("_", " ")] = number(getattr(found, name))
    figures |= {"publish seconds": number(versions[0]), "version bytes": number(versions[1])}
    figures["machine"] = found.machine
    return found


def _machine() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    load = f"load {os.getloadavg()[0]:.1f}"
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {load}, revision {revision()}"


def _spark_microseconds(spark: SparkSession, size: Size, folder: Path) -> float:
    """Of a core for an event, in a pass from Parquet to Parquet that matches nothing."""
    data = generate("ranges", subscriptions=0, events={"full": 500_000, "quick": 100_000}.get(size, 2_000))
    pq.write_table(data.events, folder / "pass.parquet", row_group_size=-(-data.events.num_rows // 8))
    task = passing_task("id", 1.0)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        read = spark.read.parquet(str(folder / "pass.parquet")).repartition(CORES)
        passed = read.mapInArrow(task, "event_id string, subscription_id string")
        passed.write.mode("overwrite").parquet(str(folder / "passed"))
        seconds.append(time.perf_counter() - start)
    return float(CORES * min(seconds[1:]) / data.events.num_rows * 1e6)


def _seconds_of_tasks(spark: SparkSession, tasks: int) -> float:
    """Of a job of tasks without work or Python; in one process, so what executors do is in it, too."""
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        spark.range(tasks, numPartitions=tasks).count()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def _publishing(folder: Path) -> tuple[float, float]:
    """Seconds and bytes of a version with some changes."""
    data = generate("sparse", subscriptions=2_000, events=1, seed=SEED)
    matcher = Matcher(data.event_type)
    matcher.add_many(pa.table({"id": data.ids, "condition": data.conditions}))
    matcher.publish(folder / "changing")
    plan = ChangePlan(str(folder / "changing"), "sparse", 2_000, 200.0, 3.0, str(folder / "changes.jsonl"))
    publish_changes(plan)
    _, published = read_log(Path(plan.log))
    return median(each.seconds for each in published), median(float(each.written_bytes) for each in published)
