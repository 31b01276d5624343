"""The stream between inbox and feed: a process of its own, started by the service or by hand.

It ends when its standard input does, so that it never outlives the service that started it; what it was doing is
done again by the next one, with the same result. Two of them never run at the same time on one folder.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from tamis.events.misfits import OnMisfit, check_on_misfit
from tamis.operators.discovery import OperatorSettings
from tamis.progress import Stage
from tamis.quotas import Quota
from tamis.service.accounts import Accounts
from tamis.service.feed import FeedSink
from tamis.service.inbox import Inbox
from tamis.service.inboxes import StreamPosition, open_events, open_position
from tamis.service.logs import configure
from tamis.service.names import local_name
from tamis.service.settings import ServiceSettings
from tamis.service.stream_lock import alone
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.routing.shards import Routing

_log = logging.getLogger(__name__)

STREAM = "stream"
"""The folder of the stream within that of the service."""
SNAPSHOT = "snapshot"
"""The folder of what the stream publishes, within its own."""
PROGRESS = "progress.jsonl"
LOCK = "stream.lock"
_LOOK_SECONDS = 0.2
_WARM_UP_SECONDS = 0.05
"""How often the progress of the warm-up is looked at."""
_POLL = timedelta(seconds=0.5)
_ATTEMPTS = 20
_SOURCE_SECONDS = 10.0
"""How long Spark waits for the Python process of a source."""


def start(
    settings: ServiceSettings,
    spark: SparkSession,
    stack: ExitStack,
    position: StreamPosition | None = None,
    *,
    events: DataFrame | None = None,
    name: str = "tamis",
    on_failure: Callable[[Stage, int, BaseException], None] | None = None,
) -> StreamingQuery:
    """Start the stream of a service.

    Args:
        settings: Of the service.
        spark: The session.
        stack: Gives back what is open.
        position: What tells the inbox how far the stream is; opened if not given.
        events: What to match instead of what is published.
        name: Of the query.
        on_failure: Called with the stage, the number and the error of a batch that fails.
    """
    from tamis.spark.composite_states import CompositeSettings
    from tamis.spark.event_reading import ACCEPTANCE_LATENESS, Reading
    from tamis.spark.stream_query import stream

    folder = settings.folder / STREAM
    folder.mkdir(parents=True, exist_ok=True)
    settings.operators.load()
    store = stack.enter_context(Store.open(settings.database("store")))
    places = None
    if settings.site:
        inbox = Inbox(settings.database("inbox"))
        stack.callback(inbox.close)
        places = inbox.places
    sink = FeedSink(url=settings.database("feed"), places=places)
    stack.callback(sink.close)
    sink.check()
    accounts = Accounts(settings.database("store"))
    stack.callback(accounts.close)
    position = position or open_position(settings, stack)
    reading = Reading(
        json="value",
        id_column="id",
        type_column="event_type",
        accepted_at="accepted_at",
        # The inbox gives numbers and times in one order; Kafka's partitions have none in common.
        acceptance_lateness=ACCEPTANCE_LATENESS if settings.kafka else timedelta(0),
        most_bytes=settings.event_bytes,
        event_time="time",
        shown_type=local_name,
        keep=settings.keep_attributes,
        on_misfit=on_misfit(settings),
    )
    return stream(
        open_events(settings, spark) if events is None else events,
        store,
        sink,
        checkpoint=folder / "checkpoint",
        reading=reading,
        quota=lambda: quota_of(accounts),
        trigger={"processingTime": f"{max(1, round(settings.trigger_seconds * 1000))} milliseconds"},
        snapshot=folder / SNAPSHOT,
        state=folder,
        poll=_POLL,
        fresh=True,
        shards=settings.shards,
        routing=routing_of(settings),
        backlog=position.backlog,
        name=name,
        on_failure=on_failure,
        operators=settings.operators,
        call_order=settings.call_order,
        composite=CompositeSettings(lateness=timedelta(seconds=settings.composite_lateness_seconds)),
    )


def routing_of(settings: ServiceSettings) -> Routing | None:
    """How events are sent to shards; None if there is one, however many subscriptions it has."""
    from tamis.routing.shards import Routing

    if settings.shards <= 1 and not settings.shard_limit:
        return None
    return Routing(
        budget=settings.shard_bytes,
        measure=settings.shard_measure,
        merging=settings.shard_merging,
        adapts=settings.shard_cutoff,
        shard_limit=settings.shard_limit or None,
        by_tenant=True,
    )


class RestartedQuery:
    """A query that is started again in the same Spark if that could not begin it in time.

    Spark waits ten seconds for the Python process of a source, and no setting changes that. On a busy machine they
    pass. Another attempt takes little, where a new Spark takes all that has made the machine busy. Whoever fails
    sooner, or in a batch, has another reason, and is not started again here.

    Attributes:
        query: The newest.
    """

    def __init__(self, begin: Callable[[ExitStack, Callable[..., None]], StreamingQuery]) -> None:
        """Start it: `begin` gets what is closed with the query, and what to call if a batch fails."""
        self._begin = begin
        self._open = ExitStack()
        self._attempts = 0
        self._failed_batches = 0
        self._start()

    def is_active(self) -> bool:
        """Does it run, maybe again?"""
        if self.query.isActive:
            return True
        is_late = time.monotonic() - self._since >= _SOURCE_SECONDS
        if self._failed_batches or self._attempts == _ATTEMPTS or not is_late or self.query.exception() is None:
            return False
        from tamis.spark.pipeline_run import failure_reason

        _log.warning("the query is started again: %s", failure_reason(self.query.exception()))
        self.close()
        self._start()
        return True

    def close(self) -> None:
        """Close what belongs to the query."""
        self._open.close()

    def _start(self) -> None:
        self._attempts += 1
        self._since = time.monotonic()
        self.query = self._begin(self._open, self._count_failure)

    def _count_failure(self, *_: object) -> None:
        self._failed_batches += 1


def on_misfit(settings: ServiceSettings) -> OnMisfit:
    """What becomes of misfits in the stream; what was accepted cannot be refused any more, and is a dead letter.

    Such an event was accepted before its type was declared, or reached Kafka without the service.
    """
    chosen = check_on_misfit(settings.on_misfit)
    return "dead letter" if chosen == "refuse" else chosen


def quota_of(accounts: Accounts) -> Quota:
    """The match quota of each tenant, which is the group in qualified subscription ids."""
    most = {tenant: rights.matches_per_minute for tenant, rights in accounts.tenants().items()}
    return Quota(groups={tenant: number for tenant, number in most.items() if number is not None})


def run(settings: ServiceSettings) -> int:
    """Run the stream until standard input ends or a signal says so; gives the exit code."""
    from tamis.service.warm_up import WarmUp
    from tamis.spark.pipeline_run import failure_reason, finish_batch
    from tamis.spark.session import session

    stop = threading.Event()
    threading.Thread(target=_watch_input, args=(stop,), name="tamis input", daemon=True).start()
    with ExitStack() as stack:
        if not stack.enter_context(alone(settings.folder / LOCK, stop, partial(_say, "warming up"))):
            return 0
        conf = {"spark.log.level": "OFF", "spark.driver.memory": settings.memory, "spark.ui.enabled": "false"}
        # Every batch is small: what Spark keeps of old ones would only fill the memory.
        conf |= {"spark.sql.streaming.numRecentProgressUpdates": "10", "spark.ui.retainedJobs": "10"}
        conf |= settings.spark_settings()
        _say("warming up", waits_for="Spark to start")
        warm_up = WarmUp(settings)
        spark = session("tamis", settings.master, conf, kafka=bool(settings.kafka))
        stack.callback(spark.stop)
        stack.callback(warm_up.close)
        for number in (signal.SIGINT, signal.SIGTERM):  # now: Spark takes the first of them for itself
            signal.signal(number, lambda *_: stop.set())
        _say("warming up", waits_for="the subscriptions to be published")
        position = open_position(settings, stack)
        warm_up.watch(spark)
        running = RestartedQuery(lambda *given: start(settings, spark, given[0], position, on_failure=given[1]))
        stack.callback(running.close)
        is_warm, waits_for = False, ""
        while not stop.is_set() and running.is_active():
            stop.wait(_LOOK_SECONDS if is_warm else _WARM_UP_SECONDS)
            query = running.query
            position.look(query)
            if not is_warm and warm_up.is_done(query):
                warm_up.close()
                is_warm = True
                _say("running")
            elif not is_warm and warm_up.waits_for != waits_for:
                waits_for = warm_up.waits_for
                _say("warming up", waits_for=waits_for)
        query = running.query
        failure = query.exception()
        if failure is not None:
            _say("failed", reason=failure_reason(failure))
            return 1
        _say("stopping")
        finish_batch(query)
    _say("stopped")
    return 0


def _watch_input(stop: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stop.set()


def _say(state: str, **more: Any) -> None:
    """Report the state to the service: a line of JSON on standard output."""
    print(json.dumps({"state": state, **more}), flush=True)  # noqa: T201 - this is how the two processes talk


def main() -> None:
    """The process: its settings are the first line of standard input."""
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:  # what follows the line is for _watch_input
        settings = _parse_settings(json.loads(unbuffered.readline()))
        configure(settings.log_level)
        sys.exit(run(settings))


def _parse_settings(given: Mapping[str, Any]) -> ServiceSettings:
    values: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in given.items()
    }
    values["operators"] = OperatorSettings.from_dict(given["operators"])
    return ServiceSettings(**values)


def serialize_settings(settings: ServiceSettings) -> str:
    """Settings as the first line that the process reads."""
    return json.dumps(asdict(settings))


if __name__ == "__main__":
    main()
