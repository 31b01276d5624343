"""What all tests share: Hypothesis profiles, the one Spark session, and where Spark tests run."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from scripts import java_home
from tests.servers import NoServerError, postgresql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent

# The default repeats itself; `--hypothesis-profile=campaign` looks for something new.
settings.register_profile(
    "default",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "campaign",
    max_examples=10_000,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the shared Spark go to one xdist worker, those that start their own to one other; both go first."""
    for item in items:
        if item.get_closest_marker("spark"):
            shared = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("spark" if shared else "drivers"))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def spark_environment() -> Iterator[None]:
    """Process environment in which PySpark starts: our Java, the Spark beside our Python."""
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        pytest.skip("PySpark is not installed (extra `spark`)")
    try:
        home = java_home.choose(os.environ, install=False)
    except java_home.NoJavaError as error:
        if os.environ.get("TAMIS_REQUIRE_JAVA"):
            raise
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(home))
        patch.setenv("SPARK_HOME", str(Path(package.origin).parent))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield


@pytest.fixture(scope="session")
def spark(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the whole run; tests leave its settings as they found them."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("tamis tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))  # functions of test modules reach the workers by name
        .config("spark.log.level", "ERROR")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL of the whole run; tests make a schema or tables of their own."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(postgresql())
        except NoServerError as error:
            if os.environ.get("TAMIS_REQUIRE_SERVERS"):  # where everything must run
                raise
            pytest.skip(str(error))
        yield url
