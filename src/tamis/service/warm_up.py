"""The warm-up: events of the stream's own pass through Spark before the service calls itself ready.

They pass through a rehearsal: the same query, started by the same function in the same Spark, on databases of its
own in a folder that is deleted afterwards. It leaves behind what the first real event needs: Python workers,
kernels that are compiled and loaded, and Spark's plans and classes. It never opens a database or a topic of the
service, so no feed, count, quota, report, webhook or reader of a topic can meet anything of it.

The query itself runs beside the rehearsal and matches what is published; only `/ready` waits for both.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import logging
import shutil
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from tamis import kernels, warm
from tamis.errors import SnapshotError, TamisError
from tamis.events.event_type import EventType
from tamis.operators.discovery import OperatorSettings
from tamis.segments.published import PARTS
from tamis.service.feed import FeedReader
from tamis.service.inbox import Arrival, Inbox
from tamis.service.names import qualified_name
from tamis.service.settings import ServiceSettings
from tamis.service.stream import SNAPSHOT, STREAM, RestartedQuery, start
from tamis.snapshot import Snapshots
from tamis.spark.checkpoint_lock import LOCK
from tamis.spark.pipeline_run import failure_reason
from tamis.spark.session import is_local
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

FOLDER = "warm-up"
"""Of the rehearsal, within that of the stream."""
_TENANT = "warm-up"
_DECLARED = EventType.of(
    {
        "name": qualified_name(_TENANT, "declared"),
        "attributes": {
            "quantity": "int",
            "price": "double",
            "amount": "decimal(10,2)",
            "brand": "string",
            "title": "string",
            "sold": "boolean",
            "time": "timestamp",
            "tags": {"type": "array", "items": "string"},
        },
    }
)
_SCHEMALESS = EventType(qualified_name(_TENANT, "schemaless"))
_TYPES = (_DECLARED, _SCHEMALESS)
_EVENT = {
    "quantity": 3,
    "price": 9.5,
    "amount": 12.34,
    "brand": "b7",
    "title": "a red bicycle, number 7",
    "sold": True,
    "time": "2026-01-02T03:04:05Z",
    "tags": ["new", "red"],
}
_CONDITIONS = (
    "quantity > 0",
    "price < {0} AND brand = 'b{0}'",
    "quantity BETWEEN {0} AND {0} + 9 OR title LIKE '%number {0}%'",
    "brand IN ('b{0}', 'c{0}', 'd{0}') AND NOT (price >= {0})",
    "title RLIKE 'b.*cle' AND quantity = {0}",
    "lower(brand) = 'b{0}' OR (sold AND price > {0}.5)",
    "brand LIKE 'b{0}%' XOR quantity <> {0}",
)
_SUBSCRIPTIONS = 100
"""To each type, at first."""
_ROUNDS = 3
"""Batches of the rehearsal. Spark gives a worker any part of a batch, to read or to match it: after a few batches
every worker has had each. Each but the first has a new version of the subscriptions."""
_TRIGGER_SECONDS = 0.05
_EVENT_BYTES = 1 << 20
"""Its events are not too long, whatever the service allows."""


class WarmUpFailed(TamisError):
    """Events of the stream's own do not pass through: the message says why."""


class WarmUp:
    """Loads the kernels, then rehearses beside a query, and waits for that query's first look at its source.

    Attributes:
        waits_for: What is still to be done.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        """Begin to load the kernels of this process, which are compiled if they have never been."""
        self.waits_for = "the kernels to be loaded"
        self._folder = settings.folder / STREAM / FOLDER
        own = replace(settings, data=str(self._folder), store="", feed="", inbox="", kafka="")
        self._settings = replace(own, event_bytes=_EVENT_BYTES, trigger_seconds=_TRIGGER_SECONDS)
        # Workers of a cluster do not reach the inbox of the rehearsal, and with Kafka nobody reads an inbox.
        self._has_inbox = not settings.kafka and is_local(settings.master)
        self._open = ExitStack()
        self._triggers = _Triggers()
        self._spark: SparkSession | None = None
        self._rehearsal: RestartedQuery | None = None
        self._store: Store | None = None
        self._inbox: Inbox | None = None
        self._feed: FeedReader | None = None
        self._events = self._rounds = self._notified = self._subscriptions = 0
        self._loading = _Loading(settings)
        self._loading.start()

    def watch(self, spark: SparkSession) -> None:
        """Watch for first triggers; to be called before the query is started, or its own would be missed."""
        self._spark = spark
        spark.streams.addListener(self._triggers)
        self._open.callback(spark.streams.removeListener, self._triggers)

    def is_done(self, query: StreamingQuery) -> bool:
        """Have the rehearsal's events come back in all rounds, and has the query itself looked for events once?

        If events waited for the query, it has done its first batch by then. To be called again and again: what is
        to be done next begins here.

        Raises:
            WarmUpFailed: It never will.
        """
        if self._rehearsal is None:
            if kernels.compilations.count:
                self.waits_for = "the kernels to be compiled, which happens once on a machine"
            if self._loading.is_loaded():
                self.waits_for = "an event of the stream's own to pass through"
                self._rehearsal = self._rehearse()
            return False
        assert self._feed is not None, "opened for the rehearsal"
        if not self._rehearsal.is_active():
            msg = f"an event of the stream's own did not pass: {failure_reason(self._rehearsal.query.exception())}"
            raise WarmUpFailed(msg)
        end = self._feed.end()
        if self._rounds < _ROUNDS and end > self._notified:  # a batch is committed whole
            self._rounds, self._notified = self._rounds + 1, end
            if self._rounds < _ROUNDS:
                self._subscribe(1)
                self._publish()
        return self._rounds == _ROUNDS and str(query.runId) in self._triggers.done

    def close(self) -> None:
        """Stop the rehearsal, and delete everything that it has written."""
        self._open.close()

    def _rehearse(self) -> RestartedQuery:
        """Start the rehearsal; a killed one may have left its folder."""
        assert self._spark is not None, "known by `watch`"
        self._remove_folder()
        self._folder.mkdir(parents=True)
        self._open.callback(self._remove_folder)
        self._store = self._open.enter_context(Store.open(self._settings.database("store")))
        for event_type in _TYPES:
            self._store.set_event_type(event_type)
        self._subscribe(_SUBSCRIPTIONS)
        self._feed = FeedReader(self._settings.database("feed"))
        self._open.callback(self._feed.close)
        tasks, events = self._spark.sparkContext.defaultParallelism, None
        self._events = len(_TYPES) * tasks
        if self._has_inbox:
            self._inbox = Inbox(self._settings.database("inbox"))
            self._open.callback(self._inbox.close)
            self._publish()
        else:
            events = _generated_events(self._spark, self._events, tasks)
        settings = replace(self._settings, batch_events=self._events)
        spark = self._spark

        def begin(stack: ExitStack, on_failure: Callable[..., None]) -> StreamingQuery:
            query = start(settings, spark, stack, events=events, name="tamis warm-up", on_failure=on_failure)
            stack.callback(self._wait_for_publisher)
            stack.callback(query.stop)
            return query

        rehearsal = RestartedQuery(begin)
        self._open.callback(rehearsal.close)
        return rehearsal

    def _subscribe(self, count: int) -> None:
        """Add so many subscriptions to each type."""
        assert self._store is not None, "opened for the rehearsal"
        numbers = range(self._subscriptions, self._subscriptions + count)
        refusals = self._store.add_many([_subscription(each, n) for each in _TYPES for n in numbers]).refusals
        assert not refusals, refusals[0]
        self._subscriptions += count

    def _publish(self) -> None:
        """Publish an event of each type for every task; Spark makes them itself if there is no inbox."""
        if self._inbox is None:
            return
        value = json.dumps(_EVENT).encode()
        ids = (qualified_name(_TENANT, f"{self._rounds}-{number}") for number in range(self._events))
        types = itertools.cycle(each.name for each in _TYPES)
        self._inbox.append([Arrival(id, event_type, value) for id, event_type in zip(ids, types, strict=False)])

    def _wait_for_publisher(self) -> None:
        """Wait until the thread that publishes subscriptions has seen that the rehearsal ended.

        It holds the checkpoint's lock until then; if the folder went before, it would complain.
        """
        with (self._settings.folder / STREAM / LOCK).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def _remove_folder(self) -> None:
        if self._folder.exists():
            shutil.rmtree(self._folder)


def uses_of(settings: ServiceSettings) -> warm.Uses:
    """What the stream does, by its settings and by what it has published last."""
    has_composites = False
    published = Snapshots(settings.folder / STREAM / SNAPSHOT)
    if published.latest() is not None:
        try:
            has_composites = bool(published.manifest().extra.get(PARTS))
        except SnapshotError as error:  # the query reports it, too; kernels are loaded all the same
            _log.warning("it is not known whether there are composite subscriptions: %s", error)
    has_operators = settings.operators != OperatorSettings()
    return warm.Uses(operators=has_operators, composite=has_composites, routing=settings.shards > 1)


class _Loading(threading.Thread):
    """Loads the kernels that the stream uses while Spark starts."""

    def __init__(self, settings: ServiceSettings) -> None:
        super().__init__(name="tamis kernels", daemon=True)
        self._settings = settings
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            warm.load(uses_of(self._settings))
        except BaseException as error:
            self._error = error

    def is_loaded(self) -> bool:
        """Are they?

        Raises:
            WarmUpFailed: They cannot be.
        """
        if not self.is_alive() and self._error is not None:
            msg = f"kernels cannot be loaded: {self._error!r}"
            raise WarmUpFailed(msg) from self._error
        return not self.is_alive()


class _Triggers(StreamingQueryListener):
    """The runs of queries that have done a batch, or found that there is nothing to do."""

    def __init__(self) -> None:
        self.done: set[str] = set()

    def onQueryStarted(self, event: Any) -> None:
        """It has not looked yet."""

    def onQueryProgress(self, event: Any) -> None:
        self.done.add(str(event.progress.runId))

    def onQueryIdle(self, event: Any) -> None:
        self.done.add(str(event.runId))

    def onQueryTerminated(self, event: Any) -> None:
        """Whoever waits for it sees that by itself."""


def _subscription(event_type: EventType, number: int) -> dict[str, Any]:
    """One of those of all kinds of predicates; that of number 0 is to every event."""
    return {
        "id": f"{event_type.name}-{number}",
        "condition": _CONDITIONS[number % len(_CONDITIONS)].format(number),
        "event_type": event_type.name,
        "owner": _TENANT,
    }


def _generated_events(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    """The events of a rehearsal, made by Spark itself."""
    options = {"rowsPerBatch": str(count), "numPartitions": str(partitions)}
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    declared, schemaless = (each.name for each in _TYPES)
    return rows.selectExpr(
        f"concat('{_TENANT}/', value) AS id",
        f"if(value % 2 = 0, '{declared}', '{schemaless}') AS event_type",
        f"cast('{json.dumps(_EVENT)}' AS binary) AS value",
        "timestamp AS accepted_at",
    )
