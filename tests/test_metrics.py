"""Metrics as a scraper gets them: over HTTP, in Prometheus's text, parsed by its own parser."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

import tamis.metrics
from tamis.metrics import Metrics, MetricsError, listener
from tamis.operators.reports import OperatorReport
from tests.reports import START, report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Samples = dict[tuple[str, str], float]
"""(name, query) -> value; of histograms the buckets are left out."""


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    made = Metrics()
    yield made
    made.close()


def scrape(port: int) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()
    finally:
        connection.close()


def exposed(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def samples(text: str) -> Samples:
    found = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {
        (one.name, one.labels["query"]): one.value for one in found if set(one.labels) == {"query"} and one.name
    }


def wait_for(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "it did not happen within a minute"
        threading.Event().wait(0.02)


@pytest.mark.slow
def test_scraped_over_http(metrics: Metrics) -> None:
    metrics.observe(report(3, dead=2, overflow=5, repeated=1, shards=4, visits=1_500, useful_visits=300))
    routed = {"filter_seconds": 0.25, "entry_bytes": 900, "entry_budget": 1_000}
    metrics.observe(report(4, events=10, seconds=1.5, lag_seconds=2.5, version=8, backlog=0, **routed))
    port = metrics.serve(0)
    found = samples(scrape(port))
    expected = {
        "tamis_events_total": 1_010,
        "tamis_matched_events_total": 80,
        "tamis_notifications_total": 140,
        "tamis_repeated_total": 1,
        "tamis_overflow_total": 5,
        "tamis_dead_letters_total": 2,
        "tamis_visits_total": 1_500,
        "tamis_useful_visits_total": 300,
        "tamis_filter_seconds_total": 0.25,
        "tamis_entry_bytes": 900,
        "tamis_entry_budget_bytes": 1_000,
        "tamis_batch_seconds_count": 2,
        "tamis_batch_seconds_sum": 2.0,
        "tamis_backlog_events": 0,
        "tamis_snapshot_version": 8,
        "tamis_store_version": 70,
        "tamis_lag_seconds": 2.5,
        "tamis_last_batch_id": 4,
        "tamis_last_batch_timestamp_seconds": datetime.timestamp(START) + 8,
    }
    assert {name: found[name, "alerts"] for name in expected} == pytest.approx(expected)


def test_buckets_hold_the_batches_up_to_their_seconds(metrics: Metrics) -> None:
    for batch, seconds in enumerate((0.02, 0.3, 0.4, 1_000)):
        metrics.observe(report(batch, seconds=seconds))

    def up_to(bound: str) -> float | None:
        return metrics.registry.get_sample_value("tamis_batch_seconds_bucket", {"query": "alerts", "le": bound})

    assert [up_to(bound) for bound in ("0.01", "0.025", "0.25", "0.5", "600.0", "+Inf")] == [0, 1, 1, 3, 3, 4]


def test_a_batch_reported_again_is_counted_once_and_its_gauges_are_the_last(metrics: Metrics) -> None:
    metrics.observe(report(3, backlog=10))
    metrics.observe(report(3, backlog=4))
    metrics.observe(report(3, query="other"))
    found = samples(exposed(metrics))
    assert found["tamis_events_total", "alerts"] == found["tamis_events_total", "other"] == 1_000
    assert found["tamis_backlog_events", "alerts"] == 4


def test_what_is_not_known_is_not_a_number(metrics: Metrics) -> None:
    metrics.observe(report(0))
    metrics.observe(report(1, backlog=None, store_version=None, lag_seconds=None))
    found = samples(exposed(metrics))
    for name in ("tamis_backlog_events", "tamis_store_version", "tamis_lag_seconds"):
        assert math.isnan(found[name, "alerts"])


def test_what_operators_did_is_told_of_each(metrics: Metrics) -> None:
    people = OperatorReport(
        "people", calls=20, runs=2, seconds=1.5, saved=300, failures=3, skipped=4, is_open=True
    )
    metrics.observe(report(0, operators=(people, OperatorReport("plates", calls=1))))
    metrics.observe(report(0, operators=(people,)))
    metrics.observe(report(1, operators=(OperatorReport("people", calls=5),)))

    def value(name: str, operator: str) -> float | None:
        labels = {"query": "alerts", "operator": operator}
        return metrics.registry.get_sample_value(f"tamis_operator_{name}", labels)

    totals = ("calls_total", "seconds_total", "failures_total", "saved_total", "skipped_total")
    assert [value(name, "people") for name in totals] == [25, 1.5, 3, 300, 4]
    assert value("calls_total", "plates") == 1
    assert value("open", "people") == value("open", "plates") == 0
    metrics.observe(report(2, operators=(people,)))
    assert value("open", "people") == 1
    metrics.observe(report(3))
    assert value("open", "people") == 0


def test_a_hostile_name_of_a_query_stays_a_label(metrics: Metrics) -> None:
    name = 'a"b\\c\nd{} 1'
    metrics.observe(report(0, query=name))
    assert samples(exposed(metrics))["tamis_events_total", name] == 1_000


def test_every_metric_is_in_the_table(metrics: Metrics) -> None:
    metrics.observe(report())
    table = tamis.metrics.__doc__ or ""
    families = list(text_string_to_metric_families(exposed(metrics)))
    names = {f"{each.name}_total" if each.type == "counter" else each.name for each in families}
    names = {
        name for name in names if not name.endswith("_created")
    }  # when a counter began, by Prometheus's custom
    assert len(names) == 33
    assert [name for name in names if f"| `{name}` |" not in table] == []


@pytest.mark.slow
def test_a_port_in_use_is_named(metrics: Metrics) -> None:
    port = metrics.serve(0)
    other = Metrics()
    with pytest.raises(MetricsError, match=rf"cannot be served on 127\.0\.0\.1:{port}: "):
        other.serve(port)
    with pytest.raises(MetricsError, match=f"served on port {port} already"):
        metrics.serve(0)


@pytest.mark.slow
def test_closed_it_can_be_served_again(metrics: Metrics) -> None:
    port = metrics.serve(0)
    metrics.close()
    with pytest.raises(ConnectionRefusedError):
        scrape(port)
    assert "tamis_events" in scrape(metrics.serve(0))


@pytest.mark.slow
def test_without_prometheus_client_the_module_is_importable_and_metrics_say_what_is_missing() -> None:
    script = (
        "import sys\nsys.modules['prometheus_client'] = None\n"
        "from tamis.metrics import Metrics, MetricsError\n"
        "try:\n    Metrics()\nexcept MetricsError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "metrics need prometheus-client: pip install '.[spark]' in a clone of tamis\n"


@pytest.mark.spark
def test_spark_tells_its_own_progress(spark: SparkSession, metrics: Metrics, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "one.txt").write_text("a\nb\nc\n")
    added = listener(metrics)
    spark.streams.addListener(added)
    try:
        for name, column in (("good", "value"), ("bad", "raise_error(value) AS value")):
            query = (
                spark.readStream.text(str(tmp_path / "events"))
                .selectExpr(column)
                .writeStream.format("noop")
                .queryName(name)
                .option("checkpointLocation", str(tmp_path / name))
                .trigger(availableNow=True)
                .start()
            )
            wait_for(lambda: not query.isActive)  # noqa: B023 - called at once

        def value(name: str, **labels: str) -> float | None:
            return metrics.registry.get_sample_value(f"tamis_spark_{name}", labels)

        wait_for(lambda: value("state", query="good", tamis_spark_state="stopped") == 1)
        wait_for(lambda: value("state", query="bad", tamis_spark_state="failed") == 1)
        assert value("input_rows_total", query="good") == 3
        assert (value("trigger_seconds", query="good") or 0) > 0
        assert (value("processed_rows_per_second", query="good") or 0) > 0
        assert value("input_rows_per_second", query="good") is not None
    finally:
        spark.streams.removeListener(added)
