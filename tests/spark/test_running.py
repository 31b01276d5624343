"""Pipelines that run, in the session of all tests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import TamisError
from tamis.events.event_type import EventType
from tamis.progress import BatchReport
from tamis.sinks import Delivery, read_dead_letters, read_notifications
from tamis.spark.pipeline import Pipeline, PipelineError
from tamis.spark.rehearsal import Resumed, resumed
from tamis.spark.running import reason, start
from tamis.store import Store
from tests.spark.pipelines import SALE, pipeline, put_events, put_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE_SECONDS = 180


def finished(spark: SparkSession, planned: Pipeline) -> list[BatchReport]:
    """Run a pipeline until it ends; gives what its batches did."""
    with closing(start(planned, spark)) as running:
        assert running.query.awaitTermination(PATIENCE_SECONDS)
        return running.reports()


def pairs(folder: Path) -> set[tuple[str, str]]:
    found = read_notifications(folder)
    listed = list(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
    assert len(listed) == len(set(listed))
    return set(listed)


def test_a_folder_of_json_lines_is_matched_and_a_second_run_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 3", "all": "true"}, SALE)
    good: list[Any] = [{"id": f"e{price}", "price": price, "at": "2026-03-01T12:00:00Z"} for price in range(5)]
    bad = [b"\xff\xfe", {"price": 1}, {"id": "x", "price": "dear"}, {"id": "long", "text": "." * 300}]
    put_events(tmp_path / "in", "1.jsonl", *good, *bad)
    events = 'format = "json"\npath = "in"\ntime = "at"\nmax_event_bytes = 200\nmax_files_per_trigger = 1'
    planned = pipeline(tmp_path, events=events)

    (report,) = finished(spark, planned)
    everybody = {(f"e{price}", "all") for price in range(5)}
    assert pairs(tmp_path / "out") == everybody | {(f"e{price}", "cheap") for price in range(3)}
    assert (report.batch, report.events, report.dead, report.notifications) == (0, 9, 4, 8)
    times = read_notifications(tmp_path / "out")["event_time"].to_pylist()
    assert {time.isoformat() for time in times} == {"2026-03-01T12:00:00+00:00"}
    dead = read_dead_letters(tmp_path / "out")
    assert Counter(dead["kind"].to_pylist()) == Counter(["malformed", "missing id", "wrong type", "oversized"])
    assert b"\xff\xfe" in dead["original"].to_pylist()
    assert resumed(planned.state.checkpoint) == Resumed(report.query, 1, False)

    put_events(tmp_path / "in", "2.jsonl", {"id": "new", "price": 1}, {"id": "e1", "price": 1})
    (report,) = finished(spark, planned)
    assert (report.batch, report.notifications, report.repeated) == (1, 2, 2)
    assert {subscription for event, subscription in pairs(tmp_path / "out") if event == "new"} == {"cheap", "all"}


def test_a_quota_leaves_out_what_is_too_much(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 3", "all": "true"})
    put_events(tmp_path / "in", "1.jsonl", *({"id": f"e{price}", "price": price} for price in range(100)))
    planned = pipeline(tmp_path, quota='matches = 10\nper = "1d"', sink='type = "jsonl"\nfolder = "out"')
    (report,) = finished(spark, planned)
    assert Counter(subscription for _, subscription in pairs(tmp_path / "out")) == {"all": 10, "cheap": 3}
    assert report.overflow == 90


def test_parquet_files_may_lack_columns_and_get_more(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 3", "late": "at > '2026-01-01'"}, SALE)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": ["a", "b"], "price": [1.0, 5.0]}), tmp_path / "in" / "1.parquet")
    top = 'event_types = [{ name = "sale", attributes = { id = "string", price = "double", at = "timestamp" } }]'
    planned = pipeline(tmp_path, top, events='format = "parquet"\npath = "in"')
    finished(spark, planned)
    assert pairs(tmp_path / "out") == {("a", "cheap")}
    at = pa.array(["2026-03-01T00:00:00Z"]).cast(pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"id": ["c"], "price": [9.0], "at": at}), tmp_path / "in" / "2.parquet")
    finished(spark, planned)
    assert pairs(tmp_path / "out") == {("a", "cheap"), ("c", "late")}


def test_event_types_are_told_apart_by_an_attribute_and_declared(tmp_path: Path, spark: SparkSession) -> None:
    sales = {"id": "sales", "condition": "price > 1", "type": "sale"}
    visits = {"id": "visits", "condition": "page = 'home'", "type": "visit"}
    put_events(tmp_path / "changes", "1.jsonl", sales, visits)
    put_events(
        tmp_path / "in",
        "1.jsonl",
        {"id": "a", "type": "sale", "price": 2, "page": "home"},
        {"id": "b", "type": "visit", "price": 2, "page": "home"},
        {"id": "c", "type": "nothing"},
        {"id": "d"},
    )
    top = '[[event_types]]\nname = "sale"\nattributes = { price = "int" }\n[[event_types]]\nname = "visit"\n'
    events = 'format = "json"\npath = "in"\ntype_attribute = "type"'
    finished(spark, pipeline(tmp_path, top, events=events, subscriptions='changes = "changes"'))
    assert pairs(tmp_path / "out") == {("a", "sales"), ("b", "visits")}
    assert read_dead_letters(tmp_path / "out")["kind"].to_pylist() == ["event type", "event type"]


def test_made_up_events_are_matched_until_the_query_is_stopped(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"even": "value % 2 = 0"})
    planned = pipeline(tmp_path, events='format = "rate"\nrows_per_second = 100', trigger="")
    some = threading.Event()

    class Told:
        def show(self, report: BatchReport) -> None:
            if report.notifications:
                some.set()

        def close(self) -> None: ...

    with closing(start(planned, spark, views=[Told()])) as running:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not some.wait(0.1) and time.monotonic() < deadline:
            assert running.query.isActive
        running.stop()
        assert not running.query.isActive
        assert running.query.exception() is None
        reports = running.reports()
    assert sum(report.events for report in reports) >= 100
    found = pairs(tmp_path / "out")
    assert found
    assert all(int(event) % 2 == 0 for event, _ in found)


def refuse(delivery: Delivery) -> None:
    msg = f"no thanks to batch {delivery.batch}"
    raise TamisError(msg)


def test_a_failure_is_told_in_one_line_and_the_next_run_makes_up_for_it(
    tmp_path: Path, spark: SparkSession
) -> None:
    from pyspark.errors import StreamingQueryException

    put_subscriptions(tmp_path / "subs.db", {"all": "true"})
    put_events(tmp_path / "in", "1.jsonl", {"id": "a"})
    failing = pipeline(tmp_path, sink=f'type = "callback"\nfunction = "{__name__}:refuse"')
    with closing(start(failing, spark)) as running:
        with pytest.raises(StreamingQueryException) as caught:
            running.query.awaitTermination(PATIENCE_SECONDS)
        assert reason(caught.value) == "no thanks to batch 0"
        assert running.reports() == []
    assert resumed(failing.state.checkpoint) == Resumed(running.query.id, 0, True)
    finished(spark, pipeline(tmp_path))
    assert pairs(tmp_path / "out") == {("a", "all")}


def test_what_spark_refuses_is_told_by_name(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"})
    with pytest.raises(PipelineError, match=r"pipeline\.toml: Spark says: \[PATH_NOT_FOUND\].*nowhere"):
        start(pipeline(tmp_path, events='format = "json"\npath = "nowhere"'), spark)


def test_a_store_with_another_event_type_is_refused_before_anything_starts(
    tmp_path: Path, spark: SparkSession
) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"}, SALE)
    put_events(tmp_path / "in", "1.jsonl", {"id": "a"})
    with pytest.raises(PipelineError, match="event type 'sale' is another one"):
        start(pipeline(tmp_path, '[[event_types]]\nname = "sale"\n'), spark)
    assert not (tmp_path / "checkpoint").exists()
    with Store.open(tmp_path / "subs.db") as store:
        assert store.event_types() == {"sale": EventType.of(SALE)}
