"""Where published events go and where the stream reads them: a database alone, or Kafka with a copy in a database.

Nothing else in the service knows which of the two it is.
"""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from tamis.errors import TamisError
from tamis.service.inbox import Inbox
from tamis.service.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.service.kafka import Watermarks

_log = logging.getLogger(__name__)


def open_inbox(settings: Settings) -> Inbox:
    """The inbox that publishers write to.

    Raises:
        TamisError: It cannot be reached.
    """
    url = settings.database("inbox")
    if not settings.kafka:
        return Inbox(url)
    from tamis.service.kafka import KafkaLog, Topic

    log = KafkaLog(Topic.of(settings.kafka), most_bytes=settings.event_bytes)
    try:
        return Inbox(url, log)
    except BaseException:
        log.close()
        raise


def open_events(settings: Settings, spark: SparkSession) -> DataFrame:
    """What was published, as the stream reads it: columns `id`, `event_type` and `value`."""
    if settings.kafka:
        from tamis.service.kafka import Topic, make_topic, open_topic

        topic = Topic.of(settings.kafka)
        make_topic(topic)
        return open_topic(spark, topic, most_events=settings.batch_events)
    from tamis.service.inbox_source import open_inbox as open_source

    cores = spark.sparkContext.defaultParallelism
    return open_source(spark, settings.database("inbox"), most_events=settings.batch_events, partitions=cores)


class Position(Protocol):
    """Tells the inbox how far the stream is."""

    def backlog(self, seen: int) -> int | None:
        """A batch is done: how many events wait?"""

    def look(self, query: StreamingQuery) -> None:
        """Now and then, whether there are batches or not."""


def open_position(settings: Settings, stack: ExitStack) -> Position:
    """What tells the inbox how far the stream is; `stack` gives back what is open."""
    inbox = Inbox(settings.database("inbox"))
    stack.callback(inbox.close)
    if not settings.kafka:
        return _InDatabase(inbox)
    from tamis.service.kafka import Topic, Watermarks

    watermarks = Watermarks(Topic.of(settings.kafka))
    stack.callback(watermarks.close)
    return _InKafka(inbox, watermarks)


class _InDatabase:
    """The source says which events a batch reads; when the batch is committed they are done."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def backlog(self, seen: int) -> int | None:
        self._inbox.finish()
        return self._inbox.waiting()

    def look(self, query: StreamingQuery) -> None:
        """Every batch says so itself."""


class _InKafka:
    """A copy has no place in Kafka: when nothing waits there, all copies are done that were made before."""

    def __init__(self, inbox: Inbox, watermarks: Watermarks) -> None:
        self._inbox = inbox
        self._watermarks = watermarks
        self._trouble: str | None = None

    def backlog(self, seen: int) -> int | None:
        """What Spark says of the batch before is old news; `look` comes soon."""
        return self._inbox.waiting()

    def look(self, query: StreamingQuery) -> None:
        if not self._inbox.waiting():
            return
        end = self._inbox.end()
        try:
            behind = self._watermarks.behind(_done(query.lastProgress))
        except TamisError as error:
            if str(error) != self._trouble:
                _log.warning("%s", error)
            self._trouble = str(error)
            return
        self._inbox.finish_upto(end - behind)


def _done(progress: Any) -> dict[str, int] | None:
    """The number of the next record of each partition that the stream has not done with."""
    if progress is None:
        return None
    offsets = progress["sources"][0]["endOffset"]
    found = json.loads(offsets) if isinstance(offsets, str) else offsets
    return None if not found else dict(next(iter(found.values())))
