"""A feed's database, a receiver, and webhooks between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.service.webhooks.queue import Webhooks
from tamis.sql.database import Database
from tests.service.webhooks.feeds import Feed, open_database, webhooks_of
from tests.service.webhooks.receiver import Receiver, receiving


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The URL of an empty database."""
    return f"sqlite:///{tmp_path / 'feed.db'}"


@pytest.fixture
def either_database(database_url: str) -> str:
    """The URL of an empty database of each kind."""
    return database_url


@pytest.fixture
def feed_database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """The test's database, of the kind that it asks for."""
    either = "either_database" in request.fixturenames
    opened = open_database(request.getfixturevalue("either_database" if either else "database"))
    yield opened
    opened.close()


@pytest.fixture
def feed(feed_database: Database) -> Feed:
    return Feed(feed_database)


@pytest.fixture
def webhooks(feed_database: Database, feed: Feed) -> Webhooks:
    return webhooks_of(feed_database)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver
