"""What is to be killed is found among the processes of a real Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.campaigns.processes import Process, family

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_the_workers_of_a_session_and_their_daemon_are_found(spark: SparkSession) -> None:
    assert spark.range(1).mapInArrow(lambda batches: batches, "id long").count() == 1
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    found = [each for each in family(gateway.proc.pid) if each.is_python_worker]
    assert {each.parent_name == "java" for each in found} == {True, False}


@pytest.mark.parametrize("module", ["pyspark.daemon", "tamis.spark.daemon"])
def test_the_daemon_is_that_of_pyspark_or_that_of_tamis(module: str) -> None:
    assert Process(2, 1, 1, "python", "java", f"python -m {module} pyspark.worker ").is_python_worker
    assert not Process(2, 1, 1, "python", "bash", "python -m tamis serve ").is_python_worker
