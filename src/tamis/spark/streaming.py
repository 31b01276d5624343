"""`tamis.spark.stream`: events in, notifications out, each match recorded once.

A micro-batch is pinned to a version of the subscriptions before it is matched, and committed by its sink under
(query, batch) after it. Everything in between is a function of the events, the pinned version, the time written
down with the pin and the state after the batch before: so a batch that is done again after a crash gives the same,
and a sink that has it already takes nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.matchers import Matchers
from tamis.notifications import DEAD_LETTERS, NOTIFICATIONS, dead_letter_ids, notification_ids
from tamis.operators.finding import INSTALLED, OperatorSettings
from tamis.operators.reporting import Ledger, summed
from tamis.places import absolute
from tamis.progress import BatchReport, History, View, busiest
from tamis.quotas import Quota, Quotas, by_group
from tamis.routing.shards import Routing
from tamis.sinks.base import Delivery, Sink
from tamis.spark.event_reading import Reading
from tamis.spark.live import LiveSubscriptions
from tamis.spark.matching import check_columns
from tamis.spark.routing import RouteTask
from tamis.spark.shards import Plan, Sharding, sent
from tamis.spark.stream_task import (
    CALLED,
    DEAD,
    EVENTS,
    FOUND_SQL,
    LEARNED,
    OVERFLOW,
    PAIR,
    USEFUL,
    VISITS,
    StreamTask,
    learned_in,
    reports_in,
)
from tamis.spark.worker import Edition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

OPERATORS_FILE = "operators.json"
"""In the state: what operators did in all runs of the query, and what their calls cost."""
_BUSIEST = 20


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
    engine: str = "auto",
    shards: int = 1,
    routing: Routing | None = None,
    poll: timedelta = timedelta(seconds=1),
    fresh: bool = False,
    retention: timedelta = timedelta(hours=1),
    views: Sequence[View] = (),
    backlog: Callable[[int], int | None] | None = None,
    name: str | None = None,
    operators: OperatorSettings | Sequence[str] | None = None,
) -> StreamingQuery:
    """Match a stream of events with subscriptions that may change all the time.

    Args:
        events: A streaming DataFrame.
        subscriptions: A `tamis.store.Store`, its path or URL, a folder of changes, or the URL of a snapshot that
            somebody else publishes. A change is seen by the first micro-batch that begins after its version was
            published.
        sink: Where notifications and dead letters go.
        checkpoint: Spark's folder for this query and no other.
        reading: How events are read; by default each has an `id`, and attributes are columns.
        quota: How many notifications a subscription may give; or what tells it, asked at each batch.
        trigger: The arguments of Spark's `trigger`, such as `{"availableNow": True}`.
        snapshot: Where to publish subscriptions, as driver and workers reach it; by default `snapshot` in `state`.
        state: A folder of the driver for the quotas, the history and what operators did; by default `tamis` in
            the checkpoint.
        engine: A name of `tamis.engines.ENGINES`, or "auto".
        shards: Over how many parts subscriptions are dealt, when a worker cannot hold them all.
        routing: Deal them by similarity, and send an event only to shards that may have something for it; every
            event visits all shards without.
        poll: How often the store is asked for changes.
        fresh: Publish what has changed before each batch? Then a subscription that was in the store before an
            event reached the source meets the event, and a batch waits for publishing.
        retention: For how long a version of the subscriptions that is no longer the newest stays, unless pinned.
        views: Who wants to see what each batch did.
        backlog: Tells how many events wait, given how many this query has seen since it was started, where Spark's
            own progress does not (it does for Kafka).
        name: Of the query, for Spark's own pages.
        operators: Where the operators come from that conditions call: the names of modules that driver and workers
            can import, or settings. Those of installed packages are found without.

    Returns:
        Spark's streaming query.

    Raises:
        TamisError: Events are no stream, or the session is one of Spark Connect, where the driver is elsewhere.
        EventError: Events lack a column that `reading` names.
        OperatorError: An operator cannot be loaded on the driver.
    """
    if not events.isStreaming:
        msg = "expected a streaming DataFrame (readStream); for others there is tamis.spark.match"
        raise TamisError(msg)
    if type(events).__module__.startswith("pyspark.sql.connect"):
        msg = "stream does not work over Spark Connect: pins and sinks need the driver; use a classic session"
        raise TamisError(msg)
    reading = reading or Reading()
    check_columns(events, reading.columns())
    settings = OperatorSettings.of(operators)
    settings.load()
    place = state_folder(checkpoint, state)
    live = LiveSubscriptions(
        subscriptions,
        place / "snapshot" if snapshot is None else snapshot,
        place,
        poll_seconds=poll.total_seconds(),
        retention_seconds=retention.total_seconds(),
    )
    batches = Batches(
        live,
        sink,
        reading,
        None if quota is None else Quotas(quota, place / "quotas"),
        History(place / "progress.jsonl"),
        views,
        engine,
        Sharding(shards, routing, retention.total_seconds()),
        backlog,
        settings,
        Ledger(place / OPERATORS_FILE),
        fresh=fresh,
    )
    writer = events.writeStream.foreachBatch(batches).option("checkpointLocation", absolute(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    started: list[StreamingQuery] = []
    live.start(lambda: not started or started[0].isActive)
    try:
        started.append(writer.start())
    except BaseException:
        live.close()
        raise
    batches.query = started[0]
    return started[0]


@dataclass(slots=True)
class Batches:
    """What is done with each micro-batch.

    Attributes:
        live: The subscriptions.
        sink: Where notifications go.
        reading: How events are read.
        quotas: What subscriptions have used of their quota, if there is one.
        history: Where reports are kept.
        views: Who sees them.
        engine: That matches.
        sharding: Deals subscriptions to shards.
        backlog: Tells how many events wait, if Spark does not.
        operators: Where operators come from.
        ledger: Where is kept what they did, if anywhere.
        query: Spark's query, once it has started.
        fresh: Is what has changed published before each batch?
    """

    live: LiveSubscriptions
    sink: Sink
    reading: Reading
    quotas: Quotas | None
    history: History
    views: Sequence[View]
    engine: str = "auto"
    sharding: Sharding = field(default_factory=Sharding)
    backlog: Callable[[int], int | None] | None = None
    operators: OperatorSettings = INSTALLED
    ledger: Ledger | None = None
    query: StreamingQuery | None = None
    fresh: bool = False
    _seen: int = 0

    def __call__(self, events: DataFrame, batch: int) -> None:
        """What Spark calls for a micro-batch, maybe again for the same one."""
        started = time.perf_counter()
        context = events.sparkSession.sparkContext
        query = str(context.getLocalProperty("sql.streaming.queryId"))
        version, at = self._pin(query, batch)
        store_version, lag = self.live.store_version(version), self.live.lag_seconds()
        context.setJobDescription(f"tamis: match batch {batch} with version {version} of the subscriptions")
        plan = self._plan(events, version)
        quota = None if self.quotas is None else self.quotas.quota(query, batch)
        found = self._match(events, plan, quota)
        matched = time.perf_counter()
        pairs = _notifications(_of_kind(found, PAIR), version, at)
        dead = _dead_letters(_of_kind(found, DEAD), at)
        overflow = _overflow(_of_kind(found, OVERFLOW))
        kept = pairs
        if self.quotas is not None:
            kept, more = self.quotas.apply(query, batch, at, pairs)
            overflow.update(more)
        before = time.perf_counter()
        context.setJobDescription(f"tamis: commit batch {batch}")
        committed = self.sink.commit(Delivery(query, batch, at, version, kept, dead))
        ended = time.perf_counter()
        count, visits, useful = (_counted(found, kind) for kind in (EVENTS, VISITS, USEFUL))
        called = summed(reports_in(_of_kind(found, CALLED)))
        report = BatchReport(
            query=query,
            batch=batch,
            at=at,
            seconds=ended - started,
            match_seconds=matched - started,
            commit_seconds=ended - before,
            events=count,
            matched_events=pc.count_distinct(pairs["event_id"]).as_py(),
            notifications=committed.written,
            repeated=committed.repeated,
            overflow=overflow.total(),
            dead=dead.num_rows,
            backlog=self._waiting(count),
            version=version,
            store_version=store_version,
            lag_seconds=lag,
            busiest=_busiest(pairs),
            operators=called,
            shards=len(plan.editions),
            visits=visits,
            useful_visits=useful,
            overflow_by_group=() if quota is None else tuple(sorted(by_group(overflow, quota).items())),
        )
        if self.ledger is not None:
            self.ledger.add(called, learned_in(_of_kind(found, LEARNED)))
        self.history.append(report)
        for view in self.views:
            view.show(report)

    def _waiting(self, events: int) -> int | None:
        """The events that wait after this batch; Spark's last progress is that of the batch before."""
        self._seen += events
        if self.backlog is not None:
            return self.backlog(self._seen)
        before = waiting(None if self.query is None else self.query.lastProgress)
        return None if before is None else max(0, before - events)

    def _pin(self, query: str, batch: int) -> tuple[int, datetime]:
        """The version and the time of a batch: written down before anything else, found again in a replay.

        The pins of earlier batches are released: Spark has committed them, or this one would not have begun.
        """
        snapshots = self.live.snapshots
        holder = _holder(query, batch)
        if self.fresh and holder not in snapshots.pins():
            self.live.publish()
        version = snapshots.pin(holder, self.live.newest())
        pins = snapshots.pins()
        snapshots.manifest(version)  # a pinned version that is missing is an error, never another one instead
        for other in pins:
            of, _, number = other.rpartition("/")
            if of == query and number.isdigit() and int(number) < batch:
                snapshots.unpin(other)
        return version, pins[holder].created

    def _plan(self, events: DataFrame, version: int) -> Plan:
        edition = Edition(self.live.url, version, self.engine, operators=self.operators)
        return self.sharding.plan(edition, lambda rows: self._sample(events, version, rows))

    def _sample(self, events: DataFrame, version: int, rows: int) -> list[EventBatch]:
        """Some events of a batch, as they are read."""
        described = self.live.snapshots.manifest(version).event_types.values()
        matchers = Matchers(EventType.of(dict(each)) for each in described)
        return [read.batch for read in self.reading.read(matchers, events.limit(rows).toArrow(), [])]

    def _match(self, events: DataFrame, plan: Plan, quota: Quota | None) -> pa.Table:
        reading = self.reading
        task = StreamTask(
            plan.editions,
            reading,
            quota if quota is not None and quota.is_limit else None,
            None if self.ledger is None else self.ledger.costs(),
            None if self.ledger is None else self.ledger.learned(),
            plan.routes is not None,
        )
        route = None if plan.routes is None else RouteTask(plan.routes, reading)
        spread = reading.event_id if reading.json is None else reading.json
        return sent(events, len(plan.editions), spread, route).mapInArrow(task, FOUND_SQL).toArrow()


def _holder(query: str, batch: int) -> str:
    return f"{query}/{batch}"


def _of_kind(found: pa.Table, kind: int) -> pa.Table:
    return found.filter(pc.equal(found["row_kind"], kind))


def _counted(found: pa.Table, kind: int) -> int:
    """The sum of the numbers in rows of a kind."""
    return int(pc.sum(_of_kind(found, kind)["count"]).as_py() or 0)


def _overflow(found: pa.Table) -> Counter[str]:
    """How many matches workers left out, by subscription."""
    counts: Counter[str] = Counter()
    for subscription, count in zip(found["subscription_id"].to_pylist(), found["count"].to_pylist(), strict=True):
        counts[subscription] += count
    return counts


def _notifications(pairs: pa.Table, version: int, at: datetime) -> pa.Table:
    columns = {name: pairs[name] for name in pairs.column_names if name in NOTIFICATIONS.names}
    columns["id"] = notification_ids(pairs["event_id"], pairs["subscription_id"], pairs["revision"])
    columns["version"] = pa.repeat(pa.scalar(version, pa.int64()), pairs.num_rows)
    columns["matched_at"] = pa.repeat(pa.scalar(at, pa.timestamp("us", "UTC")), pairs.num_rows)
    return pa.table([columns[field.name].cast(field.type) for field in NOTIFICATIONS], schema=NOTIFICATIONS)


def _dead_letters(dead: pa.Table, at: datetime) -> pa.Table:
    columns = {name: dead[name] for name in dead.column_names if name in DEAD_LETTERS.names}
    columns["id"] = dead_letter_ids(dead["kind"], dead["original"])
    columns["at"] = pa.repeat(pa.scalar(at, pa.timestamp("us", "UTC")), dead.num_rows)
    return pa.table([columns[field.name].cast(field.type) for field in DEAD_LETTERS], schema=DEAD_LETTERS)


def _busiest(pairs: pa.Table) -> tuple[tuple[str, int], ...]:
    counted = pairs.group_by("subscription_id").aggregate([([], "count_all")])
    counts = dict(zip(counted["subscription_id"].to_pylist(), counted["count_all"].to_pylist(), strict=True))
    return busiest(counts, _BUSIEST)


def waiting(progress: Any) -> int | None:
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
        TamisError: The checkpoint is not on this machine, and nobody said where.
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
