"""The stream between inbox and feed: a process of its own, started by the service or by hand.

It ends when its standard input does, so that it never outlives the service that started it; what it was doing is
done again by the next one, with the same result. Two of them never run at the same time on one folder.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.operators.finding import OperatorSettings
from tamis.quotas import Quota
from tamis.service.accounts import Accounts
from tamis.service.feed import FeedSink
from tamis.service.inboxes import Position, open_events, open_position
from tamis.service.reports import Shortening
from tamis.service.settings import Settings
from tamis.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger(__name__)

STREAM = "stream"
"""The folder of the stream within that of the service."""
PROGRESS = "progress.jsonl"
LOCK = "stream.lock"
_LOOK_SECONDS = 0.2
_POLL = timedelta(seconds=0.5)


def start(
    settings: Settings, spark: SparkSession, stack: ExitStack, position: Position | None = None
) -> StreamingQuery:
    """Start the stream of a service; `stack` gives back what is open."""
    from tamis.routing.shards import Routing
    from tamis.spark.event_reading import Reading
    from tamis.spark.streaming import stream

    folder = settings.folder / STREAM
    folder.mkdir(parents=True, exist_ok=True)
    operators = OperatorSettings.of(list(settings.operators)) if settings.operators else None
    if operators is not None:
        operators.load()
    store = stack.enter_context(Store.open(settings.database("store")))
    sink = FeedSink(url=settings.database("feed"))
    stack.callback(sink.close)
    accounts = Accounts(settings.database("store"))
    stack.callback(accounts.close)
    position = position or open_position(settings, stack)
    reading = Reading(
        json="value", id_column="id", type_column="event_type", most_bytes=settings.event_bytes, event_time="time"
    )
    return stream(
        open_events(settings, spark),
        store,
        sink,
        checkpoint=folder / "checkpoint",
        reading=reading,
        quota=lambda: quota_of(accounts),
        trigger={"processingTime": f"{max(1, round(settings.trigger_seconds * 1000))} milliseconds"},
        snapshot=folder / "snapshot",
        state=folder,
        poll=_POLL,
        fresh=True,
        shards=settings.shards,
        routing=Routing(by_tenant=True) if settings.shards > 1 else None,
        views=[Shortening(folder / PROGRESS)],
        backlog=position.backlog,
        name="tamis",
        operators=operators,
    )


def quota_of(accounts: Accounts) -> Quota:
    """What the subscriptions of each tenant may be told: inside, the tenant is the group in their ids."""
    most = {tenant: rights.matches_per_minute for tenant, rights in accounts.tenants().items()}
    return Quota(groups={tenant: number for tenant, number in most.items() if number is not None})


def run(settings: Settings) -> int:
    """Run the stream until standard input ends or a signal says so; gives the exit code."""
    from tamis.spark.running import finish_batch, reason
    from tamis.spark.session import session

    stop = threading.Event()
    threading.Thread(target=_watch_input, args=(stop,), name="tamis input", daemon=True).start()
    with ExitStack() as stack:
        if not stack.enter_context(_alone(settings.folder / LOCK, stop)):
            return 0
        conf = {"spark.log.level": "OFF", "spark.driver.memory": settings.memory, "spark.ui.enabled": "false"}
        # Every batch is small: what Spark keeps of old ones would only fill the memory.
        conf |= {"spark.sql.streaming.numRecentProgressUpdates": "10", "spark.ui.retainedJobs": "10"}
        conf |= settings.spark_settings()
        spark = session("tamis", settings.master, conf, kafka=bool(settings.kafka))
        stack.callback(spark.stop)
        for number in (signal.SIGINT, signal.SIGTERM):  # now: Spark takes the first of them for itself
            signal.signal(number, lambda *_: stop.set())
        position = open_position(settings, stack)
        query = start(settings, spark, stack, position)
        _say("running")
        while not stop.is_set() and query.isActive:
            stop.wait(_LOOK_SECONDS)
            position.look(query)
        failure = query.exception()
        if failure is not None:
            _say("failed", reason=reason(failure))
            return 1
        _say("stopping")
        finish_batch(query)
    _say("stopped")
    return 0


def _watch_input(stop: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stop.set()


@contextmanager
def _alone(file: Path, stop: threading.Event) -> Iterator[bool]:
    """Wait until no other stream works in the folder; False if told to stop before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if stop.wait(_LOOK_SECONDS):
                    yield False
                    return
        yield True


def _say(state: str, **more: Any) -> None:
    """Tell the service how it goes: a line of JSON on standard output."""
    print(json.dumps({"state": state, **more}), flush=True)  # noqa: T201 - this is how the two processes talk


def main() -> None:
    """The process: its settings are the first line of standard input."""
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:  # what follows the line is for _watch_input
        sys.exit(run(_settings(json.loads(unbuffered.readline()))))


def _settings(given: Mapping[str, Any]) -> Settings:
    values: dict[str, Any] = {
        name: tuple(each) if isinstance(each, list) else each for name, each in given.items()
    }
    return Settings(**values)


def described(settings: Settings) -> str:
    """Settings as the first line that the process reads."""
    return json.dumps(asdict(settings))


if __name__ == "__main__":
    main()
