"""Both ways to a sink give the same; records are sent by the sink, once tasks have made them and all is well."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis import Matcher
from tamis.errors import MisfitError
from tamis.quotas import Quota, Quotas
from tamis.sinks import (
    BatchKey,
    CallbackSink,
    Committed,
    Delivery,
    KafkaSink,
    ParquetSink,
    Part,
    Sink,
    read_notifications,
)
from tamis.spark.batch_delivery import BatchDelivery, BatchResult
from tamis.spark.event_reading import Reading
from tamis.spark.match_time import MatchTime
from tamis.spark.snapshot_ref import SnapshotRef
from tamis.spark.stream_task import StreamTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KEY = BatchKey("q", 0, datetime(2026, 2, 28, tzinfo=UTC), 1)
QUOTA = Quota(per=timedelta(days=1), groups={"some": 3, "other": None})
TYPE = {"name": "sale", "attributes": {"id": "string", "n": "bigint"}}


class Records(KafkaSink):
    """Keeps what it is asked to send, and in which order it is asked for what."""

    def __init__(self, folder: Path) -> None:
        super().__init__(bootstrap_servers="b:9092", topic="found", dead_topic="bad", state=folder)
        self.sent: list[Any] = []
        self.steps: list[str] = []

    def send_records(self, records: DataFrame) -> None:
        self.steps.append("send")
        self.sent += records.collect()

    def publish(self, batch: BatchKey, parts: Sequence[Part]) -> Committed:
        self.steps.append("publish")
        return super().publish(batch, parts)


@pytest.fixture
def task(tmp_path: Path) -> StreamTask:
    matcher = Matcher(TYPE)
    matcher.add_many([("some/all", "true"), ("other/few", "n < 2"), ("none", "n > 99")])
    ref = SnapshotRef(str(tmp_path / "snapshot"), matcher.publish(tmp_path / "snapshot"))
    return StreamTask((ref,), Reading(json="value", on_misfit="refuse"))


def events(spark: SparkSession, *more: str) -> DataFrame:
    texts = [f'{{"id": "e{number}", "n": {number}}}' for number in range(6)] + ["no event", *more]
    return spark.createDataFrame([(text,) for text in texts], "value string").repartition(3)


def deliver(folder: Path, sink: Sink, task: StreamTask, given: DataFrame, quota: Quota | None) -> BatchResult:
    folder.mkdir()
    quotas = None if quota is None else Quotas(quota, folder / "quotas")
    begun: list[int] = []
    result = BatchDelivery(sink, quotas, MatchTime(folder)).deliver(given, task, KEY, lambda: begun.append(1))
    assert begun == [1]
    assert result.matched <= result.decided
    return result


@pytest.mark.parametrize(("quota", "written", "beyond"), [(None, 8, ()), (QUOTA, 5, (("some", 3),))])
def test_every_way_gives_the_same(
    spark: SparkSession, task: StreamTask, tmp_path: Path, quota: Quota | None, written: int, beyond: Any
) -> None:
    taken: list[Delivery] = []
    records = Records(tmp_path / "state")
    files = ParquetSink(folder=tmp_path / "out")
    sinks: dict[str, Sink] = {"driver": CallbackSink(call=taken.append), "tasks": files, "records": records}
    results = [deliver(tmp_path / name, sink, task, events(spark), quota) for name, sink in sinks.items()]
    for each in results:
        assert (each.committed, each.overflow_by_group) == (Committed(written, 0), beyond)
        assert each.overflow == ({"some/all": 3} if quota else {})
        assert each.dead_by_kind == (("malformed", 1),)
    ids = sorted(taken[0].notifications["id"].to_pylist())
    assert sorted(read_notifications(tmp_path / "out")["id"].to_pylist()) == ids
    assert sorted(each.key for each in records.sent if each.topic == "found") == ids
    assert records.steps == ["send", "publish"]


def test_nothing_is_sent_of_a_batch_that_is_refused_or_gives_nothing(
    spark: SparkSession, task: StreamTask, tmp_path: Path
) -> None:
    records = Records(tmp_path / "state")
    with pytest.raises(MisfitError, match="dear"):
        deliver(tmp_path / "bad", records, task, events(spark, '{"id": "e9", "n": "dear"}'), None)
    assert records.steps == []
    empty = spark.createDataFrame([], "value string")
    assert deliver(tmp_path / "empty", records, task, empty, None).committed == Committed(0, 0)
    assert records.steps == ["publish"]
