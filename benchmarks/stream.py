"""Streams: notifications that workers write, against all of them through the driver; and batches without matches.

Both contestants match the same auctions with the same subscriptions, in the same Spark, and their ids are compared
before any time is reported. `driver` is the way of sinks without a task writer: rows go to the driver, which makes
notifications and writes Parquet. `workers` is the sink `delta`. Rates are medians over the micro-batches after the
first two. The contest runs with small and with large micro-batches, because Spark's own part of a batch does not
depend on its size; bars are judged by the large ones.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import stream_cluster, stream_routed
from benchmarks.report import Bar, Figures, Report, Size, interleaved, number, print_bars, spread
from benchmarks.spark import session
from tamis.lab.workloads import Workload, generate
from tamis.lab.workloads.files import event_lines
from tamis.matcher import Matcher
from tamis.matchers import Matchers
from tamis.progress import BatchReport
from tamis.sinks import BatchKey, Committed, Delivery, DeltaSink, ParquetSink, Sink, read_notifications
from tamis.sinks.base import DriverSink
from tamis.spark import Reading, batch_delivery, stream, workers, write_task
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import PART, StreamTask
from tamis.spark.write_task import WriteTask
from tamis.store import Publisher, Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER, WORKERS = "driver", "workers"
_SEED = 2026
_WARM = 2
_STAGES = ("latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets", "triggerExecution")
"""What Spark reports of a batch: looking for events, writing offsets, planning, the batch itself, its commit."""
_CORES = 2
_TIMES, _CPU, _IDLE, _FLAT, _FURTHER_BYTES = 2.5, 0.1, 1.3, 1.5, 1.0
_ROUNDS = 5
CLUSTER_EVENTS: dict[Size, int] = {"smallest": 100, "quick": 2_000, "full": 10_000}
"""Events of a batch on the cluster."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: Of the contest.
        contests: Events of a micro-batch, and the number of batches; the last contest is judged.
        idle: Batches without a match.
        notifications: Of the small and the large batch by which the driver's memory is judged.
    """

    subscriptions: int
    contests: tuple[tuple[int, int], ...]
    idle: int
    notifications: tuple[int, int]


PARTS = ("contest", "idle", "memory", "routed")
"""What is measured by default."""
CLUSTER = "cluster"
"""What is measured beside them: it starts processes of its own."""

SCALES: dict[Size, Scale] = {
    "smallest": Scale(300, ((100, 3),), 3, (200, 1_000)),
    "quick": Scale(20_000, ((5_000, 8),), 10, (20_000, 200_000)),
    "full": Scale(100_000, ((10_000, 20), (40_000, 10), (100_000, 8)), 40, (100_000, 5_000_000)),
}


class ThroughDriver(DriverSink):
    """A Parquet sink that is given all rows by the driver."""

    name: ClassVar[str] = "through the driver"
    exactly_once: ClassVar[bool] = True

    def __init__(self, folder: Path) -> None:
        self._sink = ParquetSink(folder=folder)

    def commit(self, delivery: Delivery) -> Committed:
        return self._sink.commit(delivery)

    def check(self) -> None:
        self._sink.check()

    def describe(self) -> str:
        return self.name

    def close(self) -> None:
        self._sink.close()


@dataclass(slots=True)
class Outcome:
    """What is gathered while the benchmark runs."""

    figures: Figures = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def progress(self, what: str) -> None:
        print(f"[{time.perf_counter() - self.started:6.0f} s] {what}", file=sys.stderr, flush=True)

    def tell(self, title: str, value: str) -> None:
        self.figures[title] = value
        print(f"{title}: {value}")

    def judge(self, title: str, bar: Bar) -> None:
        self.bars[title] = bar


def run(size: Size, parts: Sequence[str] = ()) -> Report:
    """Measure; bars are judged at full size only.

    Args:
        size: How much.
        parts: Of `PARTS` and `CLUSTER`; all of `PARTS` by default.
    """
    if unknown := sorted({*parts} - {*PARTS, CLUSTER}):
        msg = f"there is no part {', '.join(unknown)}; parts are {', '.join([*PARTS, CLUSTER])}"
        raise SystemExit(msg)
    scale, outcome, chosen = SCALES[size], Outcome(), parts or PARTS
    with tempfile.TemporaryDirectory(prefix="tamis-stream-") as folder:
        place = Path(folder)
        if {*chosen} & {*PARTS}:
            with session(outcome.progress) as spark:
                _in_session(spark, place, scale, chosen, outcome)
        if CLUSTER in chosen:
            _on_a_cluster(place / CLUSTER, size, outcome)
    unjudged = "not judged: this is not the size that they are set for"
    outcome.figures["bars"] = "judged" if size == "full" else unjudged
    report = Report("stream", outcome.figures, outcome.bars, judged=size == "full")
    print_bars(report)
    return report


def _in_session(spark: SparkSession, place: Path, scale: Scale, parts: Sequence[str], outcome: Outcome) -> None:
    if "contest" in parts:
        for events, batches in scale.contests:
            folder = place / f"contest {events}"
            seconds = contest(spark, folder, (scale.subscriptions, events, batches), outcome)
            shares(folder, (events, seconds), outcome)
    if "idle" in parts:
        idle(spark, place / "idle", scale, outcome)
    if "memory" in parts:
        _memory(spark, place / "memory", scale, outcome)
    if "routed" in parts:
        _routed(spark, place / "routed", scale, outcome)


# --- rates -----------------------------------------------------------------------------------------------------


def contest(spark: SparkSession, folder: Path, size: tuple[int, int, int], outcome: Outcome) -> float:
    """Match the same events on both ways; `size` is subscriptions, events of a batch, and batches.

    Gives the median seconds of a batch whose notifications workers write.
    """
    subscriptions, events, batches = size
    outcome.progress(f"{subscriptions} subscriptions, {batches} batches of {events} events")
    workload = generate("auction", subscriptions=subscriptions, events=events * batches, seed=_SEED)
    _write_events(workload, folder / "events", batches)
    with Store.open(_database(folder)) as store:
        store.set_event_type(workload.event_type)
        types = pa.repeat(pa.scalar(workload.event_type.name), len(workload.ids))
        store.add_many(pa.table({"id": workload.ids, "condition": workload.conditions, "event_type": types}))
        Publisher(store, folder / "snapshot").sync()
        sinks: dict[str, Sink] = {
            DRIVER: ThroughDriver(folder / DRIVER),
            WORKERS: DeltaSink(folder=folder / WORKERS),
        }
        runs = {name: _stream(spark, store, sink, folder, name, 2) for name, sink in sinks.items()}
    found = {name: sorted(read_notifications(folder / name)["id"].to_pylist()) for name in runs}
    if found[DRIVER] != found[WORKERS]:
        msg = f"{len(found[DRIVER])} notifications through the driver, other {len(found[WORKERS])} from workers"
        raise AssertionError(msg)
    matches = len(found[DRIVER]) / workload.events.num_rows
    print(f"\nboth give the same {len(found[DRIVER])} notifications; median (least-greatest) of batches")
    title = f"batches of {events}"
    outcome.tell(f"{title}: notifications an event", number(matches))
    rates, processor = {}, {}
    for name, measured in runs.items():
        rates[name] = [each.events_per_second for each in measured.reports[_WARM:]]
        outcome.tell(f"{title}: {name}: events/s", spread(rates[name]))
        processor[name] = measured.driver_seconds_a_notification() * 1e6
        outcome.tell(f"{title}: {name}: CPU of the driver's Python, us a notification", number(processor[name]))
        outcome.tell(f"{title}: {name}: bytes to the driver, a batch", number(median(measured.result_bytes)))
    # The larger contest comes last, and is the one that is judged.
    gain, share = median(rates[WORKERS]) / median(rates[DRIVER]), processor[WORKERS] / processor[DRIVER]
    outcome.tell(f"{title}: events/s, workers against driver", number(gain))
    outcome.tell(f"{title}: CPU of the driver, workers against driver", number(share))
    outcome.judge("events/s, workers against driver", Bar(gain, _TIMES))
    outcome.judge("CPU of the driver, workers against driver", Bar(share, _CPU, at_most=True))
    return events / median(rates[WORKERS])


@dataclass(slots=True)
class Run:
    """What was measured of a stream.

    Attributes:
        reports: Of its batches.
        driver_seconds: The processor time of this process at the end of each batch.
        result_bytes: What tasks sent to the driver, for each batch.
        memory: By how many bytes the resident memory of this process grew while tasks' results were there.
        progress: What Spark reported of each batch with events.
    """

    reports: list[BatchReport] = field(default_factory=list)
    driver_seconds: list[float] = field(default_factory=list)
    result_bytes: list[int] = field(default_factory=list)
    memory: int = 0
    progress: list[Any] = field(default_factory=list)

    def show(self, report: BatchReport) -> None:
        self.reports.append(report)
        self.driver_seconds.append(time.process_time())

    def driver_seconds_a_notification(self) -> float:
        """Of the batches after the first ones, in which the driver opens and starts what it needs once."""
        notifications = sum(report.notifications for report in self.reports[_WARM:])
        return (self.driver_seconds[-1] - self.driver_seconds[_WARM - 1]) / max(1, notifications)

    def close(self) -> None:
        """Nothing is held open."""


def _stream(
    spark: SparkSession, store: Any, sink: Sink, folder: Path, name: str, files: int, **options: Any
) -> Run:
    measured = Run()
    before = resident_bytes()
    with _watch_results(measured):
        query = stream(
            spark.readStream.option("maxFilesPerTrigger", files).text(str(folder / "events")),
            store,
            sink,
            checkpoint=folder / f"checkpoint {name}",
            reading=Reading(json="value"),
            trigger={"availableNow": True},
            views=[measured],
            **options,
        )
        query.awaitTermination()
    measured.memory = max(0, measured.memory - before)
    measured.progress = [each for each in query.recentProgress if each["numInputRows"]]
    sink.close()
    return measured


@contextmanager
def _watch_results(measured: Run) -> Iterator[None]:
    """Note what `toArrow` gives to the driver."""
    original = workers.map_in_workers

    class Watched:
        def __init__(self, frame: Any) -> None:
            self._frame = frame

        def __getattr__(self, name: str) -> Any:
            return getattr(self._frame, name)

        def toArrow(self) -> pa.Table:
            found = self._frame.toArrow()
            measured.result_bytes.append(found.nbytes)
            measured.memory = max(measured.memory, resident_bytes())
            return found

    setattr(batch_delivery, "map_in_workers", lambda *args: Watched(original(*args)))  # noqa: B010
    try:
        yield
    finally:
        setattr(batch_delivery, "map_in_workers", original)  # noqa: B010


def resident_bytes() -> int:
    """What this process has in memory, whoever allocated it."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


# --- where the time of a batch goes ----------------------------------------------------------------------------


def shares(folder: Path, batch: tuple[int, float], outcome: Outcome) -> float:
    """The shares of a batch's time on all cores; `batch` is its number of events, and its seconds.

    The stages of a task are measured in this process, without Spark: on events that were matched before, in one
    table. What they and the commit leave of a batch is Spark's, or idle.
    Gives the microseconds of a core to make and write a notification.
    """
    lines = [line for file in sorted((folder / "events").iterdir()) for line in file.read_text().splitlines()]
    table = pa.table({"value": lines[:20_000]})
    sink = DeltaSink(folder=folder / "shares")
    key = BatchKey("shares", 0, datetime.now(UTC), 1)
    version = Matchers.open(folder / "snapshot").only
    reading = Reading(json="value", event_type=version.event_type.name)
    writer = sink.task_writer(key)
    task = WriteTask(StreamTask((SnapshotRef(str(folder / "snapshot"), 1),), reading), writer, key)
    seconds: dict[str, float] = {}
    with (
        _timed(StreamTask, "_match", "reading and matching", seconds),
        _timed(Reading, "_read_json", "reading", seconds, list),  # its texts are scanned as it is asked
        _timed(Reading, "check_events", "reading", seconds),
        _timed(write_task, "make_notifications", "making ids and rows", seconds),
        _timed(type(writer.open(0, 0)), "add", "writing", seconds),
        _timed(type(writer.open(0, 0)), "finish", "writing", seconds),
    ):
        for _ in range(2):  # the first one opens the snapshot
            seconds.clear()
            start = time.process_time()
            found = [*task(iter(table.to_batches()))]
            whole = time.process_time() - start
    start = time.perf_counter()
    rows = pa.Table.from_batches(found)
    sink.publish(key, write_task.parts_in(rows.filter(pc.equal(rows["row_kind"], PART))))
    commit = time.perf_counter() - start
    events, batch_seconds = batch
    title, cores = f"batches of {events}", batch_seconds * _CORES
    seconds["matching"] = seconds.pop("reading and matching") - seconds["reading"]
    stages = {name: spent / table.num_rows * events / cores for name, spent in seconds.items()}
    stages["other work of a task"] = (whole - sum(seconds.values())) / table.num_rows * events / cores
    stages["commit"] = commit / cores
    stages["Spark, and waiting"] = 1.0 - sum(stages.values())
    for name, share in stages.items():
        outcome.tell(f"{title}: {name}, share of a batch", f"{share:.2f}")
    outcome.tell(
        f"{title}: a batch, s; a task's CPU us an event",
        f"{batch_seconds:.3f}; {whole / table.num_rows * 1e6:.1f}",
    )
    outcome.tell(f"{title}: commit, s", number(commit))
    notifications = max(1, read_notifications(folder / "shares").num_rows)
    return float((seconds["making ids and rows"] + seconds["writing"]) / notifications * 1e6)


@contextmanager
def _timed(
    owner: Any, name: str, stage: str, seconds: dict[str, float], complete: Callable[[Any], Any] | None = None
) -> Iterator[None]:
    """Add the processor time of a function to that of a stage; `complete` does what it leaves for later."""
    original = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            found = original(*args, **kwargs)
            return found if complete is None else complete(found)
        finally:
            seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - start

    setattr(owner, name, timed)
    try:
        yield
    finally:
        setattr(owner, name, original)


# --- batches without matches -----------------------------------------------------------------------------------


def idle(spark: SparkSession, folder: Path, scale: Scale, outcome: Outcome) -> float:
    """Batches without a match; gives the median seconds of one."""
    outcome.progress(f"{scale.idle} batches without a match")
    (folder / "events").mkdir(parents=True)
    for batch in range(scale.idle + _WARM):
        (folder / "events" / f"{batch:04}.jsonl").write_text(f'{{"id": "e{batch}", "price": 1}}\n')
    with Store.open(_database(folder)) as store:
        store.add("never", "price > 5")
        run = _stream(spark, store, DeltaSink(folder=folder / WORKERS), folder, WORKERS, 1)
    ours = _durations(run)
    begun: list[float] = []
    query = (
        spark.readStream.option("maxFilesPerTrigger", 1)
        .text(str(folder / "events"))
        .writeStream.foreachBatch(lambda frame, _: begun.append(float(frame.count())))
        .option("checkpointLocation", str(folder / "plain"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [each for each in query.recentProgress if each["numInputRows"]]
    plain = [each["durationMs"]["triggerExecution"] / 1000 for each in progress]
    for stage in _STAGES:
        both = [median(each["durationMs"].get(stage, 0) for each in of[_WARM:]) for of in (run.progress, progress)]
        outcome.tell(f"batch without a match: {stage}, ms, tamis; Spark's own", f"{both[0]:.0f}; {both[1]:.0f}")
    outcome.tell("batch without a match: tamis, s", spread(ours))
    outcome.tell("batch without a match: Spark's own foreachBatch with a count, s", spread(plain[_WARM:]))
    ratio = median(ours) / median(plain[_WARM:])
    outcome.judge("batch without a match, tamis against Spark alone", Bar(ratio, _IDLE, at_most=True))
    return median(ours)


def _durations(run: Run) -> Sequence[float]:
    """From batch to batch: what Spark does between two of ours belongs to both sides."""
    times = [each.at.timestamp() for each in run.reports]
    return [second - first for first, second in zip(times[_WARM - 1 :], times[_WARM:], strict=False)]


# --- the driver's memory ---------------------------------------------------------------------------------------


def _memory(spark: SparkSession, folder: Path, scale: Scale, outcome: Outcome) -> None:
    held = []
    for notifications in scale.notifications:
        outcome.progress(f"a batch of {notifications} notifications")
        events = max(1, notifications // 100)
        place = folder / str(notifications)
        (place / "events").mkdir(parents=True)
        for part in range(2):
            lines = "".join(f'{{"id": "e{number}"}}\n' for number in range(part, events, 2))
            (place / "events" / f"{part}.jsonl").write_text(lines)
        with Store.open(_database(place)) as store:
            store.add_many([{"id": f"s{number}", "condition": "true"} for number in range(100)])
            run = _stream(spark, store, DeltaSink(folder=place / WORKERS), place, WORKERS, 2)
        assert sum(each.notifications for each in run.reports) == events * 100
        held.append(run.memory)
        outcome.tell(f"{notifications} notifications: growth of the driver's memory, MB", number(run.memory / 1e6))
        outcome.tell(f"{notifications} notifications: bytes to the driver", number(max(run.result_bytes)))
    more = (held[1] - held[0]) / (scale.notifications[1] - scale.notifications[0])
    outcome.judge("memory of the driver, bytes for each further notification", Bar(more, _FLAT, at_most=True))


# --- routed events ---------------------------------------------------------------------------------------------


def _routed(spark: SparkSession, folder: Path, scale: Scale, outcome: Outcome) -> None:
    """What it costs to read events twice, beside sending what was read."""
    events = scale.contests[0][0] * scale.contests[0][1]
    outcome.progress(f"{events} events from one task to another")
    workload = generate("auction", subscriptions=1, events=events, seed=_SEED)
    _write_events(workload, folder / "events", 1)
    matcher = Matcher(workload.event_type)
    matcher.add("one", "price > 0")
    matcher.publish(folder / "snapshot")
    reading = Reading(json="value", event_type=workload.event_type.name)
    sending = stream_routed.Sending(SnapshotRef(str(folder / "snapshot"), 1), reading, matcher.event_type)
    ways = stream_routed.contestants(spark, folder / "events", sending)
    arrived = {name: way() for name, way in ways.items()}
    assert {*arrived.values()} == {events}, arrived
    for name, seconds in interleaved(ways, _ROUNDS).items():
        outcome.tell(f"routed, {name}: us an event", spread([each / events * 1e6 for each in seconds]))


# --- a cluster -------------------------------------------------------------------------------------------------


def _on_a_cluster(folder: Path, size: Size, outcome: Outcome) -> None:
    """Bytes that tasks send to the driver, by the number of notifications of a batch."""
    events = CLUSTER_EVENTS[size]
    outcome.progress(f"a cluster: a master and two workers, batches of {events} events")
    found = stream_cluster.run(folder, events)
    for notifications, sizes in found.items():
        outcome.tell(
            f"cluster, {notifications} notifications an event: bytes to the driver, a batch", spread(sizes)
        )
    more = (median(found[stream_cluster.MANY]) - median(found[1])) / ((stream_cluster.MANY - 1) * events)
    title = "bytes to the driver on a cluster, for each further notification"
    outcome.judge(title, Bar(more, _FURTHER_BYTES, at_most=True))


# --- data ------------------------------------------------------------------------------------------------------


def _database(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "subscriptions.db"


def _write_events(workload: Workload, folder: Path, batches: int) -> None:
    """Two files a batch, one for each core."""
    folder.mkdir(parents=True)
    step = -(-workload.events.num_rows // (2 * batches))
    for number_, start in enumerate(range(0, workload.events.num_rows, step)):
        with (folder / f"{number_:04}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(event_lines(workload.events.slice(start, step)))
