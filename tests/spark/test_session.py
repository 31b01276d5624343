"""What a session is made with. That it works is tested by `tests/cli/test_run.py`, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis import kernels
from tamis.spark.session import DAEMON, SparkError, is_set_for_spark, python_launcher, session, settings

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:"


def test_a_local_spark_gets_memory_and_few_partitions_and_a_cluster_decides_for_itself() -> None:
    local, cluster = settings("local[2]", {}), settings("spark://host:7077", {})
    assert local["spark.driver.memory"] == "2g"
    assert not {"spark.driver.memory", "spark.sql.shuffle.partitions"} & cluster.keys()
    assert local["spark.sql.session.timeZone"] == cluster["spark.sql.session.timeZone"] == "UTC"


def test_what_the_caller_sets_wins() -> None:
    assert settings("local", {"spark.driver.memory": "8g"})["spark.driver.memory"] == "8g"


def test_the_daemon_of_tamis_gives_way_to_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    assert settings("local", {})[DAEMON] == settings("yarn", {})[DAEMON] == "tamis.spark.daemon"
    assert settings("local", {DAEMON: "mine"})[DAEMON] == "mine"
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    assert not is_set_for_spark(DAEMON)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {DAEMON}=mine pyspark-shell")
    assert is_set_for_spark(DAEMON)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS")
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text(f"# {DAEMON} mine\n")
    assert not is_set_for_spark(DAEMON)
    defaults.write_text(f"spark.log.level OFF\n{DAEMON}  mine\n")
    assert is_set_for_spark(DAEMON)


def test_workers_take_the_installed_pyspark_and_not_sparks_zip(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    home = Path(pyspark.__file__).parent
    [*zips] = sorted((home / "python" / "lib").glob("*.zip"))
    assert zips, "or there is nothing to do"
    given = [*map(str, zips), str(home / "jars" / "spark-core.jar"), str(tmp_path / "a b"), str(tmp_path)]
    code = "import os, sys, pyspark; print(sys.executable, pyspark.__file__, os.environ['PYTHONPATH'], *sys.argv)"
    launcher = python_launcher()
    assert python_launcher() == launcher != sys.executable

    def said(home: Path) -> str:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(given), "SPARK_HOME": str(home)}
        command = [launcher, "-c", code, "a *"]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    assert said(home) == f"{sys.executable} {pyspark.__file__} {tmp_path / 'a b'}:{tmp_path} -c a *\n"
    assert ".zip" in said(tmp_path), "another Spark has its own PySpark"


def test_without_a_folder_for_it_workers_are_started_as_spark_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr(kernels, "folder", lambda: None)
    assert python_launcher() == sys.executable


def test_the_connector_to_kafka_is_fetched_only_if_it_is_needed_and_not_named() -> None:
    pytest.importorskip("pyspark")
    packages = "spark.jars.packages"
    assert packages not in settings("local", {})
    assert settings("local", {}, kafka=True)[packages].startswith(CONNECTOR)
    assert settings("local", {packages: "a:b:1"}, kafka=True)[packages].startswith(f"a:b:1,{CONNECTOR}")
    own = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13.jar"}
    assert packages not in settings("local", own, kafka=True)


def test_without_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=r"JAVA_HOME is .* no bin/java in it"):
        session("test", "local[1]")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match="set JAVA_HOME, or put java on PATH"):
        session("test", "local[1]")
