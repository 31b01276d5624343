"""Python workers of Spark: a new one has everything at once that the one before it had to load."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis.spark import match
from tamis.spark.workers import shipped_kernels, start_workers
from tests.spark.worker_kernels import count_in_workers

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_new_worker_neither_compiles_nor_reads_kernels(spark: SparkSession, tmp_path: Path) -> None:
    events = spark.createDataFrame([(number, number % 50) for number in range(500)], "id long, price int")
    conditions = [(f"s{number}", f"price < {number}") for number in range(1, 301)]
    subscriptions = spark.createDataFrame(conditions, "id string, condition string")
    found = match(events.repartition(2), subscriptions, snapshot=tmp_path)
    pairs = found.count()
    before = {each["process"] for each in count_in_workers(spark, 2)}
    for process in before:
        os.kill(process, signal.SIGKILL)
    assert found.count() == pairs
    after = count_in_workers(spark, 2)
    assert before.isdisjoint(each["process"] for each in after)
    assert [(each["compiled"], each["read"]) for each in after] == [(0, 0)] * 2
    assert all(each["loaded"] for each in after)


def test_workers_of_this_machine_are_sent_no_kernels(spark: SparkSession) -> None:
    assert shipped_kernels(spark) is None


def test_workers_are_started_ahead_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.spark.workers._started", set())
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup
    before = set(jobs(None))
    start_workers(spark).join()
    started = set(jobs(None)) - before
    assert started
    start_workers(spark).join()
    assert set(jobs(None)) - before == started
