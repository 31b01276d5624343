"""Events in by topic, notifications out by topic, through a real broker, with a restart in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tamis.sinks.kafka_security import KafkaSecurity
from tamis.store import Store
from tests.servers import NoServerError
from tests.spark.kafka_broker import PASSWORD, USER, broker, certificates, connector

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PIPELINE = """
[events]
format = "kafka"
bootstrap_servers = "{address}"
topic = "events"
max_offsets_per_trigger = 60

[subscriptions]
store = "subscriptions.db"

[sink]
type = "kafka"
bootstrap_servers = "{address}"
topic = "notifications"
dead_topic = "dead"
state = "sink"

[state]
checkpoint = "checkpoint"

[spark]
master = "local[2]"
conf = {{ "spark.jars" = "{jars}", "spark.ui.enabled" = "false" }}
"""


@pytest.fixture(scope="module")
def pipeline(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The broker's address, and a folder with a pipeline that reads from it and writes to it."""
    folder = tmp_path_factory.mktemp("kafka")
    try:
        jars = ",".join(map(str, connector(_made(folder / "connector"))))
        with broker(folder / "broker") as address:
            (folder / "pipeline.toml").write_text(PIPELINE.format(address=address, jars=jars))
            yield address, folder
    except NoServerError as error:
        if os.environ.get("TAMIS_REQUIRE_SERVERS"):
            raise
        pytest.skip(str(error))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def send(address: str, values: list[bytes], security: KafkaSecurity | None = None) -> None:
    from confluent_kafka import Producer

    more = {} if security is None else security.client_settings()
    producer = Producer({"bootstrap.servers": address, **more})
    for value in values:
        producer.produce("events", value)
    assert producer.flush(60) == 0


def received(address: str, topic: str) -> list[tuple[str, dict[str, Any]]]:
    """Keys and values of everything in a topic."""
    return [(each.key().decode(), json.loads(each.value())) for each in records(address, topic)]


def records(address: str, topic: str, security: KafkaSecurity | None = None) -> list[Any]:
    """Everything in a topic."""
    from confluent_kafka import Consumer, TopicPartition

    more = {} if security is None else security.client_settings()
    settings = {"bootstrap.servers": address, "group.id": "test", "enable.auto.commit": False, **more}
    consumer = Consumer(settings)
    partitions = [TopicPartition(topic, number) for number in consumer.list_topics(topic).topics[topic].partitions]
    found = []
    for partition in partitions:
        first, end = consumer.get_watermark_offsets(partition)
        consumer.assign([TopicPartition(topic, partition.partition, first)])
        while first < end:
            record: Any = consumer.poll(60)
            assert record is not None
            assert record.error() is None
            found.append(record)
            first = record.offset() + 1
    consumer.close()
    return found


def run(folder: Path, file: str = "pipeline.toml") -> list[dict[str, Any]]:
    """One life of the pipeline; gives the reports of its batches."""
    command = [sys.executable, "-m", "tamis", "run", file, "--once", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def events(first: int, count: int) -> list[bytes]:
    return [
        json.dumps({"id": f"e{number}", "price": number % 20}).encode() for number in range(first, first + count)
    ]


def test_from_topic_to_topic_with_a_restart(pipeline: tuple[str, Path]) -> None:
    address, folder = pipeline
    with Store.open(folder / "subscriptions.db") as store:
        store.add("cheap", "price < 5")
        send(address, [*events(0, 150), b"nonsense"])
        first = run(folder)
        store.add("dear", "price >= 18", priority=1)
        for number in range(10):  # more than are sent in jobs of their own
            store.add(f"p{number}", "price = 0 AND id >= 'e16' AND id < 'e2'", priority=number)
        # Events that were there before come once more, and are not notified again.
        send(address, [*events(150, 100), *events(0, 20)])
        second = run(folder)
    assert sum(report["events"] for report in first) == 151
    assert sum(report["events"] for report in second) == 120
    assert len(first) > 1, "a batch is bounded"
    assert second[0]["batch"] == first[-1]["batch"] + 1
    assert first[-1]["backlog"] == 0

    notified = received(address, "notifications")
    pairs = Counter((each["event_id"], each["subscription_id"]) for _, each in notified)
    expected = {(f"e{number}", "cheap") for number in range(250) if number % 20 < 5}
    expected |= {(f"e{number}", "dear") for number in [*range(150, 250), *range(20)] if number % 20 >= 18}
    expected |= {(f"e{number}", f"p{priority}") for number in (160, 180) for priority in range(10)}
    assert set(pairs) == expected
    assert set(pairs.values()) == {1}
    assert all(key == each["id"] for key, each in notified)
    for _, batch in groupby(notified, key=lambda record: record[1]["matched_at"]):
        priorities = [each.get("priority", 0) for _, each in batch]
        assert priorities == sorted(priorities, reverse=True)
    dead = received(address, "dead")
    assert [each["kind"] for _, each in dead] == ["malformed"]


SECURE = """
[events]
format = "kafka"
bootstrap_servers = "{address}"
topic = "events"

[events.security]
protocol = "SASL_SSL"
ca_file = "certificates/ca.pem"
mechanism = "SCRAM-SHA-256"
user = "{user}"
password_file = "password"

[subscriptions]
store = "secure.db"

[sink]
type = "kafka"
bootstrap_servers = "{address}"
topic = "notifications"
dead_topic = "dead"
state = "secure sink"

[sink.security]
protocol = "SASL_SSL"
ca_file = "certificates/ca.pem"
mechanism = "PLAIN"
user = "{user}"
password_file = "password"

[state]
checkpoint = "secure checkpoint"

[spark]
master = "local[2]"
conf = {{ "spark.jars" = "{jars}", "spark.ui.enabled" = "false" }}
"""


def test_events_are_read_and_notifications_sent_with_tls_and_sasl(pipeline: tuple[str, Path]) -> None:
    folder = pipeline[1]
    jars = ",".join(map(str, sorted((folder / "connector").glob("*.jar"))))
    ca = certificates(folder / "certificates")
    (folder / "password").write_text(PASSWORD)
    security = KafkaSecurity("SASL_SSL", ca.read_text(), "SCRAM-SHA-256", USER, PASSWORD)
    with broker(folder / "secure broker", ca) as address, Store.open(folder / "secure.db") as store:
        (folder / "secure.toml").write_text(SECURE.format(address=address, jars=jars, user=USER))
        store.add("cheap", "price < 5", owner="yuto")
        send(address, [*events(0, 40), b"nonsense"], security)
        reports = run(folder, "secure.toml")
        plain = replace(security, mechanism="PLAIN")
        notified, dead = (records(address, topic, plain) for topic in ("notifications", "dead"))
    assert sum(report["events"] for report in reports) == 41
    assert sum(report["notifications"] for report in reports) == 10
    for record in notified:
        headers = {"id": record.key(), "subscription": b"cheap", "tenant": b"yuto", "type": b"event"}
        assert dict(record.headers()) == headers
    assert len(notified) == 10
    assert [dict(record.headers()) for record in dead] == [{"id": dead[0].key(), "kind": b"malformed"}]
