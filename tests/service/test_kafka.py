"""A service whose events go through Kafka: a real broker, the real process of the stream, and a restart."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.events.event_type import EventType
from tamis.service.feed import FeedReader
from tamis.service.inbox import Inbox
from tamis.service.inboxes import open_inbox
from tamis.service.kafka import KafkaError, KafkaLog, Topic, Watermarks
from tamis.service.settings import ServiceSettings
from tamis.service.supervisor import Supervisor
from tamis.store import Store
from tests.servers import NoServerError
from tests.service.living import PATIENCE_SECONDS, arrival
from tests.spark.kafka_broker import PASSWORD, USER, broker, certificates, connector

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The broker's address, and the jars of Spark's connector."""
    folder = tmp_path_factory.mktemp("kafka")
    (folder / "connector").mkdir()
    try:
        jars = ",".join(map(str, connector(folder / "connector")))
        with broker(folder / "broker") as address:
            yield address, jars
    except NoServerError as error:
        if os.environ.get("TAMIS_REQUIRE_SERVERS"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def secure_kafka(
    kafka: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Any], str]]:
    """The settings that reach a broker with TLS and SASL, and the jars of Spark's connector."""
    folder = tmp_path_factory.mktemp("secure kafka")
    ca = certificates(folder / "certificates")
    (folder / "password").write_text(f"{PASSWORD}\n")
    with broker(folder / "broker", ca) as address:
        security = {"kafka_protocol": "SASL_SSL", "kafka_mechanism": "SCRAM-SHA-256", "kafka_user": USER}
        files = {"kafka_ca_file": str(ca), "kafka_password_file": str(folder / "password")}
        yield {"kafka": f"kafka://{address}/events", **security, **files}, kafka[1]


async def _run(settings: ServiceSettings, inbox: Inbox) -> None:
    """Run the stream until nothing waits."""
    supervisor, stop = Supervisor(settings), asyncio.Event()
    task = asyncio.create_task(supervisor.run(stop))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await asyncio.to_thread(inbox.waiting):
                assert supervisor.starts < 5, supervisor.reason
                await asyncio.sleep(0.1)
    finally:  # also after a failure: a stream that nobody stops is waited for without end
        stop.set()
        await task


def test_what_is_acknowledged_is_matched_once(kafka: tuple[str, str], tmp_path: Path) -> None:
    address, jars = kafka
    settings = ServiceSettings(
        data=str(tmp_path),
        kafka=f"kafka://{address}/events",
        master="local[2]",
        memory="1g",
        spark=(f"spark.jars={jars}",),
    )
    inbox, feed = open_inbox(settings), FeedReader(settings.database("feed"))
    with Store.open(settings.database("store")) as store:
        store.set_event_type(EventType("t/event"))
        store.add("t/cheap", "price < 5", event_type="t/event", owner="t")
    events = [arrival("t", f"e{number}", {"price": number}) for number in range(10)]
    assert inbox.append(events) == [True] * 10
    assert inbox.append(events[:3]) == [False] * 3
    asyncio.run(_run(settings, inbox))

    # What a service leaves behind that was killed before it wrote its copy: the event is in Kafka twice.
    log = KafkaLog(Topic.of(settings.kafka), most_bytes=1_000)
    log.write(events[:3])
    log.close()
    inbox.append([arrival("t", "e10", {"price": 1})])
    assert inbox.waiting() == 1
    asyncio.run(_run(settings, inbox))

    told = feed.after("t", 0, limit=100)
    assert sorted((each.event_id, each.subscription_id) for each in told) == sorted(
        (f"e{number}", "cheap") for number in [0, 1, 2, 3, 4, 10]
    )
    assert [each.id for each in inbox.recent("t", limit=2)] == ["t/e10", "t/e9"]
    watermarks = Watermarks(Topic.of(settings.kafka))
    assert watermarks.behind(None) == 10 + 3 + 1
    watermarks.close()
    feed.close()
    inbox.close()


def test_events_go_through_a_broker_with_tls_and_sasl(
    secure_kafka: tuple[dict[str, Any], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reached, jars = secure_kafka
    spark: dict[str, Any] = {"master": "local[2]", "memory": "1g", "spark": (f"spark.jars={jars}",)}
    settings = ServiceSettings(data=str(tmp_path), **reached, **spark)
    inbox, feed = open_inbox(settings), FeedReader(settings.database("feed"))
    with Store.open(settings.database("store")) as store:
        store.set_event_type(EventType("t/event"))
        store.add("t/cheap", "price < 5", event_type="t/event", owner="t")
    assert inbox.append([arrival("t", f"e{number}", {"price": number}) for number in range(10)]) == [True] * 10
    asyncio.run(_run(settings, inbox))
    told = feed.after("t", 0, limit=100)
    assert sorted(each.event_id for each in told) == [f"e{number}" for number in range(5)]
    feed.close()
    inbox.close()
    assert PASSWORD not in caplog.text
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    "wrong",
    [{"kafka_password": "no", "kafka_password_file": ""}, {"kafka_ca_file": ""}],
    ids=["password", "authority"],
)
def test_a_secure_broker_is_not_reached_otherwise(
    secure_kafka: tuple[dict[str, Any], str],
    wrong: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tamis.service.kafka._PATIENCE_SECONDS", 3.0)
    with pytest.raises(KafkaError, match="kafka: topic events at 127") as refused:
        open_inbox(ServiceSettings(data=str(tmp_path), **{**secure_kafka[0], **wrong}))
    assert PASSWORD not in str(refused.value)


def test_an_event_that_kafka_does_not_take_is_not_accepted(kafka: tuple[str, str], tmp_path: Path) -> None:
    address, _ = kafka
    inbox = open_inbox(ServiceSettings(data=str(tmp_path), kafka=f"kafka://{address}/other", event_bytes=8 << 20))
    with pytest.raises(KafkaError, match="kafka: topic other"):
        inbox.append([arrival("t", "small", {}), arrival("t", "large", b" " * (4 << 20) + b"{}")])
    assert inbox.get(["t/small", "t/large"]) == {}
    assert inbox.append([arrival("t", "small", {})]) == [True]
    inbox.close()


def test_a_broker_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.service.kafka._PATIENCE_SECONDS", 1.0)
    with pytest.raises(KafkaError, match=r"topic events at 127\.0\.0\.1:1"):
        open_inbox(ServiceSettings(data=str(tmp_path), kafka="kafka://127.0.0.1:1/events"))
