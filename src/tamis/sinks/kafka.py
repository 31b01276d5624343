"""The sink `kafka`: topics of notifications and dead letters, through Spark's own connector, at least once.

Spark's connector writes outside of transactions. If the process is killed after the records were sent and before
their commit is written in the state folder, the replay sends the same records again: same key, same value. The key
is the notification's id, so a consumer (or a compacted topic) can keep one of each.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from typing import Any, ClassVar

import pyarrow as pa

from tamis.sinks.base import RETENTION, Committed, Delivery, SinkError, require, require_duration
from tamis.sinks.folder_commits import KEPT_COMMITS, FolderCommits
from tamis.sinks.formats import json_lines
from tamis.snapshot.storage import open_storage

CONNECT_SECONDS = 10


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
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is touched yet.

        Args:
            bootstrap_servers: `host:port`, several with commas.
            topic: Where notifications go.
            dead_topic: Where dead letters go.
            state: The path or URL of a folder that remembers what was sent.
            retention: For how long a notification is remembered, so that it is not sent again.
            options: More options of Spark's connector, such as `kafka.security.protocol`.

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
        self._servers = [_server(each) for each in bootstrap_servers.split(",")]
        self._topic, self._dead_topic = topic, dead_topic
        self._options = {**(options or {}), "kafka.bootstrap.servers": bootstrap_servers}
        self._commits = FolderCommits(open_storage(state), retention, keep=KEPT_COMMITS)

    def commit(self, delivery: Delivery) -> Committed:
        """Send the records of a batch, then remember that they were sent."""
        return self._commits.commit(delivery, self._send)

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

    def _send(self, delivery: Delivery) -> dict[str, str]:
        parts = [
            records(table, topic)
            for table, topic in ((delivery.notifications, self._topic), (delivery.dead, self._dead_topic))
            if table.num_rows
        ]
        if parts:
            frame = _session().createDataFrame(pa.concat_tables(parts))
            frame.write.format("kafka").options(**self._options).save()
        return {}


def records(table: pa.Table, topic: str) -> pa.Table:
    """What is sent: the key is the id, the value the row as JSON."""
    columns = {
        "topic": pa.array([topic] * table.num_rows, pa.string()),
        "key": table["id"],
        "value": pa.array(json_lines(table), pa.string()),
    }
    return pa.table(columns)


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
