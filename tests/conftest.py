"""What all tests share: Hypothesis profiles, the one Spark session, and where Spark tests run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from scripts import java_home
from tamis.interpretation import Allowance, interpreted, kernels_only
from tamis.operators import OPERATORS
from tests.servers import S3_KEYS, NoServerError, postgresql, s3, spark_variables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
_LABORATORY = ROOT / "tests" / "lab"
# Whoever asks for one of these talks to a running service, a receiver of webhooks or a database server.
_SERVERS = {"running", "served", "serving", "world", "shared", "receiver", "postgresql_url", "s3_address"}
_schema_numbers = count()

# The default repeats itself, `quick` does so on fewer examples; `campaign` looks for something new.
settings.register_profile(
    "default",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=20)
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
    """Mark tests of the laboratory and those with servers; group those that share a process or a fixture."""
    for item in items:
        if item.path.is_relative_to(_LABORATORY) or item.path.stem.endswith(("benchmark", "benchmarks", "claims")):
            item.add_marker(pytest.mark.lab)
        parameters = (
            item.callspec.params.values()
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else ()
        )
        has_postgresql = any(isinstance(value, str) and value == "postgresql" for value in parameters)
        if has_postgresql or not _SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.server)
        if item.get_closest_marker("spark"):
            shared = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("spark" if shared else "drivers"))
        elif _shares_fixtures(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def _shares_fixtures(item: pytest.Item) -> bool:
    """Does a test use what is made once for its file? Each worker that runs tests of the file would make it."""
    if not isinstance(item, pytest.Function):
        return False
    return any(found[-1].scope == "module" for found in item._fixtureinfo.name2fixturedefs.values())


@pytest.fixture(params=["compiled", "interpreted"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The form in which kernels run that have an allowance: each test that asks for it runs in both."""
    if request.param == "interpreted":
        monkeypatch.setattr(Allowance, "choose", lambda _self, function, _work: interpreted(function))
        monkeypatch.setattr(Allowance, "covers", lambda _self, _module, _work: True)
        yield request.param
        return
    with kernels_only():
        yield request.param


@pytest.fixture(autouse=True)
def _operators_stay_as_they_are() -> Iterator[None]:
    """What a test installs ends with it: a relation that stays changes what later conditions mean."""
    before = dict(OPERATORS)
    yield
    if before != OPERATORS:
        OPERATORS.clear()
        OPERATORS.update(before)


@pytest.fixture(scope="session")
def spark_environment() -> Iterator[None]:
    """Process environment in which PySpark starts: our Java, the Spark beside our Python."""
    try:
        variables = spark_variables()
    except NoServerError as error:
        pytest.skip(str(error))
    except java_home.NoJavaError as error:
        if os.environ.get("TAMIS_REQUIRE_JAVA"):
            raise
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the whole run; tests leave its settings as they found them."""
    from pyspark.sql import SparkSession

    from tamis.spark.class_archive import java_options

    session = (
        SparkSession.builder.master("local[2]")
        .appName("tamis tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.defaultJavaOptions", " ".join(java_options()))
        .config("spark.driver.memory", "2g")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))  # functions of test modules reach the workers by name
        .config("spark.log.level", "ERROR")
        .config("spark.python.daemon.module", "tamis.spark.daemon")
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


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """Host and port of an S3 of the whole run, with an empty bucket `bucket`; the environment has its keys."""
    from pyarrow.fs import S3FileSystem

    with ExitStack() as stack:
        try:
            address = stack.enter_context(s3())
        except NoServerError as error:
            if os.environ.get("TAMIS_REQUIRE_SERVERS"):
                raise
            pytest.skip(str(error))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in S3_KEYS.items():
            patch.setenv(name, value)
        made = S3FileSystem(
            endpoint_override=address, scheme="http", region="us-east-1", allow_bucket_creation=True
        )
        made.create_dir("bucket")
        yield address


@pytest.fixture(scope="session")
def new_schema(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes the URL of an empty schema of the PostgreSQL server."""

    def make() -> str:
        import psycopg

        server: str = request.getfixturevalue("postgresql_url")
        schema = f"test_{os.getpid()}_{next(_schema_numbers)}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{server}&options=-csearch_path%3D{schema}"

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path, new_schema: Callable[[], str]) -> str:
    """The URL of an empty database of each kind."""
    return f"sqlite:///{tmp_path / 'some.db'}" if request.param == "sqlite" else new_schema()
