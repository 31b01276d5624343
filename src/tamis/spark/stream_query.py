"""`tamis.spark.stream`: events in, notifications out, each match recorded once.

A micro-batch is pinned to a version of the subscriptions before it is matched, and committed by its sink under
(query, batch) after it (`batch_delivery.py`). Which notifications a batch has is a function of the events, the
pinned version, its time and the state after the batch before: so a batch that is done again after a crash gives
the same, and a sink that has it already takes nothing.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines import AUTO
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.matchers import Matchers
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.operators.reports import OperatorLedger, sum_reports
from tamis.progress import HISTORY_BYTES, BatchReport, History, ReportView, Stage
from tamis.quotas import Quota, Quotas
from tamis.routing.shards import Routing
from tamis.segments.published import EXPIRED, PARTS
from tamis.sinks.base import BatchKey, Sink
from tamis.snapshot import Manifest
from tamis.spark.batch_delivery import BatchDelivery
from tamis.spark.checkpoint_lock import STATE, hold_checkpoint, local_folder
from tamis.spark.composite_states import CompositeSettings, CompositeStates
from tamis.spark.event_reading import Reading
from tamis.spark.live_subscriptions import LiveSubscriptions
from tamis.spark.match_time import MatchTime
from tamis.spark.matching import check_columns, check_frame
from tamis.spark.route_task import RouteTask
from tamis.spark.shards import Sharding, ShardPlan, send_to_shards
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import (
    CALLED,
    COUNTED,
    ENGINE,
    ERRORS,
    EVENTS,
    FILTER_NS,
    LATE,
    LEARNED,
    MISFITS,
    OLDEST,
    SAMPLED,
    USEFUL,
    VISITS,
    StreamTask,
    reports_in,
    statistics_in,
)
from tamis.spark.stream_type import TYPE_FILE, StreamType, living_types
from tamis.spark.workers import start_workers
from tamis.urls import absolute, without_secrets
from tamis.verification.search import GREEDY, check_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

OPERATORS_FILE = "operators.json"
"""In the state: what operators did in all runs of the query, and what their calls cost."""
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_QUICK_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def stream(
    events: DataFrame,
    subscriptions: Any,
    sink: Sink,
    *,
    checkpoint: str | os.PathLike[str],
    reading: Reading | None = None,
    quota: Quota | Callable[[], Quota] | None = None,
    trigger: Mapping[str, Any] | None = None,
    snapshot: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    engine: str = AUTO,
    shards: int = 1,
    routing: Routing | None = None,
    poll: timedelta = timedelta(seconds=1),
    fresh: bool = False,
    retention: timedelta = timedelta(hours=1),
    views: Sequence[ReportView] = (),
    backlog: Callable[[int], int | None] | None = None,
    name: str | None = None,
    operators: OperatorSettings | Sequence[str] | None = None,
    call_order: str = GREEDY,
    on_failure: Callable[[Stage, int, BaseException], None] | None = None,
    history_bytes: int = HISTORY_BYTES,
    change_retention: timedelta | None = None,
    composite: CompositeSettings | None = None,
) -> StreamingQuery:
    """Match a stream of events with subscriptions that may change all the time.

    Args:
        events: A streaming DataFrame.
        subscriptions: A `tamis.store.Store`, its path or URL, a folder of changes, or the URL of a snapshot that
            another process publishes. A change is seen by the first micro-batch that begins after its version was
            published.
        sink: Where notifications and dead letters go.
        checkpoint: Spark's folder for this query and no other.
        reading: How events are read; by default each has an `id`, and attributes are columns.
        quota: How many notifications a subscription may give; or a function that gives it, called for each batch.
        trigger: The arguments of Spark's `trigger`, such as `{"availableNow": True}`.
        snapshot: Where to publish subscriptions, as driver and workers reach it; by default `snapshot` in `state`.
        state: A folder of the driver for the quotas, the history and what operators did; by default `tamis` in
            the checkpoint.
        engine: As for `tamis.Matcher`, as text: "auto", a name, or a name with settings.
        shards: The number of parts into which subscriptions are split, when a worker cannot hold them all.
        routing: Assign them to shards by similarity, and send an event only to shards that may match it; without,
            every event visits all shards.
        poll: How often the store is asked for changes.
        fresh: Publish what has changed before each batch? Then a subscription that was in the store before an
            event reached the source meets the event, and a batch waits for publishing.
        retention: For how long a version of the subscriptions that is no longer the newest stays, unless pinned.
        views: They are shown a report of each batch.
        backlog: Gives the number of events that wait, of the number that this query has seen since it was started,
            where Spark's own progress does not have it (for Kafka it does).
        name: Of the query, for Spark's own pages.
        operators: Where the operators come from that conditions call: the names of modules that driver and workers
            can import, or settings. Those of installed packages are found without.
        call_order: Which call of an operator is made next, as for `tamis.Matcher`.
        on_failure: Called with the stage, the number and the error of a batch that fails; the query then ends.
        history_bytes: How long the file of reports may grow.
        change_retention: For how long the store keeps its changes and what ended; by default for ever.
        composite: How late events may be for composite subscriptions, and how much is kept for them.

    Returns:
        Spark's streaming query.

    Raises:
        SubscriptionError: Events do not name their types, and there are several.
        TamisError: Events are no stream, or the session is one of Spark Connect, where the driver is elsewhere.
        EventError: Events are no DataFrame of Spark's, or lack a column that `reading` names.
        OperatorError: An operator cannot be loaded on the driver.
        CheckpointInUse: Another query runs on the checkpoint, or has the same state.
    """
    check_frame(events)
    if not events.isStreaming:
        msg = "expected a streaming DataFrame (readStream); for others there is tamis.spark.match"
        raise TamisError(msg)
    if type(events).__module__.startswith("pyspark.sql.connect"):
        msg = "stream does not work over Spark Connect: pins and sinks need the driver; use a classic session"
        raise TamisError(msg)
    reading = reading or Reading()
    check_columns(events.columns, reading.columns())
    settings = OperatorSettings.of(operators)
    settings.load()
    place = state_folder(checkpoint, state)
    live = LiveSubscriptions(
        subscriptions,
        place / "snapshot" if snapshot is None else snapshot,
        place,
        poll_seconds=poll.total_seconds(),
        retention_seconds=retention.total_seconds(),
        change_retention=change_retention,
    )
    if reading.accepted_at is not None:
        live.valid_since = 0  # until the first batch shows how old events are
    batches = MicroBatches(
        live,
        BatchDelivery(
            sink,
            None if quota is None else Quotas(quota, place / "quotas"),
            MatchTime(place),
            CompositeStates(composite or CompositeSettings(), place / "composite"),
        ),
        reading,
        History(place / "progress.jsonl", history_bytes),
        views,
        engine,
        Sharding(shards, routing, retention.total_seconds()),
        backlog,
        settings,
        OperatorLedger(place / OPERATORS_FILE),
        StreamType(place / TYPE_FILE, reading.event_type),
        fresh=fresh,
        on_failure=on_failure,
        call_order=check_order(call_order),
    )
    writer = events.writeStream.foreachBatch(batches).option("checkpointLocation", absolute(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    started: list[StreamingQuery] = []
    lock = hold_checkpoint(place, checkpoint)
    lock.is_active = lambda: not started or _is_active(started[0])
    start_workers(events.sparkSession)  # while subscriptions are read and published
    try:
        live.start(lock.is_active, lock.release)
        manifest = live.snapshots.manifest(live.newest())
        batches.reading_of(manifest)  # refused now rather than in the first batch
        doubt = batches.stream_type.doubt(manifest)
        if doubt is not None:
            _log.warning(doubt)
        with _quick_checkpoints(events.sparkSession, checkpoint):
            started.append(writer.start())
    except BaseException:
        live.close()
        lock.release()
        raise
    batches.query = started[0]
    return started[0]


@contextmanager
def _quick_checkpoints(spark: SparkSession, checkpoint: str | os.PathLike[str]) -> Iterator[None]:
    """Let queries that start meanwhile write a checkpoint on this machine the quicker of two ways.

    Spark's default way starts four processes for each of the two files of a batch, to set the permissions of files
    and checksums; the other one starts two. Either writes a file aside and renames it. That the other one does not
    notice two writers at once is no matter, because the checkpoint is locked.
    """
    conf, is_local = spark.conf, local_folder(checkpoint) is not None
    jvm: Any = spark._jvm
    is_known = jvm.org.apache.spark.util.Utils.classIsLoadable(_QUICK_FILE_MANAGER)
    if not is_local or not is_known or conf.get(_FILE_MANAGER, None) is not None:
        yield
        return
    conf.set(_FILE_MANAGER, _QUICK_FILE_MANAGER)
    try:
        yield
    finally:
        conf.unset(_FILE_MANAGER)


def _is_active(query: StreamingQuery) -> bool:
    """Does the query run? It does not if its Java is gone."""
    from py4j.protocol import Py4JError

    try:
        return bool(query.isActive)
    except (Py4JError, OSError):
        return False


@dataclass(slots=True)
class MicroBatches:
    """Pins, matches, commits and reports each micro-batch.

    Attributes:
        live: The subscriptions.
        delivery: The way to the sink.
        reading: How events are read.
        history: Where reports are kept.
        views: They are shown the reports.
        engine: The engine that matches.
        sharding: Assigns subscriptions to shards.
        backlog: Gives the number of events that wait, if Spark does not.
        operators: Where operators come from.
        ledger: What operators did in all runs, if it is kept.
        stream_type: The event type of events that do not name theirs.
        query: Spark's query, once it has started.
        fresh: Are changes published before each batch?
        on_failure: Called with the stage, the number and the error of a batch that fails.
        call_order: Which call of an operator is made next.
    """

    live: LiveSubscriptions
    delivery: BatchDelivery
    reading: Reading
    history: History
    views: Sequence[ReportView]
    engine: str = AUTO
    sharding: Sharding = field(default_factory=Sharding)
    backlog: Callable[[int], int | None] | None = None
    operators: OperatorSettings = INSTALLED
    ledger: OperatorLedger | None = None
    stream_type: StreamType = field(default_factory=StreamType)
    query: StreamingQuery | None = None
    fresh: bool = False
    on_failure: Callable[[Stage, int, BaseException], None] | None = None
    call_order: str = GREEDY
    _seen: int = 0
    _stage: Stage = "subscriptions"
    _set_aside: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, events: DataFrame, batch: int) -> None:
        """What Spark calls for a micro-batch, maybe again for the same one."""
        try:
            self._run(events, batch)
        except BaseException as error:
            if self.on_failure is not None:
                self.on_failure(self._stage, batch, error)
            raise

    def _run(self, events: DataFrame, batch: int) -> None:
        self._stage = "subscriptions"
        started = time.perf_counter()
        context = events.sparkSession.sparkContext
        query = str(context.getLocalProperty("sql.streaming.queryId"))
        manifest, at = self._pin(query, batch)
        version = manifest.version
        store_version, lag = self.live.store_version(version), self.live.lag_seconds()
        self._stage = "matching"
        context.setJobDescription(f"tamis: match batch {batch} with version {version} of the subscriptions")
        reading = self.reading_of(manifest)
        plan = self._plan(events, manifest, reading)
        states, ref = self.delivery.composite, self._ref(manifest)
        composite = None if states is None else states.plan(query, batch, manifest, ref)

        def begin_delivery() -> None:
            self._stage = "delivery"
            context.setJobDescription(f"tamis: commit batch {batch}")

        sent = self._send(events, plan, reading)
        key = BatchKey(query, batch, at, version)
        task = replace(self._task(plan, reading, manifest), composite=composite)
        result = self.delivery.deliver(sent, task, key, begin_delivery)
        ended = time.perf_counter()
        self._stage = "report"
        found, committed = result.found, result.committed
        count, visits, useful = (found.total(kind) for kind in (EVENTS, VISITS, USEFUL))
        called = sum_reports(reports_in(found.of(CALLED)))
        report = BatchReport(
            query=query,
            batch=batch,
            at=at,
            seconds=ended - started,
            match_seconds=result.matched - started,
            commit_seconds=ended - result.decided,
            events=count,
            matched_events=result.matched_events,
            notifications=committed.written,
            repeated=committed.repeated,
            overflow=result.overflow.total(),
            dead=sum(number for _, number in result.dead_by_kind),
            backlog=self._waiting(count),
            version=version,
            store_version=store_version,
            lag_seconds=lag,
            busiest=result.busiest,
            operators=called,
            shards=len(plan.shards),
            visits=visits,
            useful_visits=useful,
            set_aside=self._count_set_aside(manifest, reading),
            overflow_by_group=result.overflow_by_group,
            dead_by_kind=result.dead_by_kind,
            misfits=found.total(MISFITS),
            late=found.total(LATE),
            composite=_named_counts(found.of(COUNTED)),
            entry_bytes=plan.entry_bytes,
            filter_seconds=found.total(FILTER_NS) / 1e9,
            sampled=found.total(SAMPLED),
            sampled_errors=found.total(ERRORS),
            engines=_named_counts(found.of(ENGINE)),
            entry_budget=0 if plan.routes is None else self.sharding.entry_budget,
        )
        if self.ledger is not None:
            self.ledger.add(called, statistics_in(found.of(LEARNED)))
        self.history.append(report)
        self.sharding.observe(report)
        accepted = pc.min(found.of(OLDEST)["count"]).as_py()
        if accepted is not None:
            next_accepted = accepted - self.reading.acceptance_lateness // timedelta(microseconds=1)
            self.live.valid_since = max(next_accepted, self.live.valid_since or 0)
        for view in self.views:
            view.show(report)

    def reading_of(self, manifest: Manifest) -> Reading:
        """How the events of a batch are read that is matched with a version.

        Raises:
            SubscriptionError: Events do not name their types, and there are several.
        """
        if self.reading.names_types:
            return self.reading
        return replace(self.reading, event_type=self.stream_type.choose(manifest))

    def _count_set_aside(self, manifest: Manifest, reading: Reading) -> int:
        """How many subscriptions are not matched: those to other event types, and those that are refused."""
        foreign = living_types(manifest)
        if reading.names_types:
            foreign.clear()
        elif reading.event_type is not None:
            foreign.pop(reading.event_type, None)
        if foreign and foreign != self._set_aside:
            shown = ", ".join(f"{count} to {name!r}" for name, count in sorted(foreign.items()))
            _log.warning(
                "events are of type %r: subscriptions to other event types are set aside, and not matched: %s",
                reading.event_type,
                shown,
            )
        self._set_aside = foreign
        source = manifest.extra.get("store")
        return sum(foreign.values()) + (int(source.get("refused", 0)) if isinstance(source, dict) else 0)

    def _waiting(self, events: int) -> int | None:
        """The events that wait after this batch; Spark's last progress is that of the batch before."""
        self._seen += events
        if self.backlog is not None:
            return self.backlog(self._seen)
        before = backlog_of(None if self.query is None else self.query.lastProgress)
        return None if before is None else max(0, before - events)

    def _pin(self, query: str, batch: int) -> tuple[Manifest, datetime]:
        """The version and the time of a batch: written down before anything else, found again in a replay.

        The pins of earlier batches are released: Spark has committed them, or this one would not have begun.
        """
        snapshots = self.live.snapshots
        holder = _holder(query, batch)
        if self.fresh and holder not in snapshots.pins():
            self.live.publish()
        version = snapshots.pin(holder, self.live.newest())
        pins = snapshots.pins()
        manifest = snapshots.manifest(
            version
        )  # a pinned version that is missing is an error, never another one instead
        for other in pins:
            of, _, number = other.rpartition("/")
            if of == query and number.isdigit() and int(number) < batch:
                snapshots.unpin(other)
        return manifest, pins[holder].created

    def _ref(self, manifest: Manifest) -> SnapshotRef:
        return SnapshotRef(
            self.live.url,
            manifest.version,
            self.engine,
            operators=self.operators,
            call_order=self.call_order,
            expired=EXPIRED in manifest.extra,
            parts=PARTS in manifest.extra,
        )

    def _plan(self, events: DataFrame, manifest: Manifest, reading: Reading) -> ShardPlan:
        return self.sharding.plan(self._ref(manifest), lambda rows: _sample(events, manifest, reading, rows))

    def _task(self, plan: ShardPlan, reading: Reading, manifest: Manifest) -> StreamTask:
        return StreamTask(
            plan.shards,
            reading,
            None,  # the delivery knows
            None if self.ledger is None else self.ledger.costs(),
            None if self.ledger is None else self.ledger.learned_statistics(),
            plan.routes is not None,
            manifest.extra.get(EXPIRED, {}),
        )

    def _send(self, events: DataFrame, plan: ShardPlan, reading: Reading) -> DataFrame:
        route = None if plan.routes is None else RouteTask(plan.routes, reading)
        spread = reading.event_id if reading.json is None else reading.json
        return send_to_shards(events, len(plan.shards), spread, route)


def _named_counts(counted: pa.Table) -> tuple[tuple[str, int], ...]:
    """The sums of counts by name."""
    sums: Counter[str] = Counter()
    for name, count in zip(counted["kind"].to_pylist(), counted["count"].to_pylist(), strict=True):
        sums[name] += count
    return tuple(sorted(sums.items()))


def _sample(events: DataFrame, manifest: Manifest, reading: Reading, rows: int) -> list[EventBatch]:
    """Some events of a batch, as they are read."""
    matchers = Matchers(EventType.of(dict(each)) for each in manifest.event_types.values())
    return [read.batch for read in reading.read(matchers, events.limit(rows).toArrow(), [])]


def _holder(query: str, batch: int) -> str:
    return f"{query}/{batch}"


def backlog_of(progress: Any) -> int | None:
    """How many events wait, after a batch whose progress Spark reported, if the source counts its events."""
    if progress is None:
        return None
    count = None
    for source in progress["sources"] if isinstance(progress, dict) else progress.sources:
        latest, end = _offsets(source["latestOffset"]), _offsets(source["endOffset"])
        if latest is not None and end is not None:
            count = (count or 0) + max(0, latest - end)
    return count


def _offsets(offset: Any) -> int | None:
    """The sum of the offsets of all partitions of all topics, as Kafka counts; None for other sources."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, dict):
        return None
    numbers = [number for topic in offset.values() if isinstance(topic, dict) for number in topic.values()]
    return sum(numbers) if numbers and all(isinstance(number, int) for number in numbers) else None


def state_folder(checkpoint: str | os.PathLike[str], state: str | os.PathLike[str] | None) -> Path:
    """Where the driver keeps its files.

    Raises:
        TamisError: The checkpoint is not on this machine, and `state` is not given.
    """
    if state is not None:
        return Path(state)
    place = local_folder(checkpoint)
    if place is None:
        shown = without_secrets(absolute(checkpoint))
        msg = f"the checkpoint {shown} is not on this machine: say with `state=` where the driver keeps its files"
        raise TamisError(msg)
    return place / STATE
