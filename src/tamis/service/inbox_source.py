"""The inbox as a data source of Spark: an offset is the number of an event, a partition a range of numbers.

Spark makes a reader for every task. Connections to the database are kept by the process, not by the reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from tamis.service.inbox import Inbox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = "tamis_inbox"
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("event_type", pa.string()),
        ("value", pa.binary()),
        ("accepted_at", pa.timestamp("us", "UTC")),
    ]
)
_ROWS = 20_000
"""Read at once within a partition."""


def open_inbox(spark: SparkSession, url: str, *, most_events: int, partitions: int) -> DataFrame:
    """The events of an inbox as a stream, with columns `id`, `event_type`, `value` and `accepted_at`.

    Args:
        spark: The session.
        url: Of the database.
        most_events: Of a batch.
        partitions: Into how many parts a batch is read.
    """
    spark.dataSource.register(InboxSource)
    options = {"url": url, "most_events": str(most_events), "partitions": str(partitions)}
    return spark.readStream.format(NAME).options(**options).load()


class InboxSource(DataSource):
    """The data source that Spark finds by its name."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return NAME

    def schema(self) -> str:
        return "id string, event_type string, value binary, accepted_at timestamp"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        options = self.options
        return InboxReader(options["url"], int(options["most_events"]), int(options["partitions"]))


@dataclass(frozen=True, slots=True)
class NumberRange(InputPartition):
    """The events after one number and up to another."""

    after: int
    upto: int


class InboxReader(DataSourceStreamReader):
    """Reads an inbox; Spark makes one in each process that needs it."""

    def __init__(self, url: str, most_events: int, partitions: int) -> None:
        self._url = url
        self._most_events = most_events
        self._partitions = partitions

    def initialOffset(self) -> dict[str, int]:
        """Before the first event."""
        return {"number": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """A batch of at most so many events."""
        return ReadMaxRows(self._most_events)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """As far as there are events, and as far as the limit goes."""
        end = self._inbox.end()
        if not isinstance(limit, ReadAllAvailable):
            end = min(end, start["number"] + self._most_events)
        return {"number": max(end, start["number"])}

    def reportLatestOffset(self) -> dict[str, int]:
        """As far as there are events."""
        return {"number": self._inbox.end()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Ranges of numbers, about equal."""
        first, last = start["number"], end["number"]
        if first < last:
            self._inbox.begin(last)
        size = -(-(last - first) // self._partitions) or 1
        return [NumberRange(at, min(at + size, last)) for at in range(first, last, size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a range."""
        assert isinstance(partition, NumberRange), "made by `partitions`"
        for after in range(partition.after, partition.upto, _ROWS):
            rows = self._inbox.between(after, min(after + _ROWS, partition.upto))
            columns = zip(*rows, strict=True) if rows else ((),) * len(_SCHEMA)
            arrays = [pa.array(values, each.type) for values, each in zip(columns, _SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def stop(self) -> None:
        """Close the connections of this process."""
        self._inbox.close()

    @property
    def _inbox(self) -> Inbox:
        return _inbox_of_process(self._url)


@cache
def _inbox_of_process(url: str) -> Inbox:
    return Inbox(url)
