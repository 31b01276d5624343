"""Pipelines that run, in the session of all tests."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamis.errors import TamisError
from tamis.events.event_type import EventType
from tamis.notifications import ADDED
from tamis.progress import BatchReport, RunFailure
from tamis.sinks import Delivery, read_dead_letters, read_notifications
from tamis.spark.dry_run import ResumePoint, read_resume_point
from tamis.spark.pipeline import Pipeline, PipelineError
from tamis.spark.pipeline_run import failure_reason, start_pipeline
from tamis.store import Store
from tests.spark.pipelines import SALE, pipeline, put_events, put_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE_SECONDS = 180


def finished(spark: SparkSession, planned: Pipeline) -> list[BatchReport]:
    """Run a pipeline until it ends; gives what its batches did."""
    with closing(start_pipeline(planned, spark)) as running:
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
    planned = pipeline(tmp_path, events=f'{events}\non_misfit = "dead letter"')

    (report,) = finished(spark, planned)
    everybody = {(f"e{price}", "all") for price in range(5)}
    assert pairs(tmp_path / "out") == everybody | {(f"e{price}", "cheap") for price in range(3)}
    assert (report.batch, report.events, report.dead, report.notifications) == (0, 9, 4, 8)
    kinds = ("malformed", "missing id", "oversized", "wrong type")
    assert report.dead_by_kind == tuple((kind, 1) for kind in kinds)
    times = read_notifications(tmp_path / "out")["event_time"].to_pylist()
    assert {time.isoformat() for time in times} == {"2026-03-01T12:00:00+00:00"}
    dead = read_dead_letters(tmp_path / "out")
    assert Counter(dead["kind"].to_pylist()) == Counter(["malformed", "missing id", "wrong type", "oversized"])
    assert b"\xff\xfe" in dead["original"].to_pylist()
    assert read_resume_point(planned.state.checkpoint) == ResumePoint(report.query, 1, False)

    put_events(tmp_path / "in", "2.jsonl", {"id": "new", "price": 1}, {"id": "e1", "price": 1})
    (report,) = finished(spark, planned)
    assert (report.batch, report.notifications, report.repeated) == (1, 2, 2)
    assert {subscription for event, subscription in pairs(tmp_path / "out") if event == "new"} == {"cheap", "all"}


def test_notifications_carry_owner_label_priority_and_kept_attributes(tmp_path: Path, spark: SparkSession) -> None:
    with Store.open(tmp_path / "subs.db") as store:
        store.add("mine", "price < 3", owner="yuto", label="cheap", priority=7)
        store.add("plain", "price < 2")
    put_events(tmp_path / "in", "1.jsonl", {"id": "a", "price": 1, "shop": "x", "more": "y"})
    events = 'format = "json"\npath = "in"\nkeep = ["shop", "price"]'
    finished(spark, pipeline(tmp_path, events=events, sink='type = "jsonl"\nfolder = "out"'))
    [file] = (tmp_path / "out" / "notifications").iterdir()
    found = {row["subscription_id"]: row for row in map(json.loads, file.read_text().splitlines())}
    kept = {"shop": "x", "price": 1}
    added = {"owner": "yuto", "label": "cheap", "attributes": kept, "priority": 7}
    assert {name: found["mine"][name] for name in ADDED} == added
    assert found["plain"]["attributes"] == kept
    assert not {"owner", "label", "priority"} & found["plain"].keys()


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
    sales = {"id": "sales", "condition": "price > 1", "event_type": "sale"}
    visits = {"id": "visits", "condition": "page = 'home'", "event_type": "visit"}
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

    with closing(start_pipeline(planned, spark, views=[Told()])) as running:
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
    with closing(start_pipeline(failing, spark)) as running:
        with pytest.raises(StreamingQueryException) as caught:
            running.query.awaitTermination(PATIENCE_SECONDS)
        assert failure_reason(caught.value) == "no thanks to batch 0"
        assert running.failure() == RunFailure("delivery", "no thanks to batch 0", 0)
        assert running.reports() == []
    assert read_resume_point(failing.state.checkpoint) == ResumePoint(running.query.id, 0, True)
    finished(spark, pipeline(tmp_path))
    assert pairs(tmp_path / "out") == {("a", "all")}


def test_events_that_cannot_be_read_fail_while_matching(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"}, SALE)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.parquet").write_bytes(b"no Parquet at all, but long enough")
    top = 'event_types = [{ name = "sale", attributes = { id = "string", price = "double", at = "timestamp" } }]'
    planned = pipeline(tmp_path, top, events='format = "parquet"\npath = "in/*.parquet"')
    pq.write_table(pa.table({"id": ["a"], "price": [1.0]}), tmp_path / "in" / "0.parquet")
    with closing(start_pipeline(planned, spark)) as running:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while running.query.isActive and time.monotonic() < deadline:
            time.sleep(0.1)
        failure = running.failure()
    assert failure is not None
    assert (failure.stage, failure.batch) == ("matching", 0)
    assert "1.parquet" in failure.reason


def test_what_spark_refuses_is_told_by_name(tmp_path: Path, spark: SparkSession) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"})
    with pytest.raises(PipelineError, match=r"pipeline\.toml: Spark says: \[PATH_NOT_FOUND\].*nowhere"):
        start_pipeline(pipeline(tmp_path, events='format = "json"\npath = "nowhere"'), spark)


class _Reports:
    """A view that waits for a report of some kind."""

    def __init__(self) -> None:
        self.found: list[BatchReport] = []
        self._new = threading.Condition()

    def show(self, report: BatchReport) -> None:
        with self._new:
            self.found.append(report)
            self._new.notify_all()

    def close(self) -> None: ...

    def wait_for(self, wanted: Callable[[BatchReport], bool]) -> BatchReport | None:
        with self._new:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not any(map(wanted, self.found)) and time.monotonic() < deadline:
                self._new.wait(0.2)
            return next(filter(wanted, self.found), None)


def test_a_subscription_to_another_type_neither_stops_a_typed_pipeline_nor_its_next_start(
    tmp_path: Path, spark: SparkSession
) -> None:
    put_subscriptions(tmp_path / "subs.db", {"cheap": "price < 3"}, SALE)
    put_events(tmp_path / "in", "1.jsonl", {"id": "a", "price": 1.0})
    for top in (
        "",
        'event_types = [{ name = "sale", attributes = { id = "string", price = "double", at = "timestamp" } }]',
    ):
        folder = f"out{len(top)}"
        planned = pipeline(
            tmp_path,
            top,
            trigger='processing_time = "200ms"',
            sink=f'type = "parquet"\nfolder = "{folder}"',
            state=f'checkpoint = "checkpoint{len(top)}"',
            subscriptions='store = "subs.db"\npoll = "100ms"',
        )
        reports = _Reports()
        with (
            Store.open(tmp_path / "subs.db") as store,
            closing(start_pipeline(planned, spark, views=[reports])) as run,
        ):
            assert reports.wait_for(lambda report: report.events > 0)
            version = store.add("x", "vlaue > 1", event_type="event")
            for number in range(1000):
                put_events(tmp_path / "in", f"{folder}-{number}.jsonl", {"id": f"b{number}", "price": 2.0})
                count = len(reports.found)
                reports.wait_for(lambda _: len(reports.found) > count or not run.query.isActive)  # noqa: B023
                assert run.query.isActive, failure_reason(run.query.exception())
                if (reports.found[-1].store_version or 0) >= version:
                    break
            last = reports.found[-1]
            assert (last.set_aside, last.dead) == (1, 0)
            run.stop()
        # It starts again, whether the other subscription lives or not.
        once = pipeline(
            tmp_path,
            top,
            sink=f'type = "parquet"\nfolder = "{folder}"',
            state=f'checkpoint = "checkpoint{len(top)}"',
        )
        put_events(tmp_path / "in", f"{folder}-then.jsonl", {"id": "then", "price": 2.0})
        assert [report.set_aside for report in finished(spark, once)] == [1]
        with Store.open(tmp_path / "subs.db") as store:
            store.remove("x")
        put_events(tmp_path / "in", f"{folder}-last.jsonl", {"id": "last", "price": 2.0})
        assert [report.set_aside for report in finished(spark, once)] == [0]
        assert {("a", "cheap"), ("then", "cheap"), ("last", "cheap")} <= pairs(tmp_path / folder)


def test_a_store_with_another_event_type_is_refused_before_anything_starts(
    tmp_path: Path, spark: SparkSession
) -> None:
    put_subscriptions(tmp_path / "subs.db", {"all": "true"}, SALE)
    put_events(tmp_path / "in", "1.jsonl", {"id": "a"})
    with pytest.raises(PipelineError, match="event type 'sale' is another one"):
        start_pipeline(pipeline(tmp_path, '[[event_types]]\nname = "sale"\n'), spark)
    assert not (tmp_path / "checkpoint").exists()
    with Store.open(tmp_path / "subs.db") as store:
        assert store.event_types() == {"sale": EventType.of(SALE)}
