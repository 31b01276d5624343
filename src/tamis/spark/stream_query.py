"""`tamis.spark.stream`: events in, notifications out, each match recorded once.

A micro-batch is pinned to a version of the subscriptions before it is matched, and committed by its sink under
(query, batch) after it. Tasks match and write; the driver gets what each has written and publishes it in one step,
so that its work does not grow with the number of notifications. Which notifications a batch has is a function of
the events, the pinned version, its time and the state after the batch before: so a batch that is done again after
a crash gives the same, and a sink that has it already takes nothing.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.engines import AUTO
from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.matchers import Matchers
from tamis.notifications import NOTIFICATIONS
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.operators.reports import OperatorLedger, sum_reports
from tamis.progress import HISTORY_BYTES, BatchReport, History, ReportView, Stage, busiest
from tamis.quotas import Quota, Quotas, by_group
from tamis.routing.shards import Routing
from tamis.sinks.base import BatchKey, Committed, Delivery, Sink, TaskWriter
from tamis.sinks.kafka import KafkaSink
from tamis.snapshot import Manifest
from tamis.spark.checkpoint_lock import hold_checkpoint
from tamis.spark.event_reading import Reading
from tamis.spark.live_subscriptions import LiveSubscriptions
from tamis.spark.match_time import MatchTime
from tamis.spark.matching import check_columns, check_frame
from tamis.spark.route_task import RouteTask
from tamis.spark.shards import Sharding, ShardPlan, send_to_shards
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import (
    BUSY,
    CALLED,
    CERTAIN,
    DEAD,
    DEAD_KIND,
    EVENTS,
    FOUND_SQL,
    LEARNED,
    MISFITS,
    OVERFLOW,
    PAIR,
    PART,
    RECORD,
    REFUSED,
    UNWRITTEN,
    USEFUL,
    VISITS,
    StreamTask,
    learned_in,
    raise_refused,
    raise_unwritten,
    reports_in,
)
from tamis.spark.stream_type import TYPE_FILE, StreamType, living_types
from tamis.spark.workers import map_in_workers, start_workers
from tamis.spark.write_task import QuotaTask, WriteTask, make_dead_letters, make_notifications, parts_in
from tamis.urls import absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

OPERATORS_FILE = "operators.json"
"""In the state: what operators did in all runs of the query, and what their calls cost."""
_BUSIEST = 20
_NO_EVENTS = np.empty(0, np.uint64)


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
    on_failure: Callable[[Stage, int, BaseException], None] | None = None,
    history_bytes: int = HISTORY_BYTES,
    change_retention: timedelta | None = None,
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
        on_failure: Called with the stage, the number and the error of a batch that fails; the query then ends.
        history_bytes: How long the file of reports may grow.
        change_retention: For how long the store keeps its log of changes; by default for ever.

    Returns:
        Spark's streaming query.

    Raises:
        SubscriptionError: Events do not name their types, and there are several.
        TamisError: Events are no stream, or the session is one of Spark Connect, where the driver is elsewhere.
        EventError: Events are no DataFrame of Spark's, or lack a column that `reading` names.
        OperatorError: An operator cannot be loaded on the driver.
        CheckpointInUse: Another query runs on the checkpoint.
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
    batches = MicroBatches(
        live,
        sink,
        reading,
        None if quota is None else Quotas(quota, place / "quotas"),
        History(place / "progress.jsonl", history_bytes),
        MatchTime(place),
        views,
        engine,
        Sharding(shards, routing, retention.total_seconds()),
        backlog,
        settings,
        OperatorLedger(place / OPERATORS_FILE),
        StreamType(place / TYPE_FILE, reading.event_type),
        fresh=fresh,
        on_failure=on_failure,
    )
    writer = events.writeStream.foreachBatch(batches).option("checkpointLocation", absolute(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    started: list[StreamingQuery] = []
    lock = hold_checkpoint(place)
    lock.is_active = lambda: not started or _is_active(started[0])
    start_workers(events.sparkSession)  # while subscriptions are read and published
    try:
        live.start(lock.is_active, lock.release)
        batches.reading_of(live.snapshots.manifest(live.newest()))  # refused now rather than in the first batch
        started.append(writer.start())
    except BaseException:
        live.close()
        lock.release()
        raise
    batches.query = started[0]
    return started[0]


def _is_active(query: StreamingQuery) -> bool:
    """Does the query run? It does not if its Java is gone."""
    from py4j.protocol import Py4JError

    try:
        return bool(query.isActive)
    except (Py4JError, OSError):
        return False


@dataclass(slots=True)
class MicroBatches:
    """Matches and commits each micro-batch.

    Attributes:
        live: The subscriptions.
        sink: Where notifications go.
        reading: How events are read.
        quotas: What subscriptions have used of their quota, if there is one.
        history: Where reports are kept.
        match_time: Keeps when the matches of a batch were made.
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
    """

    live: LiveSubscriptions
    sink: Sink
    reading: Reading
    quotas: Quotas | None
    history: History
    match_time: MatchTime
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
        key = BatchKey(query, batch, at, version)
        quota = None if self.quotas is None else self.quotas.quota(query, batch)
        writer = self.sink.task_writer(key)
        if writer is None:
            result = self._hand_over(events, plan, reading, quota, key)
        else:
            result = self._publish(events, plan, reading, quota, key, writer)
        ended = time.perf_counter()
        self._stage = "report"
        found, committed = result.found, result.committed
        count, visits, useful = (_sum_of_kind(found, kind) for kind in (EVENTS, VISITS, USEFUL))
        called = sum_reports(reports_in(_of_kind(found, CALLED)))
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
            overflow_by_group=() if quota is None else tuple(sorted(by_group(result.overflow, quota).items())),
            dead_by_kind=result.dead_by_kind,
            misfits=_sum_of_kind(found, MISFITS),
        )
        if self.ledger is not None:
            self.ledger.add(called, learned_in(_of_kind(found, LEARNED)))
        self.history.append(report)
        for view in self.views:
            view.show(report)

    def _hand_over(
        self, events: DataFrame, plan: ShardPlan, reading: Reading, quota: Quota | None, key: BatchKey
    ) -> BatchResult:
        """Match a batch, and give its rows to a sink that only the driver can write to."""
        found = map_in_workers(
            self._send(events, plan, reading), self._task(plan, reading, quota), FOUND_SQL
        ).toArrow()
        raise_refused(_of_kind(found, REFUSED))
        matched = time.perf_counter()
        pairs = _of_kind(found, PAIR)
        if pairs.num_rows:
            now = max(key.at, datetime.now(UTC))
            pairs, _ = make_notifications(pairs, key, self.match_time.recorded(key.query, key.batch, now))
        else:
            pairs = NOTIFICATIONS.empty_table()
        dead = make_dead_letters(_of_kind(found, DEAD), key)
        overflow, kept = _counts_of_kind(found, OVERFLOW), pairs
        if self.quotas is not None:
            kept, more = self.quotas.apply(key.query, key.batch, key.at, pairs)
            overflow.update(more)
        decided = self._begin_delivery(events, key)
        committed = self.sink.commit(Delivery(key.query, key.batch, key.at, key.version, kept, dead))
        return BatchResult(
            found,
            committed,
            matched,
            decided,
            overflow,
            pc.count_distinct(pairs["event_id"]).as_py(),
            _value_counts(pairs, "subscription_id", _BUSIEST),
            _value_counts(dead, "kind"),
        )

    def _publish(
        self,
        events: DataFrame,
        plan: ShardPlan,
        reading: Reading,
        quota: Quota | None,
        key: BatchKey,
        writer: TaskWriter,
    ) -> BatchResult:
        """Let tasks match a batch and write what it gives, and publish what they wrote."""
        state = None
        if self.quotas is not None and quota is not None and quota.is_limit:
            state = self.quotas.state(key.query, key.batch, key.at)
        matched_at = None
        if not self.sink.exactly_once:
            matched_at = self.match_time.recorded(key.query, key.batch, max(key.at, datetime.now(UTC)))
        task = WriteTask(self._task(plan, reading, None), writer, key, state, matched_at)
        rows = map_in_workers(self._send(events, plan, reading), task, FOUND_SQL)
        if state is not None:
            tasks = events.sparkSession.sparkContext.defaultParallelism
            by_subscription = rows.repartition(tasks, "subscription_id")
            rows = map_in_workers(by_subscription, QuotaTask(writer, key, state, matched_at), FOUND_SQL)
        found = _send_records(rows, self.sink) if isinstance(self.sink, KafkaSink) else rows.toArrow()
        matched = time.perf_counter()
        raise_refused(_of_kind(found, REFUSED))
        self._stage = "delivery"
        raise_unwritten(_of_kind(found, UNWRITTEN))
        parts, overflow = parts_in(_of_kind(found, PART)), _counts_of_kind(found, OVERFLOW)
        busy = _counts_of_kind(found, BUSY)
        matched_events = _sum_of_kind(found, USEFUL)
        if (
            len(plan.shards) > 1
        ):  # an event finds something in several; one that was notified before is not counted
            matched_events = len(np.unique(np.concatenate([_NO_EVENTS, *(each.events for each in parts)])))
        if self.quotas is not None:
            written = _counts_of_kind(found, CERTAIN)
            self.quotas.apply(key.query, key.batch, key.at, NOTIFICATIONS.empty_table(), written)
        decided = self._begin_delivery(events, key)
        committed = self.sink.publish(key, parts)
        dead = _counts_of_kind(found, DEAD_KIND)
        return BatchResult(
            found,
            committed,
            matched,
            decided,
            overflow,
            matched_events,
            busiest(busy, _BUSIEST),
            busiest(dead, len(dead)),
        )

    def _begin_delivery(self, events: DataFrame, key: BatchKey) -> float:
        self._stage = "delivery"
        events.sparkSession.sparkContext.setJobDescription(f"tamis: commit batch {key.batch}")
        return time.perf_counter()

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

    def _plan(self, events: DataFrame, manifest: Manifest, reading: Reading) -> ShardPlan:
        ref = SnapshotRef(self.live.url, manifest.version, self.engine, operators=self.operators)
        return self.sharding.plan(ref, lambda rows: _sample(events, manifest, reading, rows))

    def _task(self, plan: ShardPlan, reading: Reading, quota: Quota | None) -> StreamTask:
        return StreamTask(
            plan.shards,
            reading,
            quota if quota is not None and quota.is_limit else None,
            None if self.ledger is None else self.ledger.costs(),
            None if self.ledger is None else self.ledger.learned_statistics(),
            plan.routes is not None,
        )

    def _send(self, events: DataFrame, plan: ShardPlan, reading: Reading) -> DataFrame:
        route = None if plan.routes is None else RouteTask(plan.routes, reading)
        spread = reading.event_id if reading.json is None else reading.json
        return send_to_shards(events, len(plan.shards), spread, route)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch, for its report.

    Attributes:
        found: The rows that tasks gave.
        committed: What the sink said.
        matched: When matching had ended, by the process's clock.
        decided: When it was known what the sink gets.
        overflow: Matches beyond the quota, by subscription.
        matched_events: Events with a match.
        busiest: Subscriptions with most matches.
        dead_by_kind: Dead letters by kind.
    """

    found: pa.Table
    committed: Committed
    matched: float
    decided: float
    overflow: Counter[str]
    matched_events: int
    busiest: tuple[tuple[str, int], ...]
    dead_by_kind: tuple[tuple[str, int], ...]


def _send_records(rows: DataFrame, sink: KafkaSink) -> pa.Table:
    """Let the workers send records, and collect the other rows; the rows are kept, or tasks would run twice."""
    kept = rows.persist()
    try:
        columns = ("kind AS topic", "event_id AS key", "reason AS value", "headers", "priority")
        sink.send_records(kept.where(f"row_kind = {RECORD}").selectExpr(*columns))
        return kept.where(f"row_kind <> {RECORD}").toArrow()
    finally:
        kept.unpersist()


def _sample(events: DataFrame, manifest: Manifest, reading: Reading, rows: int) -> list[EventBatch]:
    """Some events of a batch, as they are read."""
    matchers = Matchers(EventType.of(dict(each)) for each in manifest.event_types.values())
    return [read.batch for read in reading.read(matchers, events.limit(rows).toArrow(), [])]


def _holder(query: str, batch: int) -> str:
    return f"{query}/{batch}"


def _of_kind(found: pa.Table, kind: int) -> pa.Table:
    return found.filter(pc.equal(found["row_kind"], kind))


def _sum_of_kind(found: pa.Table, kind: int) -> int:
    """The sum of the numbers in rows of a kind."""
    return int(pc.sum(_of_kind(found, kind)["count"]).as_py() or 0)


def _counts_of_kind(found: pa.Table, kind: int) -> Counter[str]:
    """The sums by subscription of numbers in rows of a kind."""
    counts: Counter[str] = Counter()
    rows = _of_kind(found, kind)
    for subscription, count in zip(rows["subscription_id"].to_pylist(), rows["count"].to_pylist(), strict=True):
        counts[subscription] += count
    return counts


def _value_counts(rows: pa.Table, column: str, most: int | None = None) -> tuple[tuple[str, int], ...]:
    """How often each value stands in a column, the most frequent first."""
    counted = rows.group_by(column).aggregate([([], "count_all")])
    counts = dict(zip(counted[column].to_pylist(), counted["count_all"].to_pylist(), strict=True))
    return busiest(counts, len(counts) if most is None else most)


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
    place = absolute(checkpoint)
    parsed = urlparse(place)
    if parsed.scheme == "file":
        place = url2pathname(parsed.path)
    elif parsed.scheme:
        msg = f"the checkpoint {place} is not on this machine: say with `state=` where the driver keeps its files"
        raise TamisError(msg)
    return Path(place) / "tamis"
