"""Where published events are written and the stream reads them: a database, or Kafka with a copy in a database.

No other module of the service knows which of the two is in use.
"""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from tamis.errors import TamisError
from tamis.service.inbox import Inbox
from tamis.service.settings import ServiceSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tamis.service.kafka import Watermarks

_log = logging.getLogger(__name__)


def open_inbox(settings: ServiceSettings) -> Inbox:
    """The inbox that publishers write to.

    Raises:
        TamisError: It cannot be reached.
    """
    url = settings.database("inbox")
    if not settings.kafka:
        return Inbox(url)
    from tamis.service.kafka import KafkaLog

    log = KafkaLog(settings.kafka_topic(), most_bytes=settings.event_bytes)
    try:
        return Inbox(url, log)
    except BaseException:
        log.close()
        raise


def open_events(settings: ServiceSettings, spark: SparkSession) -> DataFrame:
    """What was published, as the stream reads it: columns `id`, `event_type` and `value`."""
    if settings.kafka:
        from tamis.service.kafka import make_topic, open_topic

        topic = settings.kafka_topic()
        make_topic(topic)
        return open_topic(spark, topic, most_events=settings.batch_events)
    from tamis.service.inbox_source import open_inbox as open_source

    cores = spark.sparkContext.defaultParallelism
    return open_source(spark, settings.database("inbox"), most_events=settings.batch_events, partitions=cores)


class StreamPosition(Protocol):
    """Tells the inbox how far the stream is."""

    def backlog(self, seen: int) -> int | None:
        """A batch is done: how many events wait?"""

    def look(self, query: StreamingQuery) -> None:
        """Now and then, whether there are batches or not."""


def open_position(settings: ServiceSettings, stack: ExitStack) -> StreamPosition:
    """What tells the inbox how far the stream is; `stack` gives back what is open."""
    inbox = Inbox(settings.database("inbox"))
    stack.callback(inbox.close)
    if not settings.kafka:
        return _DatabasePosition(inbox)
    from tamis.service.kafka import Watermarks

    watermarks = Watermarks(settings.kafka_topic())
    stack.callback(watermarks.close)
    return _KafkaPosition(inbox, watermarks)


class _DatabasePosition:
    """The source says which events a batch reads; when the batch is committed they are done."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def backlog(self, seen: int) -> int | None:
        self._inbox.finish()
        return self._inbox.waiting()

    def look(self, query: StreamingQuery) -> None:
        """Every batch says so itself."""


class _KafkaPosition:
    """A copy has no place in Kafka: when nothing waits there, all copies are done that were made before."""

    def __init__(self, inbox: Inbox, watermarks: Watermarks) -> None:
        self._inbox = inbox
        self._watermarks = watermarks
        self._failure: str | None = None

    def backlog(self, seen: int) -> int | None:
        """Spark reports the batch before this one, so `look` updates the position instead."""
        return self._inbox.waiting()

    def look(self, query: StreamingQuery) -> None:
        if not self._inbox.waiting():
            return
        end = self._inbox.end()
        try:
            behind = self._watermarks.behind(_next_offsets(query.lastProgress))
        except TamisError as error:
            if str(error) != self._failure:
                _log.warning("%s", error)
            self._failure = str(error)
            return
        self._inbox.finish_upto(end - behind)


def _next_offsets(progress: Any) -> dict[str, int] | None:
    """The number of the next record of each partition that the stream has not done with."""
    if progress is None:
        return None
    offsets = progress["sources"][0]["endOffset"]
    found = json.loads(offsets) if isinstance(offsets, str) else offsets
    return None if not found else dict(next(iter(found.values())))
