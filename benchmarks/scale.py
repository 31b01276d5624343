"""Scale: subscriptions from Parquet to pairs and changes on Spark, at sizes that grow by ten.

Each point is a family of workloads and a number of subscriptions: generated to Parquet, compiled by Spark,
published, opened by a process of its own, matched on Spark in one shard and in 16 routed ones, and changed while a
stream matches. Pairs of all ways are compared before any time is reported. Exponents over the sizes say what grows
with the number of subscriptions, and how.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import sizing
from benchmarks.process_tree import family as processes_of
from benchmarks.report import Bar, Figures, Report, Size, number, print_bars, spread
from benchmarks.scale_changes import ChangePlan, Published, publish_changes, read_log, seconds_until_seen
from benchmarks.shard_work import measure_shards
from benchmarks.spark import CORES, session
from tamis.lab.measuring.cases import PAST_EVENTS, SEED
from tamis.lab.workloads.registry import Generator, generator
from tamis.progress import BatchReport
from tamis.report import charts
from tamis.routing.shards import Routing, read_assignment
from tamis.sinks.parquet import ParquetSink
from tamis.sizing import segments_of
from tamis.snapshot import Snapshots

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FAMILIES = ("sparse", "ads", "auction")
PARTS = ("match", "routed", "changes")
_FILE_BLOCKS = 64
_EVENT_FILE_SECONDS = 0.25
_OPEN, _RESIDENT, _EXPONENT, _SEEN, _BUILT, _FLAT, _HOTTEST = 1.0, 160.0, 0.5, 2.0, 30_000, 0.1, 1.5


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        subscriptions: A point each.
        events: That are matched.
        batch: Events of a micro-batch while subscriptions change.
        rounds: Of matching in one process.
        rate: Changes a second.
        seconds: For how long there are changes.
        shards: Of the routed way.
    """

    subscriptions: tuple[int, ...]
    events: int
    batch: int
    rounds: int
    rate: float
    seconds: float
    shards: int = 16


SCALES: dict[Size, Scale] = {
    "smallest": Scale((300, 600), 300, 50, 1, 40.0, 1.0, 3),
    "quick": Scale((10_000, 30_000), 8_192, 500, 3, 200.0, 5.0),
    "full": Scale((100_000, 1_000_000, 10_000_000), 32_768, 1_000, 5, 1_000.0, 600.0),
}


@dataclass(slots=True)
class Outcome:
    """What is gathered while the benchmark runs; `series` has a number a size, by family and what it is."""

    figures: Figures = field(default_factory=dict)
    bars: dict[str, Bar] = field(default_factory=dict)
    series: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def progress(self, what: str) -> None:
        load = os.getloadavg()[0]
        print(
            f"[{time.perf_counter() - self.started:6.0f} s, load {load:.1f}] {what}", file=sys.stderr, flush=True
        )

    def tell(self, title: str, value: Any) -> None:
        self.figures[title] = value
        print(f"{title}: {value}", flush=True)

    def point(self, family: str, what: str, subscriptions: int, value: float) -> None:
        """A figure of one size, whose growth is reported in the end."""
        self.series.setdefault((family, what), []).append((subscriptions, value))
        self.tell(f"{family} {subscriptions}: {what}", number(value))


@dataclass(frozen=True, slots=True)
class Case:
    """A family with some number of subscriptions, and the folder with all of its files."""

    family: str
    subscriptions: int
    folder: Path
    made: Generator

    @property
    def snapshot(self) -> Path:
        return self.folder / "snapshot"

    @property
    def events(self) -> Path:
        return self.folder / "events.parquet"

    @property
    def texts(self) -> Path:
        return self.folder / "subscriptions"


def run(
    size: Size,
    families: Sequence[str] = (),
    sizes: Sequence[int] = (),
    rate: float | None = None,
    seconds: float | None = None,
    parts: Sequence[str] = (),
) -> Report:
    """Measure; bars are judged at full size only.

    Args:
        size: How much; the other arguments replace what goes with it.
        families: Of workloads.
        sizes: Numbers of subscriptions.
        rate: Changes a second.
        seconds: For how long there are changes.
        parts: Of `PARTS`, what is measured besides compiling and opening; all by default.
    """
    unknown = sorted({*families} - {*FAMILIES} | {*parts} - {*PARTS})
    if unknown:
        msg = f"there is no {', '.join(unknown)}; families are {', '.join(FAMILIES)}, parts {', '.join(PARTS)}"
        raise SystemExit(msg)
    scale, outcome = SCALES[size], Outcome()
    asked = tuple(sorted(sizes)) or scale.subscriptions
    changes = (scale.rate if rate is None else rate, scale.seconds if seconds is None else seconds)
    with tempfile.TemporaryDirectory(prefix="tamis-scale-") as place, session(outcome.progress) as spark:
        for family in families or FAMILIES[: 1 if size == "smallest" else None]:
            for subscriptions in asked:
                folder = Path(place) / f"{family}-{subscriptions}"
                made = generator(family, subscriptions=subscriptions, events=PAST_EVENTS + scale.events, seed=SEED)
                case = Case(family, subscriptions, folder, made)
                try:
                    _measure(spark, case, scale, changes, parts or PARTS, outcome)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
            _growth(family, outcome)
    judged = size == "full" and not sizes and changes == (scale.rate, scale.seconds) and not parts
    outcome.figures["bars"] = "judged" if judged else "not judged: this is not the size that they are set for"
    report = Report("scale", outcome.figures, outcome.bars, judged, tuple(_drawings(outcome)))
    print_bars(report)
    return report


def _measure(
    spark: SparkSession,
    case: Case,
    scale: Scale,
    changes: tuple[float, float],
    parts: Sequence[str],
    outcome: Outcome,
) -> None:
    outcome.progress(f"{case.family}, {case.subscriptions} subscriptions: generating")
    case.folder.mkdir(parents=True)
    _generate(case)
    _compile(spark, case, outcome)
    point = _open(case, scale, outcome)
    if "match" in parts or "routed" in parts:
        events = spark.read.parquet(str(case.events))
        expected = _match(spark, events, case, {}, "one shard", outcome)
        pairs = round(point.matches * events.count())
        if expected[0] != pairs:
            msg = f"{case}: Spark finds {expected[0]} pairs, a process alone {pairs}"
            raise SystemExit(msg)
        if "routed" in parts:
            options = {"shards": scale.shards, "routing": Routing()}
            found = _match(spark, events, case, options, f"{scale.shards} routed shards", outcome)
            if found != expected:
                msg = f"{case}: {found[0]} pairs in routed shards, {expected[0]} in one, or other ones"
                raise SystemExit(msg)
            _shard_work(case, outcome)
    if "changes" in parts:
        _change(spark, case, scale, *changes, outcome)


# --- from text to a version ------------------------------------------------------------------------------------


def _generate(case: Case) -> None:
    """Files of subscriptions, and one of events; a block at a time, so that nothing is in memory as a whole."""
    made = case.made
    case.texts.mkdir()
    for first in range(0, made.condition_blocks, _FILE_BLOCKS):
        blocks = range(first, min(first + _FILE_BLOCKS, made.condition_blocks))
        rows = pa.concat_tables([made.conditions(block) for block in blocks])
        pq.write_table(rows, case.texts / f"{first:06}.parquet")
    events = pa.concat_tables([made.events(block) for block in range(made.event_blocks)])
    pq.write_table(events.slice(0, PAST_EVENTS), case.folder / "past.parquet")
    pq.write_table(events.slice(PAST_EVENTS), case.events)


def _compile(spark: SparkSession, case: Case, outcome: Outcome) -> None:
    from tamis.spark import prepare

    outcome.progress("compiling on Spark")
    event_type = case.made.plan.event_type
    statistics = sizing.learned(pq.read_table(case.folder / "past.parquet"), event_type)
    start = time.perf_counter()
    prepare(
        str(case.texts),
        event_type,
        snapshot=case.snapshot,
        statistics=statistics,
        segments=max(CORES, segments_of(case.subscriptions)),
        spark=spark,
    )
    rate = case.subscriptions / (time.perf_counter() - start)
    outcome.point(case.family, "compiled and published, subscriptions/s", case.subscriptions, rate)
    outcome.bars[f"{case.family} {case.subscriptions}: built from text, subscriptions/s"] = Bar(rate, _BUILT)
    manifest = Snapshots(case.snapshot).manifest()
    stored = sum(entry.bytes for entry in manifest.entries)
    outcome.point(case.family, "snapshot, bytes/subscription", case.subscriptions, stored / case.subscriptions)
    outcome.tell(f"{case.family} {case.subscriptions}: segments", len(manifest.entries))


def _open(case: Case, scale: Scale, outcome: Outcome) -> sizing.Point:
    """Open and match in a process of its own, as a worker would."""
    outcome.progress("opening and matching in one process")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        point = pool.submit(sizing.measured, case.folder, case.subscriptions, scale.rounds).result()
    name, count = case.family, case.subscriptions
    outcome.tell(f"{name} {count}: matches an event", number(point.matches))
    outcome.tell(f"{name} {count}: us/event, all rounds", spread(point.microseconds))
    outcome.point(name, "matching, us/event of a core", count, median(point.microseconds))
    outcome.point(name, "opening, s", count, point.open_seconds)
    outcome.point(name, "mapped, bytes/subscription", count, point.mapped_bytes / count)
    outcome.point(name, "resident, bytes/subscription", count, point.resident_bytes / count)
    outcome.point(name, "other memory of the process, MB", count, point.private_bytes / 1e6)
    outcome.bars[f"{name} {count}: opening, s"] = Bar(point.open_seconds, _OPEN, at_most=True)
    if name == "sparse":
        resident = Bar(point.resident_bytes / count, _RESIDENT, at_most=True)
        outcome.bars[f"{name} {count}: resident, bytes/subscription"] = resident
    return point


# --- matching on Spark -----------------------------------------------------------------------------------------


def _match(
    spark: SparkSession, events: DataFrame, case: Case, options: dict[str, Any], label: str, outcome: Outcome
) -> tuple[int, int]:
    """Match twice, the second time with everything opened; gives the number of pairs and a sum of their hashes."""
    from pyspark.sql import functions as F

    from tamis.spark import match

    outcome.progress(f"matching on Spark, {label}")
    seconds = []
    start = time.perf_counter()
    pairs = match(events, str(case.snapshot), event_id="id", **options)
    planned = time.perf_counter() - start
    both = F.pmod(F.xxhash64("event_id", "subscription_id"), F.lit(1 << 40))
    for _ in range(2):
        start = time.perf_counter()
        found = pairs.agg(F.count("*"), F.coalesce(F.sum(both), F.lit(0))).collect()[0]
        seconds.append(time.perf_counter() - start)
    outcome.point(case.family, f"Spark, {label}: planning, s", case.subscriptions, planned)
    outcome.point(case.family, f"Spark, {label}: first pass, s", case.subscriptions, seconds[0])
    rate = events.count() / seconds[1]
    outcome.point(case.family, f"Spark, {label}: events/s", case.subscriptions, rate)
    return int(found[0]), int(found[1])


def _shard_work(case: Case, outcome: Outcome) -> None:
    """The time that each shard takes for the events that visit it, in this process, one after the other."""
    place = f"{case.snapshot}.shards"
    assignment = read_assignment(Snapshots(place).manifest(), place)
    work = measure_shards(assignment, pq.read_table(case.events), case.made.plan.event_type)
    outcome.point(case.family, "hottest shard, work against the mean", case.subscriptions, work.hottest)
    outcome.point(case.family, "visits of an event to shards", case.subscriptions, work.visits)
    outcome.tell(
        f"{case.family} {case.subscriptions}: largest shard, subscriptions against the mean", f"{work.largest:.2f}"
    )
    if case.family != "sparse":
        title = f"{case.family} {case.subscriptions}: hottest shard, work against the mean"
        outcome.bars[title] = Bar(round(work.hottest, 3), _HOTTEST, at_most=True)


# --- changes while a stream matches ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Batches:
    """A view of a stream: the version of each batch, and when it was committed."""

    reports: list[tuple[BatchReport, float]] = field(default_factory=list)

    def show(self, report: BatchReport) -> None:
        self.reports.append((report, time.time()))

    def close(self) -> None:
        """Nothing is held open."""


def _change(spark: SparkSession, case: Case, scale: Scale, rate: float, seconds: float, outcome: Outcome) -> None:
    """A stream over a snapshot that another process publishes: batches follow one another while it changes."""
    from tamis.spark import stream

    outcome.progress(f"{rate:.0f} changes a second for {seconds:.0f} s, while a stream matches")
    incoming, batches = case.folder / "incoming", _Batches()
    incoming.mkdir()
    events = pq.read_table(case.events)
    feeder = _Feeder(events, incoming, scale.batch)
    feeder.write()
    log = case.folder / "published.jsonl"
    plan = ChangePlan(str(case.snapshot), case.family, case.subscriptions, rate, seconds, str(log))
    schema = spark.read.parquet(str(incoming)).schema
    sink = ParquetSink(folder=case.folder / "notifications")
    query = stream(
        spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(incoming)),
        str(case.snapshot),
        sink,
        checkpoint=case.folder / "checkpoint",
        views=[batches],
    )
    try:
        feeder.start()
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(publish_changes, plan).result()
        last = Snapshots(case.snapshot).latest() or 0
        while query.isActive and not any(report.version >= last for report, _ in batches.reports):
            time.sleep(_EVENT_FILE_SECONDS)
        memory = _memory_of_workers()
    finally:
        feeder.stop()
        query.stop()
        sink.close()
    failure = query.exception()
    if failure is not None:
        raise failure
    _tell_changes(case, read_log(log), batches, rate, memory, outcome)


class _Feeder(threading.Thread):
    """Writes a file of new events now and then, as long as the stream keeps up."""

    def __init__(self, events: pa.Table, folder: Path, rows: int) -> None:
        super().__init__(name="events", daemon=True)
        self._events, self._folder, self._rows = events, folder, rows
        self._written = 0
        self._ended = threading.Event()

    def write(self) -> None:
        """One file."""
        first = self._written * self._rows % max(1, self._events.num_rows - self._rows + 1)
        some = self._events.slice(first, self._rows)
        ids = pa.array([f"{self._written}-{each}" for each in range(some.num_rows)])
        some = some.set_column(some.column_names.index("id"), "id", ids)
        name = f"{self._written:06}.parquet"
        pq.write_table(some, self._folder.parent / name)
        (self._folder.parent / name).rename(self._folder / name)
        self._written += 1

    def run(self) -> None:
        while not self._ended.wait(_EVENT_FILE_SECONDS):
            self.write()

    def stop(self) -> None:
        self._ended.set()
        self.join()


def _memory_of_workers() -> dict[str, float]:
    """Megabytes of Java and of each Python process below this one: their share of shared pages, and all."""
    found: dict[str, float] = {}
    for process in processes_of(os.getpid()):
        place = Path("/proc", str(process.pid), "smaps_rollup")
        try:
            fields = dict(line.split(":") for line in place.read_text().splitlines()[1:])
        except OSError:
            continue  # it has ended
        kind = "Java" if "java" in process.command.split(" ", 1)[0] else "Python"
        found[kind] = found.get(kind, 0.0) + int(fields["Pss"].split()[0]) / 1e3
    return found


def _tell_changes(
    case: Case,
    log: tuple[float, list[Published]],
    batches: _Batches,
    rate: float,
    memory: dict[str, float],
    outcome: Outcome,
) -> None:
    start, published = log
    name, count = case.family, case.subscriptions
    seen = seconds_until_seen(published, start, rate, [(report.version, at) for report, at in batches.reports])
    changes = sum(each.changes for each in published)
    outcome.tell(f"{name} {count}: changes published, versions", f"{changes}, {len(published)}")
    outcome.tell(f"{name} {count}: batches while changing", len(batches.reports))
    for share in (50, 99):
        outcome.point(name, f"change seen, p{share}, s", count, float(np.percentile(seen, share)))
    outcome.bars[f"{name} {count}: change seen, p99, s"] = Bar(
        round(float(np.percentile(seen, 99)), 3), _SEEN, at_most=True
    )
    outcome.point(name, "batch while changing, s", count, median(r.seconds for r, _ in batches.reports))
    outcome.point(name, "publishing, s", count, median(each.seconds for each in published))
    outcome.point(name, "publishing, longest, s", count, max(each.seconds for each in published))
    plain = [each for each in published if not each.merged] or published
    for what in ("read_bytes", "written_bytes", "touched_bytes"):
        each = sum(getattr(one, what) for one in published) / changes
        outcome.point(name, f"{what.replace('_', ' ')} a change", count, each)
        median_ = median(getattr(one, what) for one in plain)
        outcome.point(name, f"{what.replace('_', ' ')} a version without a merge", count, max(1.0, median_))
    for kind, size in memory.items():
        outcome.tell(f"{name} {count}: memory of {kind} while changing, MB", number(size))


# --- growth ----------------------------------------------------------------------------------------------------


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """The slope of a straight line through the logarithms, by least squares."""
    sizes, values = np.log(np.array(points, np.float64)).T
    return float(np.polyfit(sizes, values, 1)[0])


def _growth(family: str, outcome: Outcome) -> None:
    for (name, what), points in outcome.series.items():
        if name == family and len(points) > 1 and all(value > 0 for _, value in points):
            outcome.tell(f"{family}: {what}, growth exponent", round(exponent(points), 3))
    matching = outcome.series.get((family, "matching, us/event of a core"), [])
    if family == "sparse" and len(matching) > 1:
        bar = Bar(round(exponent(matching), 3), _EXPONENT, at_most=True)
        outcome.bars["sparse: matching, growth exponent"] = bar
    for what in ("read bytes", "written bytes", "touched bytes"):
        points = outcome.series.get((family, f"{what} a change"), [])
        if len(points) > 1:
            bar = Bar(round(exponent(points), 3), _FLAT, at_most=True)
            outcome.bars[f"{family}: {what} a change, growth exponent"] = bar


def _drawings(outcome: Outcome) -> list[str]:
    drawn = (
        "matching, us/event of a core",
        "opening, s",
        "change seen, p99, s",
        "touched bytes a change",
    )
    found = []
    for what in drawn:
        lines = {
            family: [(float(size), value) for size, value in points]
            for (family, name), points in outcome.series.items()
            if name == what
        }
        if lines:
            title, _, unit = what.rpartition(", ")
            found.append(charts.lines(title or what, unit if title else "bytes", lines))
    return found
