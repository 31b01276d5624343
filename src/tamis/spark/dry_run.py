"""A dry run: what a pipeline would do, without doing it.

Everything that can be tried is tried, and what fails is noted beside what works. Nothing is written where the
pipeline works; what must be somewhere meanwhile is in a temporary folder, gone at the end.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError
from tamis.events.misfits import OnMisfit
from tamis.events.names import event_names
from tamis.matchers import Matchers
from tamis.snapshot import Snapshots
from tamis.snapshot.storage import open_storage
from tamis.spark.change_folder import ChangeFolder
from tamis.spark.event_reading import Reading
from tamis.spark.matching import check_columns
from tamis.spark.pipeline import Pipeline
from tamis.spark.pipeline_run import CHANGES, check_types, load_operators, snapshot_types
from tamis.spark.preparation import reachable
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.sources import check, describe, sample
from tamis.spark.stream_task import (
    DEAD,
    EVENTS,
    FOUND,
    MISFITS,
    OVERFLOW,
    PAIR,
    REFUSED,
    StreamTask,
    raise_refused,
)
from tamis.spark.stream_type import TYPE_FILE, StreamType, living_types
from tamis.sql.database import copy_sqlite
from tamis.store import Store
from tamis.store.view import MATCHABLE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE_ROWS = 1_000
DoubtKind: TypeAlias = Literal["no id", "no time", "dead letters", "misfits"]
_COLUMNS = ("id", "condition", "priority", "owner", "revision", "label", "dialect")


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a query resumes.

    Attributes:
        query: Its id; None if it is a new one.
        batch: The number of the batch that comes next.
        again: Was that batch begun before, and not finished?
    """

    query: str | None = None
    batch: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What matching a sample of events gave.

    Attributes:
        events: The number of events in the sample.
        matched_events: How many of them satisfied a subscription.
        matches: How many pairs there were.
        overflow: How many more there were beyond the quota, all taken as one batch.
        dead: The number of dead letters by kind, with one reason each.
        misfits: How many events have a value that does not fit their type, and are matched with NULL there.
    """

    events: int
    matched_events: int
    matches: int
    overflow: int
    dead: dict[str, tuple[int, str]]
    misfits: int = 0

    @property
    def dead_events(self) -> int:
        """The number of all dead letters."""
        return sum(count for count, _ in self.dead.values())


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt that the pipeline does what its author wants, though it would run.

    Attributes:
        kind: "no id", "no time": no event of the sample has one where the pipeline looks for it; "dead letters":
            most events of the sample would be dead letters; "misfits": most do not fit their type.
        message: The same, for people.
        key: The key of the pipeline's file that it is about, if it is about one.
        attribute: The attribute that the key names.
    """

    kind: DoubtKind
    message: str
    key: str | None = None
    attribute: str | None = None


@dataclass(slots=True)
class DryRun:
    """What a pipeline would do.

    Attributes:
        source: Where events come from.
        sink: Where notifications would go.
        on_misfit: What would become of events that do not fit their type.
        event_types: Those that there would be, by name, and whether each is new.
        subscriptions: How many there are; None if they cannot be had.
        set_aside: How many of them are to another event type than that of the events.
        version: The version of the snapshot that has them, if a snapshot has.
        store_version: The version of the store that has them, if a store has.
        resumed: Where the query resumes; None if the checkpoint cannot be read.
        sample: What a sample of events gave; None if reading events would take them away.
        problems: Why it would not run.
        doubts: Why it would run, but hardly as intended.
    """

    source: str
    sink: str
    on_misfit: OnMisfit = "null"
    event_types: dict[str, bool] = field(default_factory=dict)
    subscriptions: int | None = None
    set_aside: int = 0
    version: int | None = None
    store_version: int | None = None
    resumed: ResumePoint | None = None
    sample: SampleResult | None = None
    problems: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    @contextmanager
    def recording(self, what: str) -> Iterator[None]:
        """Add an error within to the problems, and go on."""
        try:
            yield
        except (TamisError, OSError, pa.ArrowException) as error:
            self.problems.append(f"{what}: {error}")


def try_pipeline(pipeline: Pipeline, spark: Callable[[], SparkSession]) -> DryRun:
    """Try everything that a pipeline needs, and match a sample of events.

    Args:
        pipeline: What to run.
        spark: Gives the session; called only if Kafka is involved.
    """
    # A sample does not say when its events came.
    pipeline = replace(pipeline, reading=replace(pipeline.reading, accepted_at=None))
    sink = pipeline.make_sink()
    found = DryRun(describe(pipeline.source), sink.describe(), pipeline.reading.on_misfit)
    with ExitStack() as stack:
        stack.callback(sink.close)
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tamis-")))
        with found.recording("events"):
            check(pipeline.source)
        has_source = not found.problems
        with found.recording("sink"):
            if pipeline.uses_kafka:
                spark()
            sink.check()
        with found.recording("state"):
            found.resumed = read_resume_point(pipeline.state.checkpoint)
        with found.recording("operators"):
            load_operators(pipeline)
        with found.recording("subscriptions"):
            ref = _snapshot_ref(pipeline, temporary, found)
            reading = _reading(pipeline, ref, found)
            if has_source:
                with found.recording("sample"):
                    events = sample(pipeline.source, SAMPLE_ROWS, spark)
                    if events is not None:
                        check_columns(_columns(pipeline, events), pipeline.reading.columns())
                        found.sample = _match_sample(pipeline, reading, ref, events)
                        found.doubts = [*_missing(reading, ref, events), *_deadly(found.sample)]
    return found


def read_resume_point(checkpoint: str) -> ResumePoint:
    """Where the query of a checkpoint resumes."""
    storage = open_storage(checkpoint)
    begun, done = (_newest(storage, folder) for folder in ("offsets", "commits"))
    if begun is None:
        return ResumePoint()
    query = str(json.loads(storage.read("metadata"))["id"])
    return ResumePoint(query, begun if done is None or done < begun else begun + 1, done is None or done < begun)


def _newest(storage: Any, folder: str) -> int | None:
    names = [each.name for each in storage.listing(folder)]
    return max((int(name) for name in names if name.isdigit()), default=None)


def _snapshot_ref(pipeline: Pipeline, temporary: Path, found: DryRun) -> SnapshotRef:
    """The subscriptions as a task reads them."""
    subscriptions = pipeline.subscriptions
    if subscriptions.kind == "snapshot":
        manifest = Snapshots(subscriptions.place).manifest()
        types = snapshot_types(subscriptions.place)
        check_types(pipeline, types, declared=True)
        found.event_types = {event_type.name: False for event_type in types}
        found.version, found.subscriptions = manifest.version, manifest.slots - manifest.dead
        place = reachable(subscriptions.place)
        return _ref(pipeline, place, manifest.version)
    with _store(pipeline, temporary) as store, store.view() as view:
        known = view.event_types()
        check_types(pipeline, known.values())
        found.event_types = dict.fromkeys(known, False)
        found.event_types |= {each.name: True for each in pipeline.event_types if each.name not in known}
        matchers = Matchers(pipeline.event_types, limits=store.limits)
        for name, event_type in known.items():
            table = pa.Table.from_batches(view.matchable(name), MATCHABLE_SCHEMA)
            matchers.declare(event_type).add_records(table.select(_COLUMNS))
        found.store_version = view.version if subscriptions.kind == "store" else None
    found.subscriptions = len(matchers)
    url = temporary / "snapshot"
    return _ref(pipeline, str(url), matchers.publish(url).version)


def _ref(pipeline: Pipeline, url: str, version: int) -> SnapshotRef:
    settings, order = pipeline.operators, pipeline.call_order
    return SnapshotRef(url, version, pipeline.engine, operators=settings, call_order=order)


@contextmanager
def _store(pipeline: Pipeline, temporary: Path) -> Iterator[Store]:
    """The store, to be read; for a folder of changes, a copy of its store that has all changes."""
    if pipeline.subscriptions.kind == "store":
        with Store.open(pipeline.subscriptions.place, create=False, limits=pipeline.limits) as store:
            yield store
        return
    state = temporary / CHANGES
    if (pipeline.state.folder / CHANGES / ChangeFolder.STORE).exists():
        _copy_state(pipeline.state.folder / CHANGES, state)
    folder = ChangeFolder(pipeline.subscriptions.place, state, limits=pipeline.limits)
    with folder.store as store:
        check_types(pipeline, store.event_types().values())
        for event_type in pipeline.event_types:
            store.set_event_type(event_type)
        folder.apply()
        yield store


def _copy_state(state: Path, target: Path) -> None:
    """Copy the state of a folder of changes while another process may write it."""
    target.mkdir()
    if (state / ChangeFolder.MARK).exists():
        shutil.copy(state / ChangeFolder.MARK, target)
    copy_sqlite(state / ChangeFolder.STORE, target / ChangeFolder.STORE)


def _reading(pipeline: Pipeline, ref: SnapshotRef, found: DryRun) -> Reading:
    """How the events of the next batch would be read."""
    if pipeline.reading.names_types:
        return pipeline.reading
    manifest = Snapshots(ref.url).manifest(ref.version)
    kept = StreamType(pipeline.state.folder / TYPE_FILE, pipeline.reading.event_type)
    chosen = kept.choose(manifest, remember=False)
    found.set_aside = sum(count for name, count in living_types(manifest).items() if name != chosen)
    return replace(pipeline.reading, event_type=chosen)


def _match_sample(pipeline: Pipeline, reading: Reading, ref: SnapshotRef, events: pa.Table) -> SampleResult:
    """What a batch of these events would give.

    Raises:
        MisfitError: One of them does not fit its type, and the pipeline refuses such events.
    """
    task = StreamTask((ref,), reading, pipeline.quota)
    found = pa.Table.from_batches(task(iter(events.to_batches())), FOUND)
    kinds = found["row_kind"].combine_chunks()
    pairs, dead, refused = (found.filter(pc.equal(kinds, kind)) for kind in (PAIR, DEAD, REFUSED))
    raise_refused(refused)
    events_count, overflow, misfits = (
        pc.sum(found.filter(pc.equal(kinds, kind))["count"]).as_py() or 0 for kind in (EVENTS, OVERFLOW, MISFITS)
    )
    reasons: dict[str, tuple[int, str]] = {}
    for kind, why in zip(dead["kind"].to_pylist(), dead["reason"].to_pylist(), strict=True):
        count, first = reasons.get(kind, (0, why))
        reasons[kind] = (count + 1, first)
    matched = pc.count_distinct(pairs["event_id"]).as_py()
    return SampleResult(events_count, matched, pairs.num_rows, overflow, reasons, misfits)


def _columns(pipeline: Pipeline, events: pa.Table) -> list[str]:
    """The columns of a sample, with those that a run adds because an event type has them."""
    declared = [each.name for event_type in pipeline.event_types for each in event_type.attributes or ()]
    return [*events.column_names, *declared] if events.num_rows else pipeline.reading.columns()


def _missing(reading: Reading, ref: SnapshotRef, events: pa.Table) -> Iterator[Doubt]:
    """What the pipeline looks for in events, and finds in none that can be read."""
    batches = [each.batch for each in reading.read(ref.matchers(), events, [])]
    if not any(batch.rows for batch in batches):
        return
    if all(event_names(batch, reading.event_id).null_count == batch.rows for batch in batches):
        message = f"no event in the sample has an id in {reading.event_id!r}"
        yield Doubt("no id", message, "events.id", reading.event_id)
    task = StreamTask((ref,), reading)
    if reading.event_time is not None and all(
        task.times(batch, range(batch.rows)).null_count == batch.rows for batch in batches
    ):
        message = f"no event in the sample has a time in {reading.event_time!r}"
        yield Doubt("no time", message, "events.time", reading.event_time)


def _deadly(sample: SampleResult) -> Iterator[Doubt]:
    """Would most events be dead letters, or do most not fit their type?"""
    if 2 * sample.dead_events > sample.events:
        kinds = ", ".join(f"{count:,} {kind}" for kind, (count, _) in sample.dead.items())
        message = (
            f"{sample.dead_events:,} of {sample.events:,} events in the sample would be dead letters ({kinds})"
        )
        yield Doubt("dead letters", message)
    if 2 * sample.misfits > sample.events:
        message = f"{sample.misfits:,} of {sample.events:,} events in the sample do not fit their type"
        yield Doubt("misfits", message)
