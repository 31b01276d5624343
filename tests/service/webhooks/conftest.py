"""A feed's database, a receiver, and webhooks between them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from tamis.service.webhooks.queue import Webhooks
from tests.service.webhooks.feeds import Feed, open_engine, webhooks_of
from tests.service.webhooks.receiver import Receiver, receiving

_numbers = count()


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The URL of an empty database."""
    return f"sqlite:///{tmp_path / 'feed.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def either_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'feed.db'}"
    server: str = request.getfixturevalue("postgresql_url")
    server = server.replace("postgresql://", "postgresql+psycopg://")
    schema = f"webhooks_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{schema}"


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The test's database, of the kind that it asks for."""
    either = "either_database" in request.fixturenames
    engine = open_engine(request.getfixturevalue("either_database" if either else "database"))
    yield engine
    engine.dispose()


@pytest.fixture
def feed(engine: Engine) -> Feed:
    return Feed(engine)


@pytest.fixture
def webhooks(engine: Engine, feed: Feed) -> Webhooks:
    return webhooks_of(engine)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver
