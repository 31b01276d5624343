"""Kafka as the log that the stream reads: what was written is acknowledged by all replicas that are in sync.

A record's key is the qualified id of the event, its value the JSON text, its header `event_type` the qualified
type.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tamis.errors import TamisError, install_command
from tamis.service.inbox import Arrival
from tamis.sinks.kafka_security import KafkaSecurity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPE_HEADER = "event_type"
_URL = re.compile(r"kafka://(?P<servers>[^/,@\s]+:\d+(?:,[^/,@\s]+:\d+)*)/(?P<name>[A-Za-z0-9._-]{1,249})")
_PATIENCE_SECONDS = 30.0
_MORE_BYTES = 65_536
"""Of a record, beside the event."""


class KafkaError(TamisError):
    """Kafka cannot be reached, or did not take an event: the message says what it says."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and where it is.

    Attributes:
        servers: As host:port, several with commas.
        name: Of the topic.
        security: How the servers are reached.
    """

    servers: str
    name: str
    security: KafkaSecurity = field(default=KafkaSecurity(), repr=False)

    @classmethod
    def of(cls, url: str, security: KafkaSecurity | None = None) -> Topic:
        """The topic of a URL.

        >>> Topic.of("kafka://a:9092,b:9092/events")
        Topic(servers='a:9092,b:9092', name='events')

        Raises:
            KafkaError: It is no such URL.
        """
        found = _URL.fullmatch(url)
        if found is None:
            msg = f"expected kafka://host:port,host:port/topic, found {url!r}"
            raise KafkaError(msg)
        return cls(found["servers"], found["name"], security or KafkaSecurity())


class KafkaLog:
    """Writes events to a topic; all methods may be called from any thread."""

    def __init__(self, topic: Topic, *, most_bytes: int) -> None:
        """Connect, and make the topic if need be, as the broker makes them by default.

        Args:
            topic: Where to.
            most_bytes: Of an event.

        Raises:
            KafkaError: The client is not installed, or no broker answers.
        """
        kafka = _client()
        self._topic = topic
        self._failure: type[Exception] = kafka.KafkaException
        self._producer = kafka.Producer(
            {
                **_settings(topic),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "delivery.timeout.ms": int(_PATIENCE_SECONDS * 1000),
                "message.max.bytes": most_bytes + _MORE_BYTES,
            }
        )
        make_topic(topic)

    def write(self, arrivals: Sequence[Arrival]) -> None:
        """Take events; when this returns, the broker has acknowledged each of them.

        Raises:
            KafkaError: It did not; some of them may be there all the same.
        """
        answers = _DeliveryReports(len(arrivals))
        try:
            for each in arrivals:
                self._produce(each, answers)
        except self._failure as error:
            msg = f"kafka: topic {self._topic.name}: {error}"
            raise KafkaError(msg) from error
        while not answers.is_complete:
            self._producer.poll(0.05)
        if answers.errors:
            msg = f"kafka: topic {self._topic.name} at {self._topic.servers}: {answers.errors[0]}"
            raise KafkaError(msg)

    def close(self) -> None:
        """Nothing waits: `write` has waited for it."""
        self._producer.flush(0)

    def _produce(self, arrival: Arrival, answers: _DeliveryReports) -> None:
        headers = [(TYPE_HEADER, arrival.event_type.encode())]
        while True:
            try:
                self._producer.produce(
                    self._topic.name, arrival.value, arrival.id.encode(), headers=headers, on_delivery=answers.take
                )
                break
            except BufferError:  # as much waits as may; some of it will have been acknowledged soon
                self._producer.poll(0.05)


class _DeliveryReports:
    """Delivery reports for the events of one call; the client calls back in any thread."""

    def __init__(self, expected: int) -> None:
        self.errors: list[str] = []
        self._left = expected
        self._lock = threading.Lock()

    @property
    def is_complete(self) -> bool:
        return self._left == 0

    def take(self, error: Any, _: object) -> None:
        with self._lock:
            self._left -= 1
            if error is not None:
                self.errors.append(str(error))


class Watermarks:
    """How far a topic goes."""

    def __init__(self, topic: Topic) -> None:
        settings = {**_settings(topic), "group.id": "tamis", "enable.auto.commit": False}
        self._topic = topic
        self._consumer = _client().Consumer(settings)

    def ends(self) -> dict[int, int]:
        """The number of the next record of each partition.

        Raises:
            KafkaError: No broker answers.
        """
        kafka = _client()
        try:
            partitions = self._consumer.list_topics(self._topic.name, _PATIENCE_SECONDS).topics[self._topic.name]
            found = {}
            for number in partitions.partitions:
                place = kafka.TopicPartition(self._topic.name, number)
                found[number] = self._consumer.get_watermark_offsets(place, _PATIENCE_SECONDS)[1]
        except kafka.KafkaException as error:
            msg = f"kafka: topic {self._topic.name} at {self._topic.servers}: {error}"
            raise KafkaError(msg) from error
        return found

    def behind(self, done: Mapping[str, int] | None) -> int:
        """How many records there are beyond those that are done, by partition."""
        done = done or {}
        return sum(max(0, end - done.get(str(number), 0)) for number, end in self.ends().items())

    def close(self) -> None:
        self._consumer.close()


def make_topic(topic: Topic) -> None:
    """See to it that a topic is there.

    Raises:
        KafkaError: No broker answers, or it refuses.
    """
    kafka = _client()
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    client = AdminClient(_settings(topic))
    try:
        if topic.name not in client.list_topics(timeout=_PATIENCE_SECONDS).topics:
            made = client.create_topics([NewTopic(topic.name, -1, -1)], operation_timeout=_PATIENCE_SECONDS)
            made[topic.name].result(_PATIENCE_SECONDS)
    except kafka.KafkaException as error:
        if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            msg = f"kafka: topic {topic.name} at {topic.servers}: {error}"
            raise KafkaError(msg) from error


def open_topic(spark: SparkSession, topic: Topic, *, most_events: int) -> DataFrame:
    """The events of a topic as a stream, with columns `id`, `event_type`, `value` and `accepted_at`."""
    options = {
        **topic.security.spark_options(),
        "kafka.bootstrap.servers": topic.servers,
        "subscribe": topic.name,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": str(most_events),
    }
    records = spark.readStream.format("kafka").options(**options).load()
    header = f"filter(headers, each -> each.key = '{TYPE_HEADER}')[0].value"
    named = "cast(key AS string) AS id", f"cast({header} AS string) AS event_type"
    return records.selectExpr(*named, "value", "timestamp AS accepted_at")


def _client() -> Any:
    try:
        import confluent_kafka
    except ImportError as error:
        msg = f"publishing to Kafka needs its client: {install_command('kafka')}"
        raise KafkaError(msg) from error
    return confluent_kafka


def _settings(topic: Topic) -> dict[str, Any]:
    settings = {"bootstrap.servers": topic.servers, "log_level": 0, "error_cb": lambda _: None}
    return {**topic.security.client_settings(), **settings}
