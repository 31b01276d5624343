"""Every test of the store runs on both databases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from tamis.store import Store

_numbers = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, or a schema of its own in one."""
    if request.param == "sqlite":
        return str(tmp_path / "subs.db")
    server: str = request.getfixturevalue("postgresql_url")
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{schema}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as store:
        yield store
