"""A pipeline as plain values: where events and subscriptions come from, and where notifications go.

Nothing is opened, made or connected here, and Spark is not needed. `pipeline_file` reads one from a file. What may
hold passwords or keys is left out when a pipeline is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from tamis.errors import TamisError
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.operators.discovery import INSTALLED, OperatorSettings
from tamis.progress import HISTORY_BYTES
from tamis.quotas import Quota
from tamis.routing.shards import Routing
from tamis.sinks import SINKS, Sink
from tamis.sinks.kafka_security import KafkaSecurity
from tamis.spark.composite_states import CompositeSettings
from tamis.spark.event_reading import Reading
from tamis.verification.search import GREEDY


class PipelineError(TamisError):
    """A pipeline cannot run: the message names the file, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Files:
    """Events in the files of a folder; a file must be whole when it appears.

    Attributes:
        format: `json` (JSON lines) or `parquet`.
        path: The folder, or a pattern such as `/data/*.jsonl`; a URL that Spark can read.
        most_files: The most files that a batch takes.
    """

    format: str
    path: str
    most_files: int | None = None


@dataclass(frozen=True, slots=True)
class Kafka:
    """Events in topics of Kafka, as JSON.

    Attributes:
        servers: `host:port`, several with commas.
        topics: Their names.
        starting_offsets: Where a new query begins, as Spark has it.
        most_offsets: The most records that a batch takes.
        options: More options of Spark's connector.
        security: How the servers are reached.
    """

    servers: str
    topics: tuple[str, ...]
    starting_offsets: str
    most_offsets: int | None
    options: Mapping[str, str] = field(repr=False)
    security: KafkaSecurity = field(default=KafkaSecurity(), repr=False)


@dataclass(frozen=True, slots=True)
class Rate:
    """Events that Spark generates: `id`, `value` (0, 1, 2, ...) and `timestamp`.

    Attributes:
        rows_per_second: How many.
    """

    rows_per_second: int


@dataclass(frozen=True, slots=True)
class Socket:
    """Events that a server sends as JSON lines; what was sent is gone after a crash.

    Attributes:
        host: The name of the server.
        port: The port of the server.
    """

    host: str
    port: int


Source: TypeAlias = Files | Kafka | Rate | Socket


@dataclass(frozen=True, slots=True)
class SubscriptionSource:
    """Where subscriptions come from.

    Attributes:
        kind: `store`, `changes` (a folder of changes) or `snapshot` (that another process publishes).
        place: Its path or URL.
        poll: How often it is asked for changes.
    """

    kind: str
    place: str = field(repr=False)
    poll: timedelta


@dataclass(frozen=True, slots=True)
class PipelineState:
    """What the query keeps.

    Attributes:
        checkpoint: Spark's folder.
        folder: The driver's folder.
        snapshot: Where subscriptions are published, as driver and workers reach it.
        retention: For how long an old version of the subscriptions stays.
        history_bytes: How long the file of reports may grow.
        change_retention: For how long the store keeps its changes and what ended; None for ever.
    """

    checkpoint: str = field(repr=False)
    folder: Path
    snapshot: str = field(repr=False)
    retention: timedelta
    history_bytes: int = HISTORY_BYTES
    change_retention: timedelta | None = None


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How Spark is started.

    Attributes:
        master: As Spark has it.
        app_name: What its pages say.
        conf: Its settings, packages among them.
    """

    master: str
    app_name: str
    conf: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """Where metrics are served.

    Attributes:
        port: 0 for any that is free.
        host: The address of this machine to serve on.
    """

    port: int
    host: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline: where events and subscriptions come from, and where notifications go.

    Attributes:
        file: Where it is written.
        source: Where events come from.
        reading: How events are read.
        subscriptions: Where subscriptions come from.
        event_types: What conditions are about; declared where subscriptions are, if they are not yet.
        sink: The name of a sink.
        sink_arguments: What it is made with.
        quota: How many notifications a subscription may give.
        state: What the query keeps.
        spark: How Spark is started.
        trigger: The arguments of Spark's `trigger`.
        metrics: Where metrics are served; None for nowhere.
        shards: The number of parts into which subscriptions are split.
        routing: How they are assigned to shards, if events visit only shards that may match them.
        engine: The engine that matches.
        operators: Where operators come from.
        limits: Of conditions, with the operators that they may call.
        call_order: Which call of an operator is made next.
        composite: How late events may be for composite subscriptions, and how much is kept for them.
    """

    file: Path
    source: Source
    reading: Reading
    subscriptions: SubscriptionSource
    event_types: tuple[EventType, ...]
    sink: str
    sink_arguments: Mapping[str, Any] = field(repr=False)
    quota: Quota | None
    state: PipelineState
    spark: SparkSettings
    trigger: Mapping[str, Any] | None
    metrics: MetricsServer | None
    shards: int
    engine: str
    operators: OperatorSettings = INSTALLED
    limits: Limits = DEFAULT_LIMITS
    routing: Routing | None = None
    call_order: str = GREEDY
    composite: CompositeSettings | None = None

    @property
    def uses_kafka(self) -> bool:
        """Does Spark need its connector to Kafka?"""
        return isinstance(self.source, Kafka) or self.sink == "kafka"

    def make_sink(self) -> Sink:
        """The sink; nothing is touched yet."""
        made: Sink = SINKS[self.sink](**self.sink_arguments)
        return made
