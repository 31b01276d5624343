"""Databases of both kinds, and services that are started for a test and gone after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tamis.service.settings import ServiceSettings
from tests.service.living import Living

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def url(database_url: str) -> str:
    return database_url


@pytest.fixture
def living(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Living]]:
    """Starts the stream of a service of some settings in the shared Spark."""
    started: list[Living] = []

    def start(**settings: Any) -> Living:
        started.append(
            Living(spark, ServiceSettings(data=str(tmp_path / "data"), trigger_seconds=0.01, **settings))
        )
        return started[-1]

    yield start
    for each in started:
        each.close()
