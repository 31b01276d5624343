"""Databases of both kinds, and services that are started for a test and gone after it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine

from tamis.service.settings import Settings
from tests.service.living import Living

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = count()


@pytest.fixture
def new_schema(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes the URL of an empty schema of the PostgreSQL server."""

    def make() -> str:
        server: str = request.getfixturevalue("postgresql_url")
        schema = f"service_{os.getpid()}_{next(_numbers)}"
        engine = create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        engine.dispose()
        return f"{server}&options=-csearch_path%3D{schema}"

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, new_schema: Callable[[], str]) -> str:
    """The URL of an empty database of each kind."""
    return f"sqlite:///{tmp_path / 'some.db'}" if request.param == "sqlite" else new_schema()


@pytest.fixture
def living(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Living]]:
    """Starts the stream of a service of some settings in the shared Spark."""
    started: list[Living] = []

    def start(**settings: Any) -> Living:
        started.append(Living(spark, Settings(data=str(tmp_path / "data"), trigger_seconds=0.01, **settings)))
        return started[-1]

    yield start
    for each in started:
        each.close()
