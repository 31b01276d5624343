"""The sink `kafka`: topics of notifications and dead letters, through Spark's own connector, at least once.

Tasks make records, and Spark's connector sends them from the workers, outside of transactions. If a process is
killed after records were sent and before their commit is written in the state folder, the replay sends the same
records again: same key, same value. The key is the notification's id, so a consumer (or a compacted topic) can
keep one of each. Headers tell the id, the subscription, its owner and the event type, so that consumers filter
without parsing.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from tamis.notifications import Keys
from tamis.sinks.base import (
    RECORDS,
    RETENTION,
    BatchKey,
    Committed,
    Delivery,
    DistinctLetters,
    Part,
    SinkError,
    require,
    require_duration,
)
from tamis.sinks.folder_commits import KEPT_COMMITS, FolderCommits, batch_name
from tamis.sinks.formats import json_lines
from tamis.sinks.kafka_security import KafkaSecurity
from tamis.sinks.ledger import LedgerView, TaskLedger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONNECT_SECONDS = 10
_MOST_JOBS = 8
"""For so many different priorities in a batch there is a job each."""
_HEADERS = {"id": "id", "subscription": "subscription_id", "tenant": "owner", "type": "event_type", "kind": "kind"}
"""The columns that go into headers, by the header's name."""


class KafkaSink:
    """Topics of Kafka; keys are ids, values JSON.

    Example:
        >>> sink = KafkaSink(bootstrap_servers="broker:9092", topic="found", dead_topic="bad", state="state")
        >>> sink.describe()
        'Kafka topic found (dead letters: bad) at broker:9092, at least once'
    """

    name: ClassVar[str] = "kafka"
    exactly_once: ClassVar[bool] = False

    def __init__(
        self,
        *,
        bootstrap_servers: str,
        topic: str,
        dead_topic: str,
        state: str | os.PathLike[str],
        retention: timedelta = RETENTION,
        security: KafkaSecurity | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            bootstrap_servers: `host:port`, several with commas.
            topic: Where notifications go.
            dead_topic: Where dead letters go.
            state: The path or URL of a folder that remembers what was sent, which driver and workers share.
            retention: For how long a notification is remembered, so that it is not sent again.
            security: TLS, and as whom; by default neither.
            options: More options of Spark's connector, such as `kafka.compression.type`.

        Raises:
            SinkError: An argument is not of its type.
        """
        texts = {"bootstrap_servers": bootstrap_servers, "topic": topic, "dead_topic": dead_topic}
        for argument, value in texts.items():
            require(self.name, argument, value, str, "a text")
        require(self.name, "state", state, (str, os.PathLike), "a path or URL")
        require_duration(self.name, "retention", retention)
        require(self.name, "options", {} if options is None else options, Mapping, "a table of texts")
        for option, value in (options or {}).items():
            require(self.name, f"options.{option}", value, str, "a text")
        security = KafkaSecurity() if security is None else security
        require(self.name, "security", security, KafkaSecurity, "a KafkaSecurity")
        self._servers = [_server(each) for each in bootstrap_servers.split(",")]
        self._topic, self._dead_topic = topic, dead_topic
        self._options = {
            **security.spark_options(),
            **(options or {}),
            "kafka.bootstrap.servers": bootstrap_servers,
        }
        self._commits = FolderCommits(state, retention, keep=KEPT_COMMITS)

    def commit(self, delivery: Delivery) -> Committed:
        """Send the records of a batch, then remember that they were sent."""
        return self._commits.commit(delivery, self._send)

    def task_writer(self, batch: BatchKey) -> KafkaTaskWriter:
        """What makes records in tasks; `send_records` sends them."""
        name = batch_name(batch.query, batch.batch)
        return KafkaTaskWriter(self._commits.url, name, self._topic, self._dead_topic, self._commits.view(batch))

    def send_records(self, records: DataFrame) -> None:
        """Send the records of all tasks, from the workers: a DataFrame with the columns of `RECORDS`.

        Within a partition of a topic higher priorities come first. So there is a job for each priority; if there
        are many, one task sends everything in order.
        """
        found = sorted((row[0] for row in records.select("priority").distinct().collect()), reverse=True)
        if len(found) > _MOST_JOBS:
            jobs = [records.coalesce(1).sortWithinPartitions("priority", ascending=False)]
        else:
            jobs = [records.where(records["priority"] == priority) for priority in found]
        for job in jobs:
            rows = job.drop("priority").write.format("kafka").options(**self._options)
            rows.option("includeHeaders", "true").save()

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        """Remember that the records of a batch were sent."""
        return self._commits.publish(batch, parts)

    def check(self) -> None:
        """Is there a broker, Spark's connector, and a folder for the state?

        Raises:
            SinkError: Something of that is missing.
        """
        self._commits.check(self.name)
        refusals = []
        for host, port in self._servers:
            try:
                with closing(socket.create_connection((host, port), timeout=CONNECT_SECONDS)):
                    break
            except OSError as error:
                refusals.append(f"{host}:{port}: {error}")
        else:
            msg = f"sink kafka: no broker answers: {'; '.join(refusals)}"
            raise SinkError(msg)
        from pyspark.errors import PySparkException

        try:
            _session().read.format("kafka").options(**self._options).option("subscribe", self._topic).load()
        except PySparkException as error:
            msg = f"sink kafka: Spark's connector does not work: {error}"
            raise SinkError(msg) from error

    def describe(self) -> str:
        """What it is and where."""
        servers = self._options["kafka.bootstrap.servers"]
        return f"Kafka topic {self._topic} (dead letters: {self._dead_topic}) at {servers}, at least once"

    def close(self) -> None:
        """Nothing is held open; the Spark session is not ours."""

    def _send(self, delivery: Delivery) -> None:
        parts = [
            records(table, topic)
            for table, topic in ((delivery.notifications, self._topic), (delivery.dead, self._dead_topic))
            if table.num_rows
        ]
        if parts:
            self.send_records(_session().createDataFrame(pa.concat_tables(parts)))


@dataclass(frozen=True, slots=True)
class KafkaTaskWriter:
    """Makes records of notifications and dead letters.

    Attributes:
        url: The state folder, as tasks reach it.
        name: The beginning of the names of the batch's files.
        topic: Of notifications.
        dead_topic: Of dead letters.
        ledger: What was sent before.
    """

    url: str = field(repr=False)  # it may hold keys
    name: str
    topic: str
    dead_topic: str
    ledger: LedgerView

    def open(self, partition: int, attempt: int) -> KafkaPartWriter:
        """A writer for one attempt of a task."""
        token = f"{partition}-{attempt}-{uuid.uuid4().hex[:12]}"
        return KafkaPartWriter(self, token, partition, TaskLedger(self.ledger))


@dataclass(slots=True)
class KafkaPartWriter:
    """One attempt of a task, which makes records and writes only its ledger."""

    writer: KafkaTaskWriter
    token: str
    partition: int
    ledger: TaskLedger
    written: int = 0
    dead: int = 0
    letters: DistinctLetters = field(default_factory=DistinctLetters)

    def add(self, notifications: pa.Table, keys: Keys, events: pa.Array, shard: int = 0) -> pa.Table:
        new = self.ledger.is_new(notifications, keys, events, shard)
        rest = notifications.filter(pa.array(new))
        self.written += rest.num_rows
        return records(rest, self.writer.topic)

    def add_dead(self, dead: pa.Table) -> pa.Table:
        new = self.letters.new(dead)
        self.dead += new.num_rows
        return records(new, self.writer.dead_topic)

    def finish(self) -> Part:
        events, shards = self.ledger.finish(f"{self.writer.name}.{self.token}")
        merged = self.ledger.merge(self.partition) if self.partition >= 0 else ()
        counts = (self.written, self.ledger.repeated, self.dead)
        return Part(self.token, *counts, merged=merged, events=events, shards=shards)


def records(table: pa.Table, topic: str) -> pa.Table:
    """What is sent: the key is the id, the value the row as JSON, headers what a consumer may choose by."""
    there = [(header, column) for header, column in _HEADERS.items() if column in table.column_names]
    values = [table[column].to_pylist() for _, column in there]
    headers = [
        [{"key": header, "value": value.encode()} for (header, _), value in zip(there, row, strict=True) if value]
        for row in zip(*values, strict=True)
    ]
    has_priority = "priority" in table.column_names  # dead letters have none
    columns = {
        "topic": pa.repeat(pa.scalar(topic, pa.string()), table.num_rows),
        "key": table["id"],
        "value": pa.array(json_lines(table), pa.string()),
        "headers": pa.array(headers, RECORDS.field("headers").type),
        "priority": table["priority"] if has_priority else np.zeros(table.num_rows, np.int64),
    }
    return pa.table(columns, schema=RECORDS)


def _server(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdigit():
        msg = f"sink kafka: bootstrap_servers must be host:port, several with commas, found {text!r}"
        raise SinkError(msg)
    return host.strip("[]"), int(port)


def _session() -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException as error:
        msg = "sink kafka: there is no Spark session in this process"
        raise SinkError(msg) from error
